"""A run as a Prometheus text file (exposition format 0.0.4), for a node exporter's text-file folder or a push gateway.

Names: one prefix, base units, `_total` for counters, no label that grows with the questions. A file tells of one run,
so the judge's counters are those of that run: they start again with the next, as counters of a restarted process do.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from ragauge.core.run import Manifest, MetricResult, Summary
from ragauge.core.score import kind_of
from ragauge.text.normalise import clean, display


@dataclass(frozen=True)
class Family:
    """All samples of one name: (labels, value)."""

    name: str
    kind: str
    help: str
    samples: tuple[tuple[Mapping[str, str], float], ...]


def prometheus_text(
    manifest: Manifest, summary: Summary, *, suite: str | None = None, gate: float | None = None
) -> str:
    """Every metric with its interval, how many were scored and why not, when the run was made, what judging used.

    `suite`: the label that tells several golden sets apart (default: the golden set's name). `gate`: 1 passed,
    0 failed, -1 could not be judged; left out where no gate was run.
    """
    return families_text(_families(manifest, summary, suite or manifest.dataset.name, gate))


def run_metrics_text(runs: Iterable[tuple[Manifest, Summary]]) -> str:
    """The newest run of every suite in one text, for an endpoint: what `GET /metrics` answers.

    `runs`: in any order; of several runs of one golden set the newest counts, all are counted in
    `ragauge_eval_runs_total` by whether a metric missed its threshold.
    """
    newest: dict[str, tuple[Manifest, Summary]] = {}
    counted: Counter[tuple[str, str]] = Counter()
    for manifest, summary in runs:
        suite = manifest.dataset.name
        low = any(result.verdict in ("below", "broken") for result in summary.metrics.values())
        counted[suite, "low" if low else "good"] += 1
        if suite not in newest or newest[suite][0].created < manifest.created:
            newest[suite] = (manifest, summary)
    merged: dict[str, Family] = {}
    for suite, (manifest, summary) in sorted(newest.items()):
        for family in _families(manifest, summary, suite, None):
            before = merged.get(family.name)
            samples = (*(before.samples if before is not None else ()), *family.samples)
            merged[family.name] = Family(family.name, family.kind, family.help, _distinct(samples, family.kind))
    made = tuple(({"suite": s, "outcome": o}, float(n)) for (s, o), n in sorted(counted.items()))
    total = Family("ragauge_eval_runs_total", "counter", "Runs that are kept, by whether a metric was low.", made)
    return families_text([*merged.values(), total])


def _distinct(
    samples: Iterable[tuple[Mapping[str, str], float]], kind: str
) -> tuple[tuple[Mapping[str, str], float], ...]:
    """One sample for each set of labels, as the format demands: counters of two suites (the same judge) add up."""
    seen: dict[tuple[tuple[str, str], ...], float] = {}
    for labels, value in samples:
        key = tuple(labels.items())
        seen[key] = seen.get(key, 0.0) + value if kind == "counter" else value
    return tuple((dict(key), value) for key, value in seen.items())


def families_text(families: Iterable[Family]) -> str:
    """Families in the exposition format; one without samples is left out."""
    lines: list[str] = []
    for family in families:
        if family.samples:
            lines += [f"# HELP {family.name} {_help(family.help)}", f"# TYPE {family.name} {family.kind}"]
            lines += [f"{family.name}{_labels(labels)} {_value(value)}" for labels, value in family.samples]
    return "\n".join(lines) + "\n"


def _families(manifest: Manifest, summary: Summary, suite: str, gate: float | None) -> Iterator[Family]:
    scored = [result for result in summary.metrics.values() if result.estimate is not None]

    def of(result: MetricResult, **more: str) -> dict[str, str]:
        return {"suite": suite, "metric": result.key, **more}

    yield Family(
        "ragauge_eval_metric_value", "gauge", "Mean of a metric over the questions of the last run.",
        tuple((of(r, split="all"), r.value) for r in scored if r.value is not None),
    )  # fmt: skip
    yield Family(
        "ragauge_eval_metric_ci_lower", "gauge", "Lower end of the 95 % interval of the metric's mean.",
        tuple((of(r, split="all"), r.low) for r in scored if r.low is not None),
    )  # fmt: skip
    yield Family(
        "ragauge_eval_metric_ci_upper", "gauge", "Upper end of the 95 % interval of the metric's mean.",
        tuple((of(r, split="all"), r.high) for r in scored if r.high is not None),
    )  # fmt: skip
    yield Family(
        "ragauge_eval_items", "gauge", "Questions of the last run: scored, not applicable, in error or skipped.",
        tuple((of(r, status=status), float(n)) for r in summary.metrics.values() for status, n in _status(r).items()),
    )  # fmt: skip
    if gate is not None:
        yield Family(
            "ragauge_gate_status", "gauge", "1: the gate passed, 0: it failed, -1: it could not be judged.",
            (({"suite": suite}, gate),),
        )  # fmt: skip
    yield Family(
        "ragauge_last_run_timestamp_seconds", "gauge", "When the last run was made.",
        tuple(({"suite": suite}, seconds) for seconds in _seconds(manifest.created)),
    )  # fmt: skip
    yield from _judging(manifest, summary)
    yield Family("ragauge_build_info", "gauge", "The ragauge that made the last run.",
                  (({"version": manifest.ragauge}, 1.0),))  # fmt: skip


def _judging(manifest: Manifest, summary: Summary) -> Iterator[Family]:
    usage, judge = summary.usage, manifest.judge
    if judge is None or not (usage.calls or usage.cached_calls):
        return
    who = {"provider": judge.name, "model": judge.model or ""}
    yield Family(
        "ragauge_judge_requests_total", "counter", "Requests to the judge's model in the last run, cached ones apart.",
        ((who, float(usage.calls)),),
    )  # fmt: skip
    yield Family(
        "ragauge_judge_cache_hits_total", "counter", "Judge replies of the last run that came from the cache.",
        ((who, float(usage.cached_calls)),),
    )  # fmt: skip
    yield Family(
        "ragauge_judge_tokens_total", "counter", "Tokens of judging in the last run.",
        (({**who, "direction": "in"}, float(usage.tokens_in)), ({**who, "direction": "out"}, float(usage.tokens_out))),
    )  # fmt: skip
    if usage.cost_usd is not None:
        yield Family(
            "ragauge_judge_cost_usd_total", "counter", "US dollars that judging cost in the last run.",
            ((who, usage.cost_usd),),
        )  # fmt: skip


def _status(result: MetricResult) -> dict[str, int]:
    counted: Counter[str] = Counter({"scored": result.n, "not_applicable": 0, "error": 0, "skipped": 0})
    for reason, n in result.unscored.items():
        counted[kind_of(reason).value] += n
    return dict(counted)


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_label(value)}"' for name, value in labels.items()) + "}"


def _seconds(moment: str) -> Iterator[float]:
    """Seconds since 1970, unless somebody wrote something else into the manifest: the other figures stand then."""
    with contextlib.suppress(ValueError, OverflowError):
        yield datetime.fromisoformat(moment).timestamp()


def _label(value: str) -> str:
    """A label's value on one line, as the format escapes it."""
    shown = display(clean(value)[:200])
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _value(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
