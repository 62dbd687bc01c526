"""Which model says what a verb prints with --json, and a way to hear a verb."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from ragauge.analysis.baseline import BaselineDocument
from ragauge.analysis.steps import StepsDocument
from ragauge.cli.main import main
from ragauge.core.forecast import ForecastDocument
from ragauge.dataset.complaints import ValidateDocument
from ragauge.dataset.documents import CandidatesDocument, GenerateDocument, LabelChunksDocument, PromoteDocument
from ragauge.dataset.importing import ImportDocument
from ragauge.diagnose.history import History
from ragauge.engine.ask import AskDocument
from ragauge.monitor.documents import (
    AcceptDocument,
    CompactDocument,
    IngestDocument,
    JudgeDocument,
    OutcomesDocument,
    PruneDocument,
)
from ragauge.monitor.report import MonitorReport, SampledRows
from ragauge.monitor.sampling import SampleDocument
from ragauge.monitor.telling import CheckDocument as AlertsDocument
from ragauge.outlets.mlflow import TrackDocument
from ragauge.outlets.tell import PreviewDocument
from ragauge.report.ab import ABDocument
from ragauge.report.calibrate import CalibrateDocument
from ragauge.report.compare import CompareDocument
from ragauge.report.diagnosis import DiagnoseDocument
from ragauge.report.doctor import DoctorDocument
from ragauge.report.document import RunDocument
from ragauge.report.gate import GateDocument
from ragauge.report.inspect import InspectDocument
from ragauge.report.judge import BenchDocument, CheckDocument
from ragauge.report.listing import RunsDocument
from ragauge.report.ranking import RankDocument
from ragauge.report.row_document import RowsDocument
from ragauge.report.sweep import SweepDocument
from ragauge.report.worked import ExplainDocument
from ragauge.review.documents import AddDocument, DrawnDocument, LabelDocument, NextDocument
from ragauge.review.stats import Stats

#: The name of a schema in docs/reference/schemas → the model (or the union of models) that it is made from.
DOCUMENTS: dict[str, Any] = {
    "ab": ABDocument,
    "ask": AskDocument,
    "baseline": BaselineDocument,
    "calibrate": CalibrateDocument,
    "calibrate-next": DrawnDocument,
    "compare": CompareDocument,
    "diagnose": DiagnoseDocument,
    "doctor": DoctorDocument,
    "explain": ExplainDocument,
    "forecast": ForecastDocument,
    "gate": GateDocument,
    "golden-from-logs": CandidatesDocument,
    "golden-generate": GenerateDocument,
    "golden-label-chunks": LabelChunksDocument,
    "golden-promote": PromoteDocument,
    "golden-validate": ValidateDocument,
    "history": History,
    "import": ImportDocument,
    "inspect": InspectDocument,
    "judge-bench": BenchDocument,
    "judge-check": CheckDocument,
    "monitor-accept": AcceptDocument,
    "monitor-check": AlertsDocument,
    "monitor-compact": CompactDocument,
    "monitor-ingest": IngestDocument,
    "monitor-judge": JudgeDocument,
    "monitor-outcomes": OutcomesDocument,
    "monitor-prune": PruneDocument,
    "monitor-report": MonitorReport,
    "monitor-rows": SampledRows,
    "monitor-sample": SampleDocument,
    "rank": RankDocument,
    "report-notify": PreviewDocument,
    "review-add": AddDocument,
    "review-label": LabelDocument,
    "review-next": NextDocument,
    "review-stats": Stats,
    "run": RunDocument,
    "show-list": RunsDocument,
    "show-row": RowsDocument,
    "show-steps": StepsDocument,
    "sweep": SweepDocument,
    "track": TrackDocument,
}


def said(capsys: pytest.CaptureFixture[str], name: str, *args: object, code: int = 0) -> Any:
    """What `ragauge ARGS --json` prints, read as the model of that name; the verb must end with `code`."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*map(str, args), "--json"])
    printed = capsys.readouterr()
    assert int(ended.value.code or 0) == code, printed.err
    return TypeAdapter(DOCUMENTS[name]).validate_json(printed.out)
