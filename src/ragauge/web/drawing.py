"""What templates may call besides `static` and `link`: charts and numbers in words, all made in `report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragauge.analysis.calibration import percent
from ragauge.report.svg import inline, inline_plot
from ragauge.report.words import count, interval, number

if TYPE_CHECKING:
    from markupsafe import Markup

    from ragauge.core.run import Estimate
    from ragauge.report.svg import Plot


def chart(model: Plot, name: str) -> Markup:
    """A plot as SVG; `report.svg` escapes every text in it. `name` begins its ids."""
    from markupsafe import Markup

    return Markup(inline_plot(model, name))


def picture(svg: str, name: str) -> Markup:
    """A whole SVG document of `report.svg`, for the page."""
    from markupsafe import Markup

    return Markup(inline(svg, name))


def within(estimate: Estimate | None) -> str:
    """`71 % to 90 %`, or that there is no interval."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return "no interval"
    return f"{percent(estimate.low, estimate.high)} to {percent(estimate.high, estimate.low)}"


def tools() -> dict[str, Any]:
    """Name → function, for the templates."""
    return {
        "chart": chart, "picture": picture, "percent": percent, "within": within, "count": count,
        "number": number, "interval": interval,
    }  # fmt: skip
