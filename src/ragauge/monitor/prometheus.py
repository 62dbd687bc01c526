"""Production as a Prometheus text file: the newest complete day of every series, and which alerts stand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from ragauge.monitor.alerts import Standing
from ragauge.monitor.days import Day, Figure
from ragauge.monitor.report import MonitorReport
from ragauge.outlets.prometheus import Family, families_text


def monitor_text(report: MonitorReport, name: str) -> str:
    """The text. `name` tells several logs apart; no label grows with questions or days."""
    return families_text(_families(report, name))


def _families(report: MonitorReport, name: str) -> Iterator[Family]:
    newest = list(_newest(report))

    def gauge(what: str, text: str, part: str) -> Family:
        found = ((series, getattr(figure, part)) for series, _, figure in newest)
        samples = tuple(({"log": name, "series": s}, float(value)) for s, value in found if value is not None)
        return Family(f"ragauge_monitor_{what}", "gauge", text, samples)

    yield gauge("value", "A series of production on its newest complete day (shares 0 to 1, latencies in ms).", "value")
    yield gauge("ci_lower", "Lower end of the 95 % interval of the value.", "low")
    yield gauge("ci_upper", "Upper end of the 95 % interval of the value.", "high")
    yield gauge("judged_answers", "Judged answers behind the value.", "n_judged")
    yield gauge("low_answers", "Of those, answers below the metric's threshold.", "n_low")
    days = tuple(({"log": name, "series": s}, _seconds(day.day)) for s, day, _ in newest)
    yield Family("ragauge_monitor_day_timestamp_seconds", "gauge", "The day that the value is of.", days)
    queries = [day for day in report.days if day.complete][-1:]
    logged = tuple(({"log": name}, float(day.n_queries)) for day in queries)
    yield Family("ragauge_monitor_queries", "gauge", "Queries logged on the newest complete day.", logged)
    yield from _alerts(report.standing, name)


def _alerts(standing: Standing, name: str) -> Iterator[Family]:
    firing = tuple(
        ({"log": name, "rule": a.rule, "series": a.series, "severity": a.severity}, 1.0) for a in standing.firing
    )
    yield Family("ragauge_monitor_alert", "gauge", "1 for every alert that stands.", firing)
    counts = ((judged, float(n)) for judged, n in (("yes", standing.judged), ("no", len(standing.unjudged))))
    rules = tuple(({"log": name, "judged": judged}, n) for judged, n in counts)
    yield Family("ragauge_monitor_rules", "gauge", "Alert rules that could be judged, and that could not.", rules)


def _newest(report: MonitorReport) -> Iterator[tuple[str, Day, Figure]]:
    for info in report.series:
        known = [day for day in report.days if day.complete and info.name in day.figures]
        if known:
            yield info.name, known[-1], known[-1].figures[info.name]


def _seconds(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
