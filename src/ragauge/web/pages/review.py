"""Review: one item at a time, the judge's verdict hidden until the label is stored, everything by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ragauge.errors import RagaugeError, UsageError
from ragauge.review import open_queue
from ragauge.web.pages.runs import whole_number
from ragauge.web.rendering import link, page
from ragauge.web.security import form_of
from ragauge.web.state import state_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragauge.review.items import ReviewItem
    from ragauge.review.queue import Queue

WHO = "ragauge_reviewer"
_MAX_NAME = 60
_YEAR_S = 365 * 24 * 3600
#: What of the address is kept from one item to the next.
_KEPT = ("blind", "more", "metric")


def reviewer_of(request: Request) -> str:
    """The name that this browser gave; "" when it gave none."""
    return unquote(request.cookies.get(WHO, ""))[:_MAX_NAME].strip()


def _kept(given: Mapping[str, str]) -> dict[str, str]:
    return {name: given[name] for name in _KEPT if given.get(name)}


def _queue(request: Request) -> Queue:
    return open_queue(state_of(request).settings.queue)


def _work(request: Request) -> Response:
    """The next item for this reviewer; before that, who they are."""
    from ragauge.review.queue import DAILY_BUDGET

    name, given = reviewer_of(request), request.query_params
    if not name:
        return page(request, "review_who.html.jinja", title="Review", here="review", back=_kept(given))
    with _queue(request) as queue:
        budget = None if given.get("more") == "1" else DAILY_BUDGET
        item = queue.next(name, budget=budget, metric=given.get("metric") or None)
        n_open, n_done = queue.counts()
        today = queue.done_today(name)
        last = _outcome(queue, given.get("last", ""), name)
        patterns = sorted({one.systematic for one in queue.labels() if one.systematic}) if item is not None else []
    metrics, runs = _what_there_is(request) if item is None else ([], [])
    return _item_page(
        request, item, name, patterns=patterns, kept=_kept(given), last=last, today=today, n_open=n_open,
        n_done=n_done, budget=DAILY_BUDGET, used_up=budget is not None and today >= budget, metrics=metrics, runs=runs,
        settle=False, others=(),
    )  # fmt: skip


def _item_page(request: Request, item: ReviewItem | None, name: str, **values: Any) -> Response:
    from ragauge.review.screen import screen

    blind = request.query_params.get("blind") != "0" and not values["settle"]
    return page(
        request,
        "review.html.jinja",
        title="Review",
        here="review",
        reviewer=name,
        view=screen(item, blind=blind) if item is not None else None,
        blind=blind,
        lease=item.lease_expires if item is not None else None,
        **values,
    )


def _outcome(queue: Queue, item_id: str, name: str) -> dict[str, Any] | None:
    """What was said of the item before, and what the judge had said; only for whoever has labelled it."""
    from ragauge.report.review import verdict_lines

    if not item_id:
        return None
    try:
        item = queue.get(item_id)
    except RagaugeError:
        return None
    mine = next((one for one in queue.labels(item_id=item_id) if one.reviewer == name), None)
    if mine is None:
        return None
    verdict = item.payload.get("verdict")
    judge = verdict_lines(verdict).split("\n") if verdict is not None else []
    return {
        "id": item.id,
        "item": item.item,
        "run": item.run,
        "label": mine.label,
        "judge": judge,
        "is_row": item.metric != "golden",
    }


def _what_there_is(request: Request) -> tuple[list[str], list[str]]:
    """Metrics that people label, and runs from which the queue can be filled."""
    from ragauge.review.calibrating import judged_metrics

    found = [one for one in state_of(request).catalog.entries() if one.manifest is not None][:50]
    metrics = dict.fromkeys(key for one in found if one.manifest for key in judged_metrics(one.manifest))
    first = [key for key in metrics if key in ("faithfulness", "correctness")]
    return [*first, *(key for key in metrics if key not in first)], [one.name for one in found]


def _who(request: Request) -> Response:
    form = form_of(request)
    name = " ".join(form.get("name", "").split())[:_MAX_NAME]
    response = RedirectResponse(link("review", **_kept(form)), status_code=303)
    if name:
        with_ = {"max_age": _YEAR_S, "httponly": True, "samesite": "lax", "secure": request.url.scheme == "https"}
        response.set_cookie(WHO, quote(name, safe=""), path="/review", **with_)  # type: ignore[arg-type]
    else:
        response.delete_cookie(WHO, path="/review")
    return response


def _named(request: Request) -> str:
    name = reviewer_of(request)
    if not name:
        raise UsageError("who are you? A reviewer has a name", hint="Open /review and say it.")
    return name


def _label(request: Request) -> Response:
    from ragauge.review.screen import said

    form, name = form_of(request), _named(request)
    item_id = form.get("item", "")
    with _queue(request) as queue:
        found = said(queue.get(item_id), form)
        queue.label(
            item_id, name, found.label, note=found.note, systematic=found.systematic, edits=found.edits,
            second_opinion=form.get("second") == "1", adjudicate=form.get("settle") == "1",
        )  # fmt: skip
    if form.get("settle") == "1":
        return RedirectResponse(link("review", "progress", said="saved"), status_code=303)
    return RedirectResponse(link("review", last=item_id, **_kept(form)), status_code=303)


def _skip(request: Request) -> Response:
    form, name = form_of(request), _named(request)
    with _queue(request) as queue:
        queue.skip(form.get("item", ""), name, form.get("note", "")[:400])
    return RedirectResponse(link("review", said="skipped", **_kept(form)), status_code=303)


def _undo(request: Request) -> Response:
    form, name = form_of(request), _named(request)
    with _queue(request) as queue:
        item = queue.undo(name)
    done = "undone" if item is not None else "nothing-to-undo"
    return RedirectResponse(link("review", said=done, **_kept(form)), status_code=303)


def _hold(request: Request) -> Response:
    """Somebody is still reading: their item stays theirs. Says when the lease ends, or that it is lost."""
    form, name = form_of(request), _named(request)
    with _queue(request) as queue:
        held = queue.held(name)
        if held is None or held.id != form.get("item", ""):
            return JSONResponse({"lost": True})
        again = queue.next(name, budget=None)
    return JSONResponse({"lost": False, "expires": again.lease_expires if again is not None else None})


def _one(request: Request) -> Response:
    """One item by its id: to settle a disagreement, or to say something of an item that was asked for."""
    name = reviewer_of(request)
    if not name:
        return page(request, "review_who.html.jinja", title="Review", here="review", back={})
    with _queue(request) as queue:
        item = queue.get(request.path_params["item"])
        given = queue.labels(item_id=item.id)
        n_open, n_done = queue.counts()
        today = queue.done_today(name)
    settle = request.query_params.get("settle") == "1" and len({one.label for one in given}) > 1
    from ragauge.review.queue import DAILY_BUDGET

    return _item_page(
        request, item, name, patterns=[], kept={}, last=None, today=today, n_open=n_open, n_done=n_done,
        budget=DAILY_BUDGET, used_up=False, metrics=[], runs=[], settle=settle, others=given if settle else (),
    )  # fmt: skip


def _progress(request: Request) -> Response:
    from ragauge.review.stats import queue_stats

    with _queue(request) as queue:
        found = queue_stats(queue)
        n_promotable = len(_promotable(queue))
    metrics, runs = _what_there_is(request)
    return page(
        request, "review_progress.html.jinja", title="Review progress", here="review", stats=found, metrics=metrics,
        runs=runs, n_promotable=n_promotable, draft=str(_draft(request)),
    )  # fmt: skip


def _promotable(queue: Queue) -> list[Any]:
    from ragauge.review.promoting import promoted

    return promoted(queue.labels(), list(queue.items()))


def _draft(request: Request) -> Any:
    return state_of(request).settings.cache.parent / "golden-draft.jsonl"


def _promote(request: Request) -> Response:
    from ragauge.dataset.promote import promote

    with _queue(request) as queue:
        items = _promotable(queue)
    done = promote(items, _draft(request), replace=True) if items else None
    n = len(done.added) + len(done.replaced) if done is not None else 0
    return RedirectResponse(link("review", "progress", said="promoted" if n else "nothing-new"), status_code=303)


def _fill(request: Request) -> Response:
    from ragauge.review.filling import worth_a_look

    form = form_of(request)
    run = state_of(request).catalog.entry(form.get("run", "")).open()
    text = form.get("n", "20")
    n = whole_number(text)
    if not 1 <= n <= 1000:
        raise UsageError(f"{text[:20]!r} is no number of answers", hint="1 to 1000")
    chosen = worth_a_look(run, form.get("metric", "faithfulness"), n)
    with _queue(request) as queue:
        n_new = queue.add(chosen)
    return RedirectResponse(link("review", said="filled" if n_new else "queued-before"), status_code=303)


routes = [
    Route("/review", _work, methods=["GET"]),
    Route("/review/who", _who, methods=["POST"]),
    Route("/review/label", _label, methods=["POST"]),
    Route("/review/skip", _skip, methods=["POST"]),
    Route("/review/undo", _undo, methods=["POST"]),
    Route("/review/hold", _hold, methods=["POST"]),
    Route("/review/fill", _fill, methods=["POST"]),
    Route("/review/promote", _promote, methods=["POST"]),
    Route("/review/progress", _progress, methods=["GET"]),
    Route("/review/items/{item}", _one, methods=["GET"]),
]
