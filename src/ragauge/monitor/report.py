"""The view models of production: built once, shown by the terminal, the HTML file, `--json` and the web page.

    report = build_report("logs/", days=30)            # a MonitorReport
    report.days, report.series, report.standing, report.topics, report.bottleneck
    rows = sampled_rows("logs/", "2026-01-31")         # the judged answers of a day, worst first

Nothing here judges, draws or writes; both read what `ragauge monitor sample` and `judge` left next to the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from ragauge.analysis.thresholds import Thresholds, resolve_thresholds
from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.core.score import Scored
from ragauge.diagnose.history import Bottleneck
from ragauge.monitor.alerts import Standing, replay
from ragauge.monitor.days import Day
from ragauge.monitor.query import LoggedQuery, QueryLog
from ragauge.monitor.rules import DEFAULTS, Rule, read_rules
from ragauge.monitor.series import NOTE, History, SeriesInfo, bottleneck_now, read_history
from ragauge.monitor.topics import Encode, NewCluster, QuestionDay, TopicRow, Topics, new_clusters, topic_rows
from ragauge.monitor.workspace import Workspace

#: Days before the report's window that alerts may need as their reference.
REFERENCE_DAYS = 84


@dataclass(frozen=True)
class MonitorSettings:
    """The section `monitor:` of ragauge.yaml, with what else alerts and reports read."""

    thresholds: Thresholds = field(default_factory=lambda: resolve_thresholds(None))
    rules: tuple[Rule, ...] = DEFAULTS
    slow_ms: float = 500.0
    project: str | None = None
    state: Path | None = None

    @staticmethod
    def of(section: Mapping[str, Any], thresholds: Thresholds | None = None) -> MonitorSettings:
        """From the section's mapping: `slow_ms`, `project`, `alerts` (rules). Other keys belong to other parts."""
        return MonitorSettings(
            thresholds=thresholds or resolve_thresholds(None),
            rules=read_rules(section.get("alerts")),
            slow_ms=float(section.get("slow_ms", 500.0)),
            project=section.get("project"),
            state=Path(section["state"]) if section.get("state") else None,
        )


class Now(Model):
    """A judged metric over the last week: estimate, threshold, verdict."""

    name: str
    estimate: Estimate
    threshold: float | None
    verdict: str
    half: str


class Sampled(Model):
    """What of a day was drawn and judged. `run`: the judged run's folder, relative to the workspace."""

    day: str
    n_queries: int
    n_drawn: int
    n_judged: int
    complete: bool
    run: str | None
    strata: dict[str, tuple[float, int]]


class MonitorReport(Model):
    """Production from `since` to `until`. `days` have no gap; a series that a day lacks was not measured on it."""

    log: str
    created: str
    since: str
    until: str
    n_queries: int
    days: tuple[Day, ...]
    series: tuple[SeriesInfo, ...]
    standing: Standing
    now: tuple[Now, ...] = ()
    bottleneck: Bottleneck | None = None
    topics: tuple[TopicRow, ...] = ()
    untested: tuple[NewCluster, ...] = ()
    n_golden: int | None = None
    sampled: tuple[Sampled, ...] = ()
    cost_usd: float | None = None
    slow_ms: float = 500.0
    notes: tuple[str, ...] = ()


class SampledRow(Model):
    """One judged answer. `probability` None: judged after the draw (late thumbs down), in no estimate."""

    id: str
    at: str | None
    question: str | None
    answer: str | None
    feedback: str | None
    stratum: str
    probability: float | None
    scores: dict[str, float]
    low: tuple[str, ...] = ()


class SampledRows(Model):
    """What `ragauge monitor rows --json` prints: a day's judged answers, worst first."""

    day: str
    rows: tuple[SampledRow, ...]


def open_anything(log: str | Path | QueryLog) -> tuple[QueryLog, str]:
    """The log, opened where a path or URL was given, and what it is called."""
    if isinstance(log, str | Path):
        from ragauge.monitor.store import open_log

        return open_log(str(log)), str(log)
    return log, str(getattr(log, "place", "log"))


def history_of(
    log: QueryLog, space: Workspace, settings: MonitorSettings, since: date, until: date, today: date
) -> History:
    """The days from `since`, and those before it that alerts compare with."""
    return read_history(
        log, space, since - timedelta(REFERENCE_DAYS), until, thresholds=settings.thresholds, today=today,
        slow_ms=settings.slow_ms, project=settings.project,
    )  # fmt: skip


def standing_of(history: History, settings: MonitorSettings, space: Workspace) -> Standing:
    """The alerts of a history. Where the judge changed, judged series begin anew; accepted days are the new normal."""
    accepted = {f"{rule.name}/{series}": day for series, day in history.restart.items() for rule in settings.rules}
    mine = space.accepted()
    accepted |= {key: max(day, accepted.get(key, "")) for key, day in mine.items()}
    return replay(history.days, settings.rules, history.watched, accepted)


def build_report(
    log: str | Path | QueryLog,
    days: int = 30,
    *,
    settings: MonitorSettings | None = None,
    until: date | None = None,
    today: date | None = None,
    encode: Encode | None = None,
    space: Workspace | None = None,
) -> MonitorReport:
    """Everything about the last `days` days up to `until` (default: today, which is marked as not complete).

    `encode` is asked only to group the questions that are unlike the golden set; without it they are not grouped.
    """
    settings = settings or MonitorSettings()
    opened, where = open_anything(log)
    space = space or Workspace.beside(where, settings.state, settings.project)
    today = today or datetime.now(UTC).date()
    until = until or today
    since = until - timedelta(days - 1)
    history = history_of(opened, space, settings, since, until, today)
    window = tuple(day for day in history.days if day.day >= since.isoformat())
    standing = standing_of(history, settings, space)
    worst, results = bottleneck_now(history, settings.thresholds)
    topics = space.read(Topics, "topics.json")
    asked = {day: q for day, q in history.questions.items() if day >= since.isoformat()}
    earlier = [q for day, q in history.questions.items() if day < since.isoformat()]
    names = {name for day in window for name in day.figures}
    costs = [s.cost_usd for day, s in history.scores.items() if day >= since.isoformat() and s.cost_usd is not None]
    return MonitorReport(
        log=where,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        since=window[0].day if window else since.isoformat(),
        until=until.isoformat(),
        n_queries=sum(day.n_queries for day in window),
        days=window,
        series=tuple(info for name, info in history.infos.items() if name in names),
        standing=standing.model_copy(update={"alerts": _shown(standing, since)}),
        now=tuple(
            Now(name=key, estimate=r.estimate, threshold=r.threshold, verdict=r.verdict, half=r.half)
            for key, r in results.items()
            if r.estimate is not None
        ),
        bottleneck=worst,
        topics=topic_rows(topics, list(asked.values()), earlier) if topics is not None else (),
        untested=_untested(opened, asked, encode),
        n_golden=topics.n_golden if topics is not None else None,
        sampled=tuple(_sampled(history, since)),
        cost_usd=sum(costs) if costs else None,
        slow_ms=settings.slow_ms,
        notes=tuple(_notes(history, window, topics)),
    )


def _shown(standing: Standing, since: date) -> tuple[Any, ...]:
    """What stands, and what ended within the window."""
    return tuple(a for a in standing.alerts if a.status == "firing" or (a.resolved or a.day) >= since.isoformat())


def _sampled(history: History, since: date) -> Iterator[Sampled]:
    for day, sample in history.samples.items():
        if day < since.isoformat():
            continue
        scores = history.scores.get(day)
        yield Sampled(
            day=day, n_queries=sample.n_queries, n_drawn=len(sample.drawn), n_judged=scores.n_rows if scores else 0,
            complete=scores.complete if scores else False, run=f"judged/{day}/{scores.run}" if scores else None,
            strata=sample.strata,
        )  # fmt: skip


def _untested(
    log: QueryLog, asked: Mapping[str, QuestionDay], encode: Encode | None, most: int = 400
) -> tuple[NewCluster, ...]:
    if encode is None:
        return ()
    far: list[tuple[str, str]] = []
    for day, question_day in sorted(asked.items(), reverse=True):
        if len(far) >= most or not question_day.far:
            continue
        found = log.queries(date.fromisoformat(day), ids=question_day.far)
        far += [(query.id, query.question) for query in found]
    return new_clusters(far[:most], encode)[:12]


def _notes(history: History, window: Sequence[Day], topics: Topics | None) -> Iterator[str]:
    if not window:
        yield "no query was logged in these days"
        return
    empty = sum(day.n_queries == 0 for day in window)
    if empty:
        yield f"{empty} of {len(window)} days have no query"
    if not history.scores:
        yield "nothing is judged: `ragauge monitor sample` draws, `ragauge monitor judge` judges"
    elif any(not scores.complete for scores in history.scores.values()):
        yield "some samples are judged in part; their days are estimated from what is judged (the order is random)"
    if history.restart:
        yield f"the judge or its metrics changed on {max(history.restart.values())}: judged series begin anew there"
    if topics is None:
        yield "questions are not looked at yet: `ragauge monitor sample --golden FILE` counts topics and drift"
    yield NOTE


def sampled_rows(
    log: str | Path | QueryLog,
    day: str,
    *,
    settings: MonitorSettings | None = None,
    texts: bool = True,
    limit: int | None = None,
    space: Workspace | None = None,
) -> list[SampledRow]:
    """The sampled answers of a day, those with the most low scores first. `texts` False: without reading the log."""
    settings = settings or MonitorSettings()
    opened, where = open_anything(log)
    space = space or Workspace.beside(where, settings.state, settings.project)
    sample = space.sample(day)
    if sample is None:
        return []
    scores: dict[str, dict[str, float]] = {}
    better: dict[str, str] = {}
    for run in space.runs(day):
        better |= {spec.key: spec.info.better for spec in run.manifest.metrics}
        for record in run.records():
            scores[record.sample.item.id] = {k: s.value for k, s in record.scores.items() if isinstance(s, Scored)}
    rows = []
    for one in sample.drawn:
        mine = scores.get(one.id, {})
        low = tuple(key for key, value in mine.items() if _is_low(value, key, better.get(key, "higher"), settings))
        rows.append((one, mine, low))
    rows.sort(key=lambda row: (-len(row[2]), row[0].u))
    rows = rows[:limit]
    found: dict[str, LoggedQuery] = {}
    if texts:
        ids = [one.id for one, _, _ in rows]
        found = {query.id: query for query in opened.queries(date.fromisoformat(day), ids=ids)}
    return [_row(one, mine, low, found.get(one.id)) for one, mine, low in rows]


def _is_low(value: float, key: str, better: str, settings: MonitorSettings) -> bool:
    threshold = settings.thresholds.of(key)
    if threshold is None or better not in ("higher", "lower"):
        return False
    return value < threshold.good - 1e-9 if better == "higher" else value > threshold.good + 1e-9


def _row(one: Any, scores: dict[str, float], low: tuple[str, ...], query: LoggedQuery | None) -> SampledRow:
    return SampledRow(
        id=one.id,
        at=query.at.isoformat() if query else None,
        question=query.question if query else None,
        answer=query.answer if query else None,
        feedback=query.feedback if query else None,
        stratum=one.stratum,
        probability=one.probability,
        scores=scores,
        low=low,
    )
