"""How numbers and names are written, everywhere the same."""

from __future__ import annotations

from collections.abc import Mapping

from ragauge.core.run import Estimate, MetricResult
from ragauge.errors import Reason


def number(value: float | None, places: int = 3) -> str:
    """`0.847`; an em dash for nothing.

    >>> number(0.84666), number(None)
    ('0.847', '—')
    """
    return "—" if value is None else f"{value:.{places}f}"


def interval(estimate: Estimate | None) -> str:
    """`0.78 – 0.90`, or why there is none."""
    if estimate is None:
        return "—"
    if estimate.low is None or estimate.high is None:
        return f"n = {estimate.n}: none"
    return f"{estimate.low:.3f} – {estimate.high:.3f}"


def counts(unscored: dict[Reason, int]) -> str:
    """`3 abstained, 1 timed out`."""
    return ", ".join(f"{n} {reason.value.replace('_', ' ')}" for reason, n in unscored.items())


def threshold(result: MetricResult) -> str:
    """`≥ 0.95`, `≤ 0.05` or nothing."""
    if result.threshold is None:
        return ""
    return f"{'≥' if result.better == 'higher' else '≤'} {result.threshold:g}"


def duration_ms(value: float) -> str:
    """`12 ms`, `1.4 s`."""
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def count(n: int, one: str, many: str | None = None) -> str:
    """`1 question`, `3 questions`.

    >>> count(1, "question"), count(2, "question"), count(0, "query", "queries")
    ('1 question', '2 questions', '0 queries')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def by_reason(skipped: Mapping[str, str]) -> dict[str, list[str]]:
    """Why → which, in order: what nothing could be computed of for one reason is said in one line.

    >>> by_reason({"a": "no labels", "b": "no answer", "c": "no labels"})
    {'no labels': ['a', 'c'], 'no answer': ['b']}
    """
    found: dict[str, list[str]] = {}
    for key, why in skipped.items():
        found.setdefault(why, []).append(key)
    return found


def labels_to_certify(n: int) -> str:
    """How many more labels would prove a judge, or that nobody will write so many.

    >>> labels_to_certify(40)
    '40 more labels with the same agreement would prove it.'
    >>> labels_to_certify(26004)
    'The agreement is too near to the bar: it would take 26004 more labels to prove it.'
    """
    if n > 2000:
        return f"The agreement is too near to the bar: it would take {n} more labels to prove it."
    return f"{count(n, 'more label')} with the same agreement would prove it."
