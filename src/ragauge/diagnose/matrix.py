"""Apply the rules to a summary: which half is at fault, what to try first, or that the evidence is not enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragauge.core.metric import parse_metric_key
from ragauge.core.run import Finding, MetricResult, Summary
from ragauge.core.score import Kind, kind_of
from ragauge.diagnose.rules import RULES, Rule
from ragauge.stats.quantiles import two_sided_z

#: Signal → metrics that carry it, best first, each with the granularity it is read at (None: any).
SIGNALS: dict[str, tuple[tuple[str, str | None], ...]] = {
    "recall": (("recall", "chunk"), ("context_recall", None), ("recall", "doc"), ("context_sufficiency", None)),
    "document_recall": (("recall", "doc"),),
    "context_precision": (("context_precision", None), ("context_precision_ids", "chunk")),
    "faithfulness": (("faithfulness", None),),
    "relevance": (("answer_relevance", None), ("relevance_rubric", None)),
    "correctness": (("correctness", None),),
    "completeness": (("completeness", None),),
    "answers_given": (("wrong_abstention", None),),
    "declines_unanswerable": (("hallucination_on_unanswerable", None),),
    "citation_accuracy": (("citation_accuracy", None),),
    "noise_resistance": (("noise_sensitivity", None),),
    "utilisation": (("context_utilisation", None),),
    "grounded_only": (("answered_without_context", None),),
    "results": (("zero_results", None),),
}

#: Fewer scored questions than this are not enough to say that a metric is low.
N_ENOUGH = 5

#: A value past its threshold by fewer standard errors than this is undecided (less than three chances in four).
UNDECIDED = 0.674

#: A larger share of errors than this, and the run says more about the judge's failures than about the system.
MAX_ERROR_SHARE = 0.05


@dataclass(frozen=True)
class Signal:
    """A metric's reading against its threshold.

    `state`: low or high by its value; unknown (not measured, too few questions, no threshold). `sure`: clear when the
    interval lies on one side of the threshold; likely when it reaches over; undecided when it could as well be the
    other side.
    """

    state: Literal["low", "high", "unknown"]
    result: MetricResult | None = None
    sure: Literal["clear", "likely", "undecided"] = "clear"


def diagnose(summary: Summary) -> list[Finding]:
    """What is wrong, first things first. Never empty: it says so when nothing is, and when it cannot tell.

    A metric that is low by its value only, while its interval says that it could as well be high, is no finding.
    """
    findings = list(_failures(summary))
    signals = {name: read_signal(summary, name) for name in SIGNALS}
    explained: set[str] = set()
    for rule in RULES:
        # What a more specific rule has explained is not said again in more general words.
        if applies(rule, signals) and not set(rule.low) <= explained:
            findings.append(_finding(rule, signals))
            explained.update(rule.low)
    undecided = {name: s for name, s in signals.items() if s.state == "low" and s.sure == "undecided"}
    if findings:
        return findings
    if all(signal.state == "unknown" for signal in signals.values()) or undecided:
        return [_not_enough(undecided)]
    return [_nothing_found(signals)]


def read_signal(summary: Summary, name: str) -> Signal:
    """The first metric that carries the signal and has enough scored questions."""
    for base, level in SIGNALS[name]:
        for key, result in summary.metrics.items():
            known, _, at = parse_metric_key(key)
            if known != base or (level is not None and at != level):
                continue
            if result.estimate is None or result.n < N_ENOUGH or result.verdict == "none":
                continue
            return Signal("high" if result.verdict == "good" else "low", result, sureness(result))
    return Signal("unknown")


def sureness(result: MetricResult) -> Literal["clear", "likely", "undecided"]:
    """How well the interval carries the verdict.

    clear: the interval does not hold the threshold. Otherwise z = |value - threshold| / standard error, with the
    standard error read off the interval (its width / 2 / 1.96): likely from 0.674 (three chances in four that the true
    mean is on this side), else undecided. Without an interval: likely; without a threshold: clear.
    """
    estimate, threshold = result.estimate, result.threshold
    if estimate is None or threshold is None:
        return "clear"
    if estimate.low is None or estimate.high is None:
        return "likely"
    if not estimate.low <= threshold <= estimate.high:
        return "clear"
    error = (estimate.high - estimate.low) / 2 / two_sided_z(estimate.level)
    distance = abs(estimate.value - threshold)
    if error <= 0 or math.isclose(distance, 0.0):
        return "undecided"
    return "likely" if distance / error >= UNDECIDED else "undecided"


def applies(rule: Rule, signals: Mapping[str, Signal]) -> bool:
    """Whether all that the rule wants low is low (and not undecided), and all that it wants high is high."""
    return all(signals[name].state == "low" and signals[name].sure != "undecided" for name in rule.low) and all(
        signals[name].state == "high" for name in rule.high
    )


def _finding(rule: Rule, signals: Mapping[str, Signal]) -> Finding:
    evidence: dict[str, float] = {}
    questions: list[str] = []
    for name in (*rule.low, *rule.high):
        result = signals[name].result
        if result is not None and result.value is not None:
            evidence[result.key] = result.value
            if name in rule.low:
                questions += [item for item in result.worst if item not in questions]
    return Finding(
        rule=rule.name,
        half=rule.half,
        diagnosis=rule.diagnosis,
        cause=rule.cause,
        try_first=rule.try_first,
        check=rule.check,
        evidence=evidence,
        questions=tuple(questions[:5]),
        certainty="clear" if all(signals[name].sure == "clear" for name in (*rule.low, *rule.high)) else "likely",
    )


def _failures(summary: Summary) -> list[Finding]:
    worst = max(summary.metrics.values(), key=lambda result: result.n_errors / max(result.n_asked, 1), default=None)
    if worst is None or worst.n_errors <= MAX_ERROR_SHARE * worst.n_asked:
        return []
    failed = {reason: n for reason, n in worst.unscored.items() if kind_of(reason) is Kind.ERROR}
    reasons = ", ".join(f"{reason.value} {n}" for reason, n in failed.items())
    return [
        Finding(
            rule="not_judged",
            half="unknown",
            diagnosis=f"{worst.n_errors} of {worst.n_asked} questions could not be scored on {worst.key}",
            cause=f"Failures, not quality: {reasons}.",
            try_first="Mend the failures, then `--resume RUN --retry-errors`: it pays only for what is missing.",
            check="The numbers below speak only of the questions that could be scored.",
            evidence={f"{worst.key} errors": float(worst.n_errors)},
        )
    ]


def _not_enough(undecided: Mapping[str, Signal]) -> Finding:
    results = [signal.result for signal in undecided.values() if signal.result is not None]
    low = ", ".join(
        f"{result.key} ({result.value:.2f} against {result.threshold:g}, n = {result.n})"
        for result in results
        if result.value is not None and result.threshold is not None
    )
    cause = (
        f"Below its threshold by less than chance allows: {low}."
        if low
        else f"No metric with a threshold was scored on at least {N_ENOUGH} questions."
    )
    return Finding(
        rule="not_enough_evidence",
        half="unknown",
        diagnosis="Not enough evidence to say which half is at fault",
        cause=cause,
        try_first="Add golden questions with reference answers and gold evidence.",
        check="The intervals no longer hold the thresholds; `ragauge show` lists what each metric lacks.",
        evidence={result.key: result.value for result in results if result.value is not None},
        certainty="unknown",
    )


def _nothing_found(signals: Mapping[str, Signal]) -> Finding:
    unknown = [name for name, signal in signals.items() if signal.state == "unknown"]
    blind = f" Not measured: {', '.join(name.replace('_', ' ') for name in unknown)}." if unknown else ""
    return Finding(
        rule="nothing_found",
        half="both",
        diagnosis="No pattern of the matrix applies",
        cause=f"What was measured reaches its thresholds, or is low without a pattern.{blind}",
        try_first="Read the ✗ questions; raise the thresholds, or add harder questions.",
        check="The intervals say how sure this is.",
        evidence={
            signal.result.key: signal.result.value
            for signal in signals.values()
            if signal.result is not None and signal.result.value is not None
        },
    )
