"""Which model says what a verb prints with --json, and a way to hear a verb."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from ragauge.analysis.steps import StepsDocument
from ragauge.cli.main import main
from ragauge.dataset.importing import ImportDocument
from ragauge.engine.ask import AskDocument
from ragauge.monitor.documents import (
    CompactDocument,
    IngestDocument,
    PruneDocument,
)
from ragauge.report.judge import BenchDocument, CheckDocument

#: The name of a schema in docs/reference/schemas → the model (or the union of models) that it is made from.
DOCUMENTS: dict[str, Any] = {
    "ask": AskDocument,
    "import": ImportDocument,
    "judge-bench": BenchDocument,
    "judge-check": CheckDocument,
    "monitor-compact": CompactDocument,
    "monitor-ingest": IngestDocument,
    "monitor-prune": PruneDocument,
    "show-steps": StepsDocument,
}


def said(capsys: pytest.CaptureFixture[str], name: str, *args: object, code: int = 0) -> Any:
    """What `ragauge ARGS --json` prints, read as the model of that name; the verb must end with `code`."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*map(str, args), "--json"])
    printed = capsys.readouterr()
    assert int(ended.value.code or 0) == code, printed.err
    return TypeAdapter(DOCUMENTS[name]).validate_json(printed.out)
