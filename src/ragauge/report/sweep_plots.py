"""The pictures of a sweep: lines over one knob, heat maps over pairs of knobs, quality against what it costs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from ragauge.analysis.sweep_table import CellResult, SweepTable
from ragauge.report.svg import HeatCell, HeatMap, Plot, Point, Series, heat_map, plot
from ragauge.report.words import number
from ragauge.store.sweepdir import short_names
from ragauge.store.sweepdir import shown_value as shown

#: Metrics that get a line plot or a heat map of their own.
N_METRICS = 6


def pictures(table: SweepTable) -> Iterator[tuple[str, str]]:
    """(file name, SVG) of every picture: lines for one knob, heat maps for two and more, and the Pareto front."""
    varying = [key for key in table.knobs if len(_values(table, key)) > 1]
    done = [cell for cell in table.cells if cell.state == "complete"]
    if len(varying) == 1:
        yield "lines.svg", plot(line_plot(table, done, varying[0]))
    keys = table.metrics[:N_METRICS] if len(varying) == 2 else (table.quality,)
    for x, y in combinations(varying, 2):
        for key in keys:
            names = short_names(table.knobs)
            name = "-".join(_safe(part) for part in ("heatmap", key, names[x], names[y]))
            yield f"{name}.svg", heat_map(heat_model(table, done, key, x, y, n_knobs=len(varying)))
    price = next((name for name in ("cost", "tokens", "latency p95") if name in table.front_by), None)
    if price is not None and len(done) > 1:
        yield "front.svg", plot(front_plot(table, done, price))


def line_plot(table: SweepTable, cells: list[CellResult], knob: str) -> Plot:
    """Each chosen metric over one knob, with its interval."""
    values = _values(table, knob)
    places = _places(values)
    series = []
    for key in table.metrics[:N_METRICS]:
        points = []
        for cell in cells:
            one = cell.metrics.get(key)
            if one is not None and one.estimate is not None:
                found = one.estimate
                said = f"{cell.id} {cell.label}: {key} {number(found.value)}"
                x = places[_key(cell.knobs[knob])]
                points.append(Point(x, found.value, found.low, found.high, said, cell.id == table.winner))
        if points:
            series.append(Series(key, tuple(sorted(points, key=lambda point: point.x))))
    numeric = _numeric(values)
    name = short_names(table.knobs)[knob]
    return Plot(
        title=f"{table.quality} and others over {name}",
        note=f"{len(cells)} cells, {table.n_questions} questions; bars are 95 % intervals",
        x_name=name,
        y_name="value",
        series=tuple(series),
        ticks=None if numeric and len(values) > 12 else tuple((places[_key(v)], shown(v)) for v in values),
    )


def heat_model(table: SweepTable, cells: list[CellResult], key: str, x: str, y: str, *, n_knobs: int) -> HeatMap:
    """A metric over two knobs. With more knobs, each field is the mean over the others."""
    columns, lines = _values(table, x), _values(table, y)
    names = short_names(table.knobs)
    fields = tuple(tuple(_heat_cell(table, cells, key, (x, column), (y, line)) for column in columns) for line in lines)
    note = "mean over the other knobs" if n_knobs > 2 else f"{table.n_questions} questions"
    framed = "" if n_knobs > 2 or table.winner is None else "; framed: better than the base beyond luck"
    better = next(
        (d.better for c in cells if (m := c.metrics.get(key)) is not None and (d := m.difference) is not None), "higher"
    )
    return HeatMap(
        title=key,
        note=note + framed,
        x_name=names[x],
        y_name=names[y],
        columns=tuple(shown(value) for value in columns),
        rows=tuple(shown(value) for value in lines),
        cells=fields,
        darker_is_better=better != "lower",
    )


def _heat_cell(
    table: SweepTable, cells: list[CellResult], key: str, x: tuple[str, Any], y: tuple[str, Any]
) -> HeatCell:
    here = [c for c in cells if _key(c.knobs[x[0]]) == _key(x[1]) and _key(c.knobs[y[0]]) == _key(y[1])]
    values = [value for cell in here if (value := table.value(cell, key)) is not None]
    if not values:
        return HeatCell(None, "—", f"{shown(x[1])}, {shown(y[1])}: no finished cell")
    mean = math.fsum(values) / len(values)
    names = ", ".join(cell.id for cell in here)
    mark = len(here) == 1 and any(
        (one := cell.metrics.get(key)) is not None and one.difference is not None and one.difference.verdict == "better"
        for cell in here
    )
    return HeatCell(mean, number(mean), f"{names}: {shown(x[1])}, {shown(y[1])}: {key} {number(mean)}", mark)


def front_plot(table: SweepTable, cells: list[CellResult], price: str) -> Plot:
    """Quality against price; the cells on the Pareto front are ringed and named apart."""
    get = {"cost": "cost_usd", "tokens": "tokens", "latency p95": "latency_p95_ms"}[price]
    unit = {"cost": "US dollars per question", "tokens": "tokens per question", "latency p95": "latency p95, ms"}[price]
    on: list[Point] = []
    off: list[Point] = []
    for cell in cells:
        value, x = table.value(cell), getattr(cell, get)
        if value is not None and x is not None:
            said = f"{cell.id} {cell.label}: {number(value)} at {x:g}"
            (on if cell.is_on_front else off).append(Point(x, value, None, None, said, cell.id == table.base))
    by_x = sorted(on, key=lambda point: (point.x, point.y))
    return Plot(
        title=f"{table.quality} against {price}",
        note=f"No other cell beats those on the front in {', '.join(table.front_by)} together; ringed: the base",
        x_name=unit,
        y_name=table.quality,
        series=(Series("on the Pareto front", tuple(by_x), joined=False), Series("beaten", tuple(off), joined=False)),
    )


def _values(table: SweepTable, knob: str) -> list[Any]:
    """The knob's values: numbers in order, names as they come."""
    found = {_key(cell.knobs.get(knob)): cell.knobs.get(knob) for cell in table.cells}
    values = list(found.values())
    return sorted(values) if _numeric(values) else values


def _numeric(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _places(values: list[Any]) -> dict[str, float]:
    if _numeric(values):
        return {_key(value): float(value) for value in values}
    return {_key(value): float(place) for place, value in enumerate(values)}


def _key(value: Any) -> str:
    return shown(value) if not isinstance(value, float) else repr(value)


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "x"
