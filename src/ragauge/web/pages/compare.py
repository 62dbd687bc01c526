"""Two runs or more: what became better or worse, which questions changed, and one question side by side."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ragauge.report.html_detail import row_detail
from ragauge.report.html_versus import versus
from ragauge.report.rankflow import rank_flow
from ragauge.report.textdiff import text_diff
from ragauge.web.catalog import Entry
from ragauge.web.comparing import Kept
from ragauge.web.pages.runs import page_number, whole_number
from ragauge.web.rendering import link, page
from ragauge.web.state import State, state_of

#: Runs beside the base, at most.
MAX_OTHERS = 6
#: Flips on a page, each way.
SIZE = 15


def _compare(request: Request) -> Response:
    state = state_of(request)
    asked = request.query_params
    ticked = asked.getlist("run")
    if ticked:
        names = sorted(dict.fromkeys(ticked))[: MAX_OTHERS + 1]
        if len(names) > 1:
            return RedirectResponse(link("compare", a=names[0], b=names[1:]), status_code=303)
        return RedirectResponse(link("compare", b=names), status_code=303)
    others = list(dict.fromkeys(name for name in asked.getlist("b") if name))[:MAX_OTHERS]
    base = asked.get("a", "")
    entries = state.catalog.entries()
    if not base or not others or base in others:
        return page(
            request,
            "compare_pick.html.jinja",
            title="Compare",
            here="compare",
            base=base,
            others=others,
            same=bool(base) and base in others,
            names=[entry.name for entry in entries if entry.manifest is not None],
        )
    chosen = [state.catalog.entry(name) for name in (base, *others)]
    kept = state.comparisons.get(chosen)
    views = [versus(one.comparison) for one in kept]
    which = next((n for n, one in enumerate(views) if one.b == asked.get("show")), 0)
    metric = _metric(kept[which], asked.get("metric", ""))
    return page(
        request,
        "compare.html.jinja",
        title="Compare",
        here="compare",
        base=base,
        others=others,
        names=[entry.name for entry in entries if entry.manifest is not None],
        views=views,
        shown=views[which],
        metric=metric,
        flips=_flips(state, chosen, kept[which], which, metric, page_number(request)),
        number=page_number(request),
        size=SIZE,
    )


def _metric(kept: Kept, asked: str) -> str:
    """The metric whose flips are shown: the one asked for, else the first that became worse, else the most changed."""
    if asked in kept.comparison.flips:
        return asked
    worse = [key for key, one in kept.comparison.metrics.items() if one.verdict == "worse" and any(kept.n_flips[key])]
    if worse:
        return max(worse, key=lambda key: kept.n_flips[key][1])
    return max(kept.n_flips, key=lambda key: sum(kept.n_flips[key]), default="")


def _flips(
    state: State, chosen: list[Entry], kept: Kept, which: int, metric: str, number: int
) -> dict[str, dict[str, Any]]:
    """Both ways: how many, and those of this page with their question, values and reason."""
    found = kept.comparison
    if metric not in found.flips:
        return {}
    before, after = (state.indexes.get(entry) for entry in (chosen[0], chosen[which + 1]))
    ways: dict[str, dict[str, Any]] = {}
    for way, ids, n in zip(
        ("worse", "better"),
        (found.flips[metric].worse, found.flips[metric].better),
        reversed(kept.n_flips[metric]),
        strict=True,
    ):
        lines = []
        for item in ids[(number - 1) * SIZE : number * SIZE]:
            reason = found.reasons.get(metric, {}).get(item)
            old, new = before.lines(item), after.lines(item)
            lines.append({
                "id": item,
                "question": new[0].question if new else reason.question if reason else "",
                "a": reason.a if reason else _mean(old, metric),
                "b": reason.b if reason else _mean(new, metric),
                "why": reason.why if reason else "",
            })  # fmt: skip
        ways[way] = {"n": n, "kept": len(ids), "lines": lines}
    return ways


def _mean(lines: Any, metric: str) -> float | None:
    """The first repeat's value: only shown, for flips whose reasons were not looked up."""
    return next((line.values[metric] for line in lines if line.values.get(metric) is not None), None)


def _side_by_side(request: Request) -> Response:
    state = state_of(request)
    asked = request.query_params
    item, metric = asked.get("id", ""), asked.get("metric", "")
    chosen = [state.catalog.entry(asked.get(name, "")) for name in ("a", "b")]
    indexes = [state.indexes.get(entry) for entry in chosen]
    repeat = whole_number(asked.get("repeat", ""))
    lines = [index.find(item, repeat) for index in indexes]
    records = [index.record(line) for index, line in zip(indexes, lines, strict=True)]
    old, new = (record.sample.response.answer or "" for record in records)
    before, after, at, total = _beside(state, chosen, metric, asked.get("way", ""), item)
    keys = [key for key in indexes[0].keys if key in indexes[1].keys]
    changed = [key for key in keys if lines[0].values[key] != lines[1].values[key]]
    return page(
        request,
        "compare_row.html.jinja",
        title=f"{item[:60]} side by side",
        here="compare",
        a=chosen[0].name,
        b=chosen[1].name,
        item=item,
        repeat=repeat,
        metric=metric,
        way=asked.get("way", ""),
        lines=lines,
        rows=[row_detail(record, asked.get("metric", "")) for record in records],
        diff=text_diff(old, new),
        flow=rank_flow(*records),
        changed=changed,
        unchanged=[key for key in keys if key not in changed],
        before=before,
        after=after,
        at=at,
        total=total,
    )


def _beside(state: State, chosen: list[Entry], metric: str, way: str, item: str) -> tuple[str, str, int, int]:
    """The flips before and after this one, its place and how many, where the address says among which."""
    if not metric or way not in {"better", "worse"}:
        return "", "", 0, 0
    found = state.comparisons.get(chosen)[0].comparison.flips.get(metric)
    ids = list(getattr(found, way)) if found is not None else []
    if item not in ids:
        return "", "", 0, 0
    place = ids.index(item)
    return ids[place - 1] if place else "", ids[place + 1] if place + 1 < len(ids) else "", place + 1, len(ids)


routes = [Route("/compare", _compare), Route("/compare/row", _side_by_side)]
