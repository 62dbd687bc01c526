"""ragauge: how often is your RAG system wrong, which half is at fault, and what to change.

The public names are loaded when they are first used; importing the package loads nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragauge._version import __version__

if TYPE_CHECKING:
    from ragauge.api import Run, compare, evaluate, gate, open_run
    from ragauge.api.sweeping import sweep
    from ragauge.core.sample import GoldenItem, Response, RetrievedChunk, RetrievedContext, Sample
    from ragauge.core.score import Scored, Unscored
    from ragauge.dataset.golden import load_golden
    from ragauge.errors import RagaugeError, Reason

_WHERE = {
    "Run": "ragauge.api",
    "compare": "ragauge.api",
    "evaluate": "ragauge.api",
    "gate": "ragauge.api",
    "open_run": "ragauge.api",
    "sweep": "ragauge.api.sweeping",
    "load_golden": "ragauge.dataset.golden",
    "GoldenItem": "ragauge.core.sample",
    "Response": "ragauge.core.sample",
    "RetrievedChunk": "ragauge.core.sample",
    "RetrievedContext": "ragauge.core.sample",
    "Sample": "ragauge.core.sample",
    "Scored": "ragauge.core.score",
    "Unscored": "ragauge.core.score",
    "RagaugeError": "ragauge.errors",
    "Reason": "ragauge.errors",
}

__all__ = [
    "GoldenItem",
    "RagaugeError",
    "Reason",
    "Response",
    "RetrievedChunk",
    "RetrievedContext",
    "Run",
    "Sample",
    "Scored",
    "Unscored",
    "__version__",
    "compare",
    "evaluate",
    "gate",
    "load_golden",
    "open_run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'ragauge' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
