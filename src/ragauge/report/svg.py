"""Small plots as SVG text, drawn from view models: no dependency, no script, no font, no link to anywhere.

They follow the reader's light or dark preference, say what they show in a title and a description, name every mark in a
tooltip, and tell series apart by dash and marker as well as by colour. All texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from xml.sax.saxutils import escape, quoteattr

from ragauge.text.normalise import clean, display

STYLE = """
svg{background:#fff;color:#1b1f24;font:13px system-ui,sans-serif}
.ink{fill:currentColor}.soft{fill:currentColor;opacity:.65}.line{stroke:currentColor;fill:none}
.grid{stroke:currentColor;opacity:.15}.ribbon{fill:currentColor;opacity:.18}.none{fill:currentColor;opacity:.08}
.s0{color:#0072b2}.s1{color:#d55e00}.s2{color:#009e73}.s3{color:#cc79a7}.s4{color:#b58900}.s5{color:#56707f}
@media screen and (prefers-color-scheme:dark){svg{background:#14171a;color:#e6e8ea}
.s0{color:#56b4e9}.s1{color:#ff8c42}.s2{color:#2fd0a0}.s3{color:#f0a5d0}.s4{color:#f0e442}.s5{color:#a9bcc8}}
""".replace("\n", "")
#: From few to much, dark enough at the end for white text. One hue, so that it also reads without colour vision.
_RAMP = ((239, 244, 251), (8, 69, 148))
_DASHES = ("", "6 4", "2 3", "8 3 2 3", "1 4", "10 5")


@dataclass(frozen=True)
class HeatCell:
    """One field: its number (None: not known), what is written in it, what the tooltip says; `mark`: framed."""

    value: float | None
    text: str
    tooltip: str
    mark: bool = False


@dataclass(frozen=True)
class HeatMap:
    """`cells[row][column]`; rows from top to bottom. `darker_is_better` False turns the ramp round."""

    title: str
    note: str
    x_name: str
    y_name: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[HeatCell, ...], ...]
    darker_is_better: bool = True


@dataclass(frozen=True)
class Point:
    """A mark at (x, y), with an interval where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    tooltip: str = ""
    mark: bool = False


@dataclass(frozen=True)
class Series:
    """Points in the order of x, joined by a line if `joined`."""

    name: str
    points: tuple[Point, ...]
    joined: bool = True


@dataclass(frozen=True)
class Plot:
    """Series over one x axis. `ticks`: (x, label), for axes whose places are names; None: numbers.

    `ribbon`: intervals are one band along a joined series instead of a bar at each point.
    """

    title: str
    note: str
    x_name: str
    y_name: str
    series: tuple[Series, ...]
    ticks: tuple[tuple[float, str], ...] | None = None
    ribbon: bool = False


def heat_map(model: HeatMap) -> str:
    """A heat map as a whole SVG document."""
    left = 24 + max((_width(row) for row in model.rows), default=0)
    size_x = max(74, *(_width(column) + 14 for column in model.columns), 74)
    size_y, top = 40, 88
    width = max(left + size_x * len(model.columns) + 16, _width(model.title) * 1.25 + 32, _width(model.note) + 32)
    height = top + size_y * len(model.rows) + 20
    return _document(model.title, model.note, width, height, _heat(model, left, top, size_x, size_y))


def plot(model: Plot, width: int = 640, height: int = 400) -> str:
    """Lines or points with intervals as a whole SVG document."""
    return _document(model.title, model.note, width, height + 22 * len(model.series), _drawn(model, width, height))


def inline_plot(model: Plot, name: str, width: int = 640, height: int = 400) -> str:
    """The same for a page: without its style (`STYLE` must stand in the page once), ids that start with `name`."""
    return inline(plot(model, width, height), name)


def inline(document: str, name: str) -> str:
    """A document of this module for a page: without its style, its ids starting with `name`."""
    text = document.replace(f"<style>{STYLE}</style>", "", 1)
    text = text.replace('aria-labelledby="t d"', f'aria-labelledby="{name}-t {name}-d"', 1)
    return text.replace('<title id="t">', f'<title id="{name}-t">', 1).replace(
        '<desc id="d">', f'<desc id="{name}-d">', 1
    )


def _document(title: str, note: str, width: float, height: float, parts: Iterator[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" '
        f'height="{_n(height)}" role="img" aria-labelledby="t d">'
    )
    lines = [
        head,
        f'<title id="t">{_text(title)}</title><desc id="d">{_text(note)}</desc><style>{STYLE}</style>',
        f'<text class="ink" x="16" y="26" font-size="16" font-weight="600">{_text(title)}</text>',
        f'<text class="soft" x="16" y="46">{_text(note)}</text>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _heat(model: HeatMap, left: float, top: float, size_x: float, size_y: float) -> Iterator[str]:
    values = [cell.value for row in model.cells for cell in row if cell.value is not None]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    yield f'<text class="soft" x="{_n(left)}" y="{_n(top - 24)}">{_text(model.x_name)} →</text>'
    yield f'<text class="soft" x="16" y="{_n(top - 8)}">{_text(model.y_name)} ↓</text>'
    for place, column in enumerate(model.columns):
        x = left + (place + 0.5) * size_x
        yield f'<text class="ink" x="{_n(x)}" y="{_n(top - 8)}" text-anchor="middle">{_text(column)}</text>'
    for row, (name, cells) in enumerate(zip(model.rows, model.cells, strict=True)):
        y = top + row * size_y
        middle = _n(y + size_y / 2 + 4)
        yield f'<text class="ink" x="{_n(left - 8)}" y="{middle}" text-anchor="end">{_text(name)}</text>'
        for place, cell in enumerate(cells):
            yield from _heat_cell(cell, left + place * size_x, y, size_x, size_y, low, high, model.darker_is_better)


def _heat_cell(
    cell: HeatCell, x: float, y: float, w: float, h: float, low: float, high: float, darker_is_better: bool
) -> Iterator[str]:
    box = f'x="{_n(x + 1)}" y="{_n(y + 1)}" width="{_n(w - 2)}" height="{_n(h - 2)}" rx="3"'
    yield f"<g><title>{_text(cell.tooltip)}</title>"
    ink = 'class="soft"'
    if cell.value is None:
        yield f'<rect {box} class="none"/>'
    else:
        share = 0.5 if high <= low else (cell.value - low) / (high - low)
        share = share if darker_is_better else 1.0 - share
        yield f'<rect {box} fill="{_ramp(share)}"/>'
        ink = f'fill="{"#fff" if share > 0.5 else "#10233a"}"'
    if cell.mark:
        yield f'<rect {box} class="line s1" stroke-width="3"/>'
    yield f'<text {ink} x="{_n(x + w / 2)}" y="{_n(y + h / 2 + 4)}" text-anchor="middle">{_text(cell.text)}</text></g>'


def _ramp(share: float) -> str:
    mixed = (round(a + (b - a) * share) for a, b in zip(*_RAMP, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


@dataclass(frozen=True)
class _Scale:
    """Data → places on the page."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = 0.5 if self.high <= self.low else (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def _drawn(model: Plot, width: int, height: int) -> Iterator[str]:
    points = [point for series in model.series for point in series.points]
    if not points:
        yield '<text class="soft" x="16" y="80">There is nothing to draw.</text>'
        return
    x = _Scale(min(p.x for p in points), max(p.x for p in points), 76, width - 28)
    lows = [p.y if p.low is None else min(p.low, p.y) for p in points]
    highs = [p.y if p.high is None else max(p.high, p.y) for p in points]
    room = (max(highs) - min(lows)) * 0.05 or 0.05
    y = _Scale(min(lows) - room, max(highs) + room, height - 50, 72)
    yield from _axes(model, x, y, width, height)
    for place, series in enumerate(model.series):
        yield from _series(series, place, x, y, ribbon=model.ribbon)
        mark = height + 4 + 22 * place
        line = _line((76, mark), (106, mark), place) if series.joined else ""
        yield f'<g class="s{place % 6}">{line}{_marker(91, mark, place)}</g>'
        yield f'<text class="ink" x="116" y="{_n(mark + 4)}">{_text(series.name)}</text>'


def _axes(model: Plot, x: _Scale, y: _Scale, width: int, height: int) -> Iterator[str]:
    for value in nice_ticks(y.low, y.high):
        at = _n(y(value))
        yield f'<line class="grid" x1="76" x2="{width - 28}" y1="{at}" y2="{at}"/>'
        yield f'<text class="soft" x="68" y="{_n(y(value) + 4)}" text-anchor="end">{value:g}</text>'
    ticks = model.ticks or tuple((value, f"{value:g}") for value in nice_ticks(x.low, x.high))
    for value, label in ticks:
        yield f'<text class="soft" x="{_n(x(value))}" y="{height - 30}" text-anchor="middle">{_text(label)}</text>'
    middle = _n((76 + width - 28) / 2)
    yield f'<text class="ink" x="{middle}" y="{height - 10}" text-anchor="middle">{_text(model.x_name)}</text>'
    yield f'<text class="ink" x="76" y="64">{_text(model.y_name)}</text>'


def _ribbon(points: tuple[Point, ...], x: _Scale, y: _Scale) -> Iterator[str]:
    """The band between the ends of the intervals; a point without one breaks it."""
    for known, group in groupby(points, key=lambda point: point.low is not None and point.high is not None):
        stretch = list(group)
        if not known or len(stretch) < 2:
            continue
        upper = [f"{_n(x(p.x))},{_n(y(p.high))}" for p in stretch if p.high is not None]
        lower = [f"{_n(x(p.x))},{_n(y(p.low))}" for p in reversed(stretch) if p.low is not None]
        yield f'<polygon class="ribbon" points="{" ".join([*upper, *lower])}"/>'


def _series(series: Series, place: int, x: _Scale, y: _Scale, *, ribbon: bool = False) -> Iterator[str]:
    yield f'<g class="s{place % 6}">'
    ribbon = ribbon and series.joined and len(series.points) > 1
    if ribbon:
        yield from _ribbon(series.points, x, y)
    if series.joined:
        for a, b in pairwise(series.points):
            yield _line((x(a.x), y(a.y)), (x(b.x), y(b.y)), place)
    for point in series.points:
        at_x, at_y = x(point.x), y(point.y)
        yield f"<g><title>{_text(point.tooltip)}</title>"
        if not ribbon and point.low is not None and point.high is not None:
            yield (
                f'<line class="line" x1="{_n(at_x)}" x2="{_n(at_x)}" y1="{_n(y(point.low))}" y2="{_n(y(point.high))}" '
                'stroke-width="1.5" opacity=".55"/>'
            )
        yield _marker(at_x, at_y, place)
        if point.mark:
            yield f'<circle class="line" cx="{_n(at_x)}" cy="{_n(at_y)}" r="9" stroke-width="2"/>'
        yield "</g>"
    yield "</g>"


def _line(start: tuple[float, float], end: tuple[float, float], place: int) -> str:
    dash = _DASHES[place % len(_DASHES)]
    dashed = f" stroke-dasharray={quoteattr(dash)}" if dash else ""
    return (
        f'<line class="line" x1="{_n(start[0])}" y1="{_n(start[1])}" x2="{_n(end[0])}" y2="{_n(end[1])}" '
        f'stroke-width="2"{dashed}/>'
    )


def _marker(x: float, y: float, place: int) -> str:
    shapes = (
        f'<circle class="ink" cx="{_n(x)}" cy="{_n(y)}" r="4.5"/>',
        f'<rect class="ink" x="{_n(x - 4)}" y="{_n(y - 4)}" width="8" height="8"/>',
        f'<path class="ink" d="M{_n(x)} {_n(y - 5)}L{_n(x + 5)} {_n(y + 4)}H{_n(x - 5)}Z"/>',
    )
    return shapes[place % len(shapes)]


def nice_ticks(low: float, high: float, n: int = 6) -> list[float]:
    """About `n` round numbers from `low` to `high`.

    >>> nice_ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if high <= low:
        return [low]
    rough = (high - low) / n
    power = 10.0 ** _floor_log10(rough)
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first = -int(-low // step)
    return [round(k * step, 10) for k in range(first, first + 4 * n) if k * step <= high * (1 + 1e-12) + 1e-12]


def _floor_log10(value: float) -> int:
    return math.floor(math.log10(value))


def _text(value: str) -> str:
    """Somebody's text as XML text: nothing that XML forbids, no control characters, no direction tricks."""
    line = display(clean(" ".join(value.split())))
    return escape(line.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))


def _width(text: str) -> float:
    return 7.6 * len(text)


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
