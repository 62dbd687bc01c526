"""What the page is told when it is started: where things are on disk, who may see it, and what it may ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ragauge.analysis.gate_settings import GateSettings
from ragauge.core.inspection import Inspection
from ragauge.core.sample import GoldenItem
from ragauge.review import DEFAULT_QUEUE

if TYPE_CHECKING:
    from ragauge.dataset.evidence import CorpusIndex
    from ragauge.monitor.report import MonitorSettings

#: The largest body of a POST.
MAX_BODY = 1_000_000
#: The longest path and query.
MAX_URL = 8_000


@dataclass(frozen=True)
class WebSettings:
    """Where the page reads, and how it is protected.

    `token`: whoever wants to see anything has to know it (None: everybody who can connect; only for loopback).
    `hosts`: names, besides those of this machine's loopback, under which the page may be asked for.
    `gate`: rules that every run of the list is judged by; None: no gate is shown. `log`: the production log, a folder
    or a URL, read by the rules and thresholds of `monitor`.
    """

    runs: Path = Path("runs")
    queue: str = DEFAULT_QUEUE
    cache: Path = Path(".ragauge/page")
    golden: Path | None = None
    log: str | None = None
    monitor: MonitorSettings | None = None
    calibrations: Path | None = None
    gate: GateSettings | None = None
    baseline: str | None = None
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    any_address: bool = False
    max_body: int = MAX_BODY


class Inspector(Protocol):
    """Live retrieval: what the configured system does with one question (`engine.inspect.inspect_question`)."""

    def __call__(
        self, question: str, *, gold: Sequence[str] = (), item: GoldenItem | None = None
    ) -> Awaitable[Inspection]:
        """Ask the system; raises `RagaugeError` when that cannot be done."""
        ...


@dataclass(frozen=True)
class Services:
    """What the page may call although it must not import it. None: the screen says that it is not there, and why.

    `inspector_missing` says what to do to have a debugger. `family` names the family of a model (a judge that favours
    its own). `corpus` cuts the configured corpus into chunks, against which golden evidence is looked up.
    """

    inspector: Inspector | None = None
    inspector_missing: str = "no ragauge.yaml was found where the page was started"
    family: Callable[[str], str | None] | None = None
    corpus: Callable[[], CorpusIndex | None] | None = None
    clock: Callable[[], float] | None = None
