"""Golden sets: what is wrong with them, where, and what they can tell at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragauge.errors import RagaugeError, UnknownName
from ragauge.web.catalog import stamp
from ragauge.web.pages.runs import whole_number
from ragauge.web.rendering import page
from ragauge.web.state import State, state_of

#: Complaints that are shown at once.
PAGE_SIZE = 200
#: Larger files are not embedded to find questions that say the same: it would take minutes.
MAX_EMBEDDED = 2_000_000
#: A report is kept this long while its file stays as it is: the corpus may have changed meanwhile.
KEPT_S = 120.0
_lock = threading.Lock()
_known: dict[tuple[Any, ...], tuple[float, Any]] = {}


def files(state: State) -> list[Path]:
    """The golden sets that the page may read: the one it was started with, and those of its runs."""
    found: dict[Path, None] = {}
    if state.settings.golden is not None:
        found[state.settings.golden] = None
    for entry in state.catalog.entries():
        given = entry.manifest.dataset.path if entry.manifest is not None else None
        if given:
            found.setdefault(Path(given), None)
    return [path for path in found if path.exists()]


def _golden(request: Request) -> Response:
    state = state_of(request)
    known = files(state)
    wanted = request.query_params.get("set", "")
    chosen = whole_number(wanted, len(known)) if wanted else 0
    if wanted and chosen >= len(known):
        raise UnknownName("golden set", wanted[:80], [str(place) for place in range(len(known))])
    report, corpus_problem = _report(state, known[chosen]) if known else (None, "")
    kind = request.query_params.get("kind", "")
    complaints = [one for one in report.complaints if kind in ("", one.kind)] if report is not None else []
    kinds: dict[str, int] = {}
    for one in report.complaints if report is not None else ():
        kinds[one.kind] = kinds.get(one.kind, 0) + 1
    return page(
        request, "golden.html.jinja", title="Golden sets", here="golden", names=[path.name for path in known],
        path=str(known[chosen]) if known else "", chosen=chosen, report=report, complaints=complaints[:PAGE_SIZE],
        n_hidden=max(0, len(complaints) - PAGE_SIZE), kinds=kinds, kind=kind, corpus_problem=corpus_problem,
        facts=_facts(report) if report is not None else (),
    )  # fmt: skip


def _facts(report: Any) -> Sequence[tuple[str, str]]:
    from ragauge.report.golden import facts

    return facts(report)


def _report(state: State, path: Path) -> tuple[Any, str]:
    """The report of the file as it is now, and why the corpus was left out; one at a time, kept until it changes."""
    from ragauge.dataset.golden_validate import validate_golden

    key = (id(state), str(path.resolve()), stamp(path))
    with _lock:
        if key not in _known or time.monotonic() - _known[key][0] > KEPT_S:
            corpus, problem = None, "no corpus is configured where the page was started: quotes were not looked up"
            if state.services.corpus is not None:
                try:
                    corpus = state.services.corpus()
                    problem = "" if corpus is not None else problem
                except (RagaugeError, OSError) as error:
                    problem = f"the corpus could not be read, so quotes were not looked up: {error}"
            encode = _encode if path.is_file() and path.stat().st_size < MAX_EMBEDDED else None
            _known.clear()
            _known[key] = (time.monotonic(), (validate_golden(path, corpus, encode=encode), problem))
        found: tuple[Any, str] = _known[key][1]
        return found


def _encode(texts: Any) -> Any:
    from ragauge.embeddings import load

    return load().encode(list(texts))


routes = [Route("/golden", _golden)]
