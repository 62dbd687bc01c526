"""The HTML report: one file that fetches nothing, opens from disk and is read without a script.

Whatever is somebody's text is shown as text: every value is escaped, control and direction characters are written out,
no attribute holds data, and a strict Content-Security-Policy lets only this page's own style and script run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ragauge.analysis.compare import Comparison
from ragauge.core.run import Manifest, Record, Summary
from ragauge.diagnose.diagnosis import Tried
from ragauge.report.html_compare import compared_view
from ragauge.report.html_course import course_view
from ragauge.report.html_row import LEVELS, row_view
from ragauge.report.html_view import PageView, checked, page_view
from ragauge.report.svg import STYLE, inline_plot
from ragauge.report.templating import make_environment

if TYPE_CHECKING:
    from jinja2 import Environment

#: What the file may weigh for up to 1 000 rows; beyond that, as much for each further row.
LIMIT_BYTES = 5_000_000
BYTES_PER_ROW = LIMIT_BYTES // 1000
#: Left for the end of the page.
_RESERVE = 20_000


def html_parts(
    manifest: Manifest,
    records: Callable[[], Iterable[Record]],
    tried: Tried | None = None,
    comparison: Comparison | None = None,
    runs: Sequence[tuple[Manifest, Summary]] = (),
) -> Iterator[str]:
    """The page in parts, rows one at a time. `records` is called several times and must give the same rows.
    `comparison`: this run (B) against another one (A), shown behind the diagnosis. `runs`: this run and earlier ones,
    for the course of every metric.

    Rows are shortened, the page says so, when the whole would be larger than `LIMIT_BYTES` for 1 000 rows.
    """
    environment = make_environment("ragauge.report")
    page = page_view(manifest, records, tried)
    rows = _Rows(page, records, environment)
    style, script = _asset("report.css") + "\n" + STYLE, _asset("report.js")
    template = environment.get_template("report.html.jinja")
    from markupsafe import Markup

    stream = template.generate(
        page=page,
        compared=compared_view(comparison) if comparison is not None else None,
        rows=rows,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        latency=Markup(inline_plot(page.latency, "latency", 640, 320)) if page.latency is not None else "",
        price=[Markup(inline_plot(plot, f"price{n}", 560, 300)) for n, plot in enumerate(page.price)],
        course=course_view(runs),
        draw=lambda plot, name: Markup(inline_plot(plot, name, 460, 260)),
    )
    for part in stream:
        rows.n_bytes += len(part.encode("utf-8", "replace"))
        yield part


def whole_page(template: str, **context: Any) -> str:
    """Another page in the same frame: the style and script of reports, the same policy, everything escaped.

    The template writes `policy`, `style` and `script`; plots are passed as `Markup` of `svg.inline_plot`.
    """
    from markupsafe import Markup

    style, script = _asset("report.css") + "\n" + STYLE, _asset("report.js")
    found = make_environment("ragauge.report").get_template(template)
    return found.render(style=Markup(style), script=Markup(script), policy=_policy(style, script), **context)


class _Rows:
    """The rows as HTML, each at the fullest level that leaves room for those after it."""

    def __init__(self, page: PageView, records: Callable[[], Iterable[Record]], environment: Environment) -> None:
        self.page, self.records = page, records
        self.template = environment.get_template("row.html.jinja")
        self.n_bytes = 0
        self.n_cut = 0
        self.level = 0

    def __iter__(self) -> Iterator[Any]:
        from markupsafe import Markup

        limit = max(LIMIT_BYTES, BYTES_PER_ROW * self.page.n_rows) - _RESERVE
        for place, record in enumerate(self.records(), start=1):
            left = max(1, self.page.n_rows - place + 1)
            yield Markup(self._row(record, place, (limit - self.n_bytes) // left))

    def _row(self, record: Record, place: int, room: int) -> str:
        """The fullest level that fits; the search starts where the row before ended, because rows are alike."""
        check, cause = checked(self.page, record)
        tags = self.page.tag_places

        def at(level: int) -> tuple[str, bool]:
            view = row_view(record, check, place, LEVELS[level], tags, cause)
            return self.template.render(row=view), view.cut

        level = self.level
        text, cut = at(level)
        if _fits(text, room):
            while cut and level > 0:
                fuller, still_cut = at(level - 1)
                if not _fits(fuller, room):
                    break
                text, cut, level = fuller, still_cut, level - 1
        else:
            while level + 1 < len(LEVELS) and not _fits(text, room):
                level += 1
                text, cut = at(level)
        self.level = level
        self.n_cut += cut
        return text


def _fits(text: str, room: int) -> bool:
    return len(text) <= room and len(text.encode("utf-8", "replace")) <= room


def _asset(name: str) -> str:
    return files("ragauge.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing may be fetched; only the style and the script whose hashes these are may apply."""

    def mark(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return (
        f"default-src 'none'; style-src {mark(style)}; script-src {mark(script)}; base-uri 'none'; form-action 'none'"
    )
