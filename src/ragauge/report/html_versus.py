"""A comparison as the page shows it: one sentence, a forest of differences, the questions that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragauge.analysis.compare import Comparison
from ragauge.analysis.difference import Difference
from ragauge.report.words import count, duration_ms, number

_ORDER = ("worse", "better", "higher", "lower", "too few questions to tell", "no measurable difference")
_SIGNS = {"better": "✓ ", "worse": "✗ "}
#: Slices that are named: those with a verdict.
_TOLD = ("better", "worse")


@dataclass(frozen=True)
class Forest:
    """Places on an axis from 0 to 100 whose middle is no difference."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class VersusLine:
    """One metric. `kind`: better, worse or nothing; `needs`: how many questions would decide it."""

    key: str
    better: str
    a: str
    b: str
    difference: str
    interval: str
    p: str
    kind: str
    verdict: str
    forest: Forest | None
    n_pairs: int
    n_better: int
    n_worse: int
    n_same: int
    flips_better: int
    flips_worse: int
    needs: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SliceLine:
    """A slice in which something changed."""

    tag: str
    key: str
    difference: str
    interval: str
    kind: str
    n: int


@dataclass(frozen=True)
class Versus:
    """Run `b` against run `a`. `scale`: half the width of the forest's axis."""

    a: str
    b: str
    headline: str
    kind: str
    n_shared: int
    level: int
    scale: str
    lines: tuple[VersusLine, ...]
    slices: tuple[SliceLine, ...]
    usage: tuple[tuple[str, str, str], ...]
    settings: tuple[str, ...]
    warnings: tuple[str, ...]
    not_compared: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


def versus(found: Comparison) -> Versus:
    """Everything that was compared, what became worse first."""
    ranked = sorted(found.metrics.values(), key=lambda one: _ORDER.index(one.verdict))
    ends = [end for one in ranked for end in (one.low, one.high, one.difference) if end is not None]
    scale = max((abs(end) for end in ends if abs(end) <= 1), default=1.0) or 1.0
    lost = {
        "changed": found.changed_items,
        "only in the first run": found.only_a,
        "only in the second run": found.only_b,
    }
    left_out = [
        f"{count(len(ids), 'question')} {words}: {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}"
        for words, ids in lost.items()
        if ids
    ]
    return Versus(
        a=found.a,
        b=found.b,
        headline=headline(ranked, found.smallest),
        kind=_kind(ranked),
        n_shared=found.n_shared,
        level=round(100 * (ranked[0].level if ranked else 0.95)),
        scale=number(scale, 2),
        lines=tuple(_line(found, one, scale) for one in ranked),
        slices=tuple(_slices(found)),
        usage=tuple(_usage(found)),
        settings=found.changed,
        warnings=found.warnings,
        not_compared=tuple(found.not_compared.items()),
        left_out=tuple(left_out),
    )


def _kind(lines: Sequence[Difference]) -> str:
    verdicts = {one.verdict for one in lines}
    if {"better", "worse"} <= verdicts:
        return "mixed"
    return "worse" if "worse" in verdicts else "better" if "better" in verdicts else ""


def headline(lines: Sequence[Difference], smallest: float) -> str:
    """What to take from it, in a sentence or two."""
    if not lines:
        return "Nothing could be compared."
    groups: dict[str, list[str]] = {}
    for one in lines:
        groups.setdefault(one.verdict, []).append(one.key)
    told = [word for word in _ORDER[:4] if word in groups]
    if told:
        said = "; ".join(f"{word} on {_some(groups[word])}" for word in told)
        rest = len(lines) - sum(len(groups[word]) for word in told)
        end = f" On {count(rest, 'other metric')} no difference can be shown." if rest else ""
        return f"{said[:1].upper()}{said[1:]}.{end}"
    few = [one for one in lines if one.verdict == "too few questions to tell"]
    if few:
        most = max(one.n_needed for one in few)
        return (
            f"No difference can be shown, which is not the same as no difference: {count(len(few), 'metric')} would "
            f"need up to {most} questions to find a difference of {smallest:.0%} of the range."
        )
    return f"No measurable difference: every interval rules out more than {smallest:.0%} of its metric's range."


def _some(keys: Sequence[str], n: int = 4) -> str:
    return ", ".join(keys[:n]) + (f" and {len(keys) - n} more" if len(keys) > n else "")


def _line(found: Comparison, one: Difference, scale: float) -> VersusLine:
    flips = found.flips.get(one.key)
    undecided = one.verdict == "too few questions to tell"
    return VersusLine(
        key=one.key,
        better=one.better,
        a=number(one.a),
        b=number(one.b),
        difference=signed(one.difference),
        interval="—" if one.low is None or one.high is None else f"{signed(one.low)} to {signed(one.high)}",
        p="< 0.001" if one.p_adjusted < 0.001 else number(one.p_adjusted),
        kind=one.verdict if one.verdict in _SIGNS else "",
        verdict=_SIGNS.get(one.verdict, "") + one.verdict,
        forest=_forest(one, scale),
        n_pairs=one.n_pairs,
        n_better=one.n_better,
        n_worse=one.n_worse,
        n_same=one.n_pairs - one.n_better - one.n_worse,
        flips_better=len(flips.better) if flips else 0,
        flips_worse=len(flips.worse) if flips else 0,
        needs=f"about {one.n_needed} questions would show {found.smallest:.0%} of the range" if undecided else "",
        notes=one.notes,
    )


def _forest(one: Difference, scale: float) -> Forest | None:
    ends = [end for end in (one.low, one.high, one.difference) if end is not None]
    if any(abs(end) > scale for end in ends):
        return None

    def at(value: float) -> float:
        return round(50 + 50 * value / scale, 1)

    return Forest(
        at(one.difference), None if one.low is None else at(one.low), None if one.high is None else at(one.high)
    )


def _slices(found: Comparison) -> Iterator[SliceLine]:
    for tag, cells in found.slices.items():
        for key, one in cells.items():
            if one.verdict in _TOLD:
                ends = "—" if one.low is None or one.high is None else f"{signed(one.low)} to {signed(one.high)}"
                yield SliceLine(tag, key, signed(one.difference), ends, one.verdict, one.n_pairs)


def _usage(found: Comparison) -> Iterator[tuple[str, str, str]]:
    for name, sides in found.usage.items():

        def shown(value: float | None, name: str = name) -> str:
            if value is None:
                return "—"
            if name.endswith("_ms"):
                return duration_ms(value)
            return f"${value:.4f}" if name.endswith("_usd") else f"{value:.1f}"

        yield name.removesuffix("_ms").replace("_", " "), shown(sides.a), shown(sides.b)


def signed(value: float) -> str:
    """With its sign, a true minus.

    >>> signed(0.25), signed(-0.25)
    ('+0.250', '−0.250')
    """
    return f"{value:+.3f}".replace("-", "−")
