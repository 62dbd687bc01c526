"""The HTML report's head as a view model: everything but the rows, read from a run in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragauge.analysis.columns import RunTable, tabulate
from ragauge.analysis.rowcheck import RowCheck, check_row
from ragauge.analysis.slices import MIN_SLICE, by_tag
from ragauge.analysis.summarise import summarise_table
from ragauge.analysis.thresholds import Thresholds
from ragauge.core.run import Estimate, Finding, Manifest, MetricResult, Record, Summary
from ragauge.diagnose.diagnosis import Diagnosis, Tried, diagnose_rows
from ragauge.diagnose.matrix import diagnose
from ragauge.diagnose.rootcause import RowCause
from ragauge.report.html_course import quarters
from ragauge.report.html_heat import Heat, heat
from ragauge.report.html_plots import Histogram, Track, histogram, latency_plot, track
from ragauge.report.svg import Plot
from ragauge.report.words import count, counts, duration_ms, interval, number, threshold
from ragauge.stats.intervals import SAMPLING_ONLY

_HALVES = (("retrieval", "Retrieval"), ("generation", "Generation"), ("both", "Both halves"))
_VERDICTS = {"good": ("✓", "reaches its threshold"), "below": ("·", "below its threshold"), "broken": ("✗", "broken"),
             "none": ("", "")}  # fmt: skip
#: Slices and filters are for tags that are used, not for tags that number the rows.
MAX_TAGS = 40
_KNOBS = ("retrieval", "k", "chunk_size", "chunk_overlap", "embedder", "rerank", "generator")


@dataclass(frozen=True)
class MetricLine:
    """A line of the summary. `verdict` is good, below, broken or none; `says` the same in words."""

    key: str
    better: str
    value: str
    verdict: str
    sign: str
    says: str
    interval: str
    track: Track | None
    n: int
    n_asked: int
    threshold: str
    unscored: str
    n_errors: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SliceLine:
    """One metric within one tag."""

    tag: str
    value: str
    interval: str
    n: int
    track: Track | None


@dataclass(frozen=True)
class Slices:
    """One metric by tag."""

    key: str
    overall: str
    lines: tuple[SliceLine, ...]


@dataclass(frozen=True)
class TagLine:
    """A tag that rows can be filtered by."""

    name: str
    n: int


@dataclass(frozen=True)
class PageView:
    """The head of the report."""

    run: str
    facts: tuple[tuple[str, str], ...]
    outcomes: Mapping[str, int]
    n_rows: int
    groups: tuple[tuple[str, tuple[MetricLine, ...]], ...]
    judge: str
    sampling: str
    notes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    diagnosis: Diagnosis
    distributions: tuple[Histogram, ...]
    slices: tuple[Slices, ...]
    heat: Heat | None
    min_slice: int
    latency: Plot | None
    latencies: tuple[tuple[str, str], ...]
    tags: tuple[TagLine, ...]
    causes: Mapping[tuple[str, int], RowCause] = field(repr=False)
    thresholds: Thresholds = field(repr=False)
    price: tuple[Plot, ...] = ()

    @property
    def tag_places(self) -> dict[str, int]:
        """Tag → its place in the list of filters."""
        return {tag.name: place for place, tag in enumerate(self.tags)}


def page_view(
    manifest: Manifest,
    records: Callable[[], Iterable[Record]],
    tried: Tried | None = None,
    each: Callable[[Record, RowCheck, RowCause | None], None] | None = None,
) -> PageView:
    """Read the rows (once for the numbers, twice for the causes; none are kept) and say what they come to.

    `each` is called with every row, whether it is fine, and why not.
    """
    thresholds = Thresholds.model_validate(manifest.thresholds) if manifest.thresholds else Thresholds()
    diagnosis = diagnose_rows(manifest, records, tried)
    causes = {(row.id, row.repeat): row for row in diagnosis.rows}
    outcomes: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    times: dict[str, float] = {}
    costs: dict[str, float] = {}

    def counted() -> Iterator[Record]:
        for record in records():
            cause = causes.get(record.key)
            check = row_check(record, thresholds, cause)
            outcomes[check.outcome] += 1
            if each is not None:
                each(record, check, cause)
            tags.update(set(record.sample.item.tags))
            response = record.sample.response
            if response.total_ms is not None:
                times[record.sample.item.id] = response.total_ms
            if response.usage.cost_usd is not None:
                costs[record.sample.item.id] = response.usage.cost_usd
            yield record

    table = tabulate(manifest, counted())
    summary = summarise_table(table)
    used = sorted(tags.items(), key=lambda entry: (-entry[1], entry[0]))[:MAX_TAGS]
    cells = by_tag(table, min_n=1, tags={name for name, _ in used})
    return PageView(
        run=manifest.run,
        facts=tuple(_facts(manifest, summary)),
        outcomes={name: outcomes[name] for name in ("good", "bad", "unknown")},
        n_rows=summary.n_rows,
        groups=tuple(_groups(manifest, summary)),
        judge=_agreement(manifest),
        sampling=SAMPLING_ONLY,
        notes=tuple(_notes(manifest, summary)),
        skipped=tuple(manifest.skipped_metrics.items()),
        findings=tuple(diagnose(summary)),
        diagnosis=diagnosis,
        distributions=tuple(found for found in map(histogram, table.columns.values()) if found is not None),
        slices=tuple(_slices(table, summary, cells)),
        heat=heat(table, summary, cells),
        min_slice=MIN_SLICE,
        latency=latency_plot(table.latencies),
        latencies=tuple((name.replace("_", " "), duration_ms(value)) for name, value in summary.latency_ms.items()),
        tags=tuple(TagLine(name, n) for name, n in used),
        causes=causes,
        thresholds=thresholds,
        price=tuple(
            plot
            for what, each_cost in (("latency", times), ("cost", costs))
            if (plot := quarters(table, summary, each_cost, what)) is not None
        ),
    )


def checked(page: PageView, record: Record) -> tuple[RowCheck, RowCause | None]:
    """Whether a row is fine, and why not."""
    cause = page.causes.get(record.key)
    return row_check(record, page.thresholds, cause), cause


def row_check(record: Record, thresholds: Thresholds, cause: RowCause | None) -> RowCheck:
    """`check_row`, but a row that the diagnosis has a cause for is never fine: a page counts failures in one way."""
    check = check_row(record, thresholds)
    return check if cause is None or check.outcome == "bad" else RowCheck("bad", cause.problems)


def _facts(manifest: Manifest, summary: Summary) -> Iterator[tuple[str, str]]:
    yield "Run", manifest.run
    yield "Made", manifest.created
    failed = f", {count(summary.n_failed_rows, 'failed row')}" if summary.n_failed_rows else ""
    unfinished = "" if summary.complete else " (not finished)"
    yield "Questions", f"{summary.n_rows} from {manifest.dataset.name}{failed}{unfinished}"
    plain = {k: v for k, v in manifest.system.settings.items() if isinstance(v, str | int | float | bool)}
    shown = [key for key in _KNOBS if key in plain] or list(plain)[:12]
    settings = ", ".join(f"{key}={plain[key]}" for key in shown)
    yield "System", manifest.system.name + (f" ({settings})" if settings else "")
    judge = manifest.judge
    name = f"{judge.name} {judge.version}" + (f", model {judge.model}" if judge.model else "") if judge else "none"
    yield "Judge", name
    usage = summary.usage
    if usage.calls or usage.cached_calls:
        price = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        yield (
            "Judge calls",
            (
                f"{usage.calls} (+{usage.cached_calls} from the cache), "
                f"{usage.tokens_in} + {usage.tokens_out} tokens, {price}"
            ),
        )
    system = summary.system_usage
    if system.cost_usd is not None:
        yield "System cost", f"${system.cost_usd:.4f}"
    yield "Dataset fingerprint", manifest.dataset.fingerprint
    yield "ragauge", manifest.ragauge + (f", commit {manifest.commit}" if manifest.commit else "")


def _agreement(manifest: Manifest) -> str:
    if manifest.judge is None:
        return "No judge: only metrics that need none."
    return manifest.judge.agreement or "The judge's agreement with people has not been measured."


def _notes(manifest: Manifest, summary: Summary) -> Iterator[str]:
    if summary.share_unverified:
        yield f"{summary.share_unverified:.0%} of the golden items are not verified by a person."
    yield from manifest.notes
    yield from summary.notes


def _groups(manifest: Manifest, summary: Summary) -> Iterator[tuple[str, tuple[MetricLine, ...]]]:
    bounds = {spec.key: (spec.info.low, spec.info.high) for spec in manifest.metrics}
    for half, title in _HALVES:
        lines = tuple(_line(r, bounds.get(r.key, (0.0, 1.0))) for r in summary.metrics.values() if r.half == half)
        if lines:
            yield title, lines


def _line(result: MetricResult, bounds: tuple[float, float]) -> MetricLine:
    sign, says = _VERDICTS[result.verdict]
    return MetricLine(
        key=result.key,
        better=result.better,
        value=number(result.value),
        verdict=result.verdict,
        sign=sign,
        says=says if result.better != "lower" else says.replace("below its", "above its"),
        interval=interval(result.estimate),
        track=track(result.estimate, *bounds, result.threshold) if result.estimate else None,
        n=result.n,
        n_asked=result.n_asked,
        threshold=threshold(result),
        unscored=counts(result.unscored),
        n_errors=result.n_errors,
        notes=result.notes,
    )


def _slices(table: RunTable, summary: Summary, found: Mapping[str, Mapping[str, Estimate]]) -> Iterator[Slices]:
    """Metrics that have a threshold, by tag; all of them where none has one."""
    judged = [key for key, result in summary.metrics.items() if result.threshold is not None]
    for key in judged or list(summary.metrics):
        result, info = summary.metrics[key], table.columns[key].spec.info
        lines: Sequence[SliceLine] = [
            SliceLine(tag, number(e.value), interval(e), e.n, track(e, info.low, info.high, result.threshold))
            for tag, cells in found.items()
            if (e := cells.get(key)) is not None and e.n >= MIN_SLICE
        ]
        if lines:
            yield Slices(key, f"{number(result.value)} ({interval(result.estimate)}), n {result.n}", tuple(lines))
