"""A webhook's receiver, and runs that there is something to say about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.errors import Reason
from ragauge.store.rundir import RunDir
from ragauge.testing.receiver import WebhookReceiver
from ragauge.testing.runs import a_run


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    """A local server that takes what an incoming webhook takes."""
    with WebhookReceiver() as found:
        yield found


@pytest.fixture
def low_run(tmp_path: Path) -> Callable[..., RunDir]:
    """Eight answers that nothing supports, one that could not be judged."""

    def make(text: str = "What?", **more: Any) -> RunDir:
        values: dict[str, dict[str, Any]] = {f"q{i}": {"faithfulness": 0.25, "correctness": 1.0} for i in range(8)}
        values["q8"] = {"faithfulness": Reason.TIMED_OUT, "correctness": 1.0}
        items = {name: {"question": f"{text} {name}"} for name in values}
        return a_run(tmp_path, values, items=items, thresholds=resolve_thresholds({}).model_dump(mode="json"), **more)

    return make


@pytest.fixture
def good_run(tmp_path: Path) -> Callable[..., RunDir]:
    """Everything is as it should be."""

    def make(**more: Any) -> RunDir:
        values = {f"q{i}": {"faithfulness": 1.0, "correctness": 1.0} for i in range(9)}
        return a_run(tmp_path, values, thresholds=resolve_thresholds({}).model_dump(mode="json"), **more)

    return make
