"""Debugger: one question through retrieval, live, every list beside the others."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragauge.errors import RagaugeError, UsageError
from ragauge.web.rendering import page
from ragauge.web.security import form_of
from ragauge.web.state import state_of

if TYPE_CHECKING:
    from ragauge.core.inspection import Inspection
    from ragauge.core.sample import GoldenItem
    from ragauge.web.settings import Inspector

#: The longest question and the most gold passages that are looked for.
MAX_QUESTION, MAX_GOLD = 4_000, 20
#: How long one question may take, and how many are looked into at once.
LIMIT_S, AT_ONCE = 120.0, 2
_log = logging.getLogger(__name__)
_turns = threading.BoundedSemaphore(AT_ONCE)


def _form(request: Request) -> Response:
    """The empty form, or one filled in from the address: nothing is asked before somebody presses the button."""
    query = request.query_params
    item = _item(request, query)
    return _page(request, query.get("q", "") or (item.question if item else ""), query.get("gold", ""), query)


def _ask(request: Request) -> Response:
    form = form_of(request)
    question, gold = form.get("q", "").strip(), form.get("gold", "")
    inspector = state_of(request).services.inspector
    if inspector is None:
        return _page(request, question, gold, form, status=409)
    if not question:
        return _page(request, question, gold, form, problem="Type a question first.", status=400)
    if len(question) > MAX_QUESTION:
        problem = f"That question has {len(question)} characters; at most {MAX_QUESTION} are asked."
        return _page(request, question[:MAX_QUESTION], gold, form, problem=problem, status=400)
    wanted = [line.strip() for line in gold.splitlines() if line.strip()][:MAX_GOLD]
    item = _item(request, form)
    if item is not None and (question != item.question or wanted):
        item = None  # another question than the row's, or other passages than its own
    try:
        found = _inspect(inspector, question, wanted, item)
    except RagaugeError as error:
        return _page(request, question, gold, form, problem=error.message, hint=error.hint or "", status=422)
    except Exception as error:  # whatever somebody's own system raises: told, not hidden behind a page of ours
        _log.exception("the debugger's system failed")
        problem = f"The system failed: {type(error).__name__}."
        hint = "The log of the page has the whole story."
        return _page(request, question, gold, form, problem=problem, hint=hint, status=422)
    return _page(request, question, gold, form, found=found)


def _inspect(inspector: Inspector, question: str, gold: list[str], item: GoldenItem | None) -> Inspection:
    """In this request's own thread, with a loop of its own: the server's loop is never held up."""

    async def asked() -> Inspection:
        try:
            return await asyncio.wait_for(_awaited(), LIMIT_S)
        except TimeoutError:
            raise UsageError(
                f"the system did not answer within {LIMIT_S:g} seconds", hint="Ask again, or look at the system itself."
            ) from None

    async def _awaited() -> Inspection:
        return await inspector(question, gold=gold, item=item)

    if not _turns.acquire(timeout=LIMIT_S):
        raise UsageError("others are looking into questions at this moment", hint="Try again in a minute.")
    try:
        return asyncio.run(asked())
    finally:
        _turns.release()


def _item(request: Request, given: Mapping[str, str]) -> GoldenItem | None:
    """The golden item of the row that `run` and `id` name; None without them."""
    name, item_id = given.get("run", ""), given.get("id", "")
    if not name or not item_id:
        return None
    state = state_of(request)
    index = state.indexes.get(state.catalog.entry(name))
    return index.record(index.find(item_id)).sample.item


def _page(
    request: Request,
    question: str,
    gold: str,
    given: Mapping[str, str],
    *,
    found: Inspection | None = None,
    problem: str = "",
    hint: str = "",
    status: int = 200,
) -> Response:
    from ragauge.diagnose.inspection import report
    from ragauge.report.html_inspect import view

    services = state_of(request).services
    shown = view(found, report(found)) if found is not None else None
    return page(
        request,
        "debugger.html.jinja",
        status,
        title="Debugger",
        here="debugger",
        question=question,
        gold=gold,
        run=given.get("run", ""),
        item=given.get("id", ""),
        view=shown,
        problem=problem,
        hint=hint,
        missing="" if services.inspector is not None else services.inspector_missing,
    )


routes = [Route("/debug", _form, methods=["GET"]), Route("/debug", _ask, methods=["POST"])]
