"""The comparison with another run, as the HTML report shows it."""

from __future__ import annotations

from dataclasses import dataclass

from ragauge.analysis.compare import Comparison
from ragauge.analysis.difference import Difference
from ragauge.report.words import number

_CLASSES = {"better": "good", "worse": "bad"}
_SIGNS = {"better": "✓ ", "worse": "✗ "}


@dataclass(frozen=True)
class DifferenceLine:
    """One metric in both runs. `kind` is a class of the page: good, bad or nothing."""

    key: str
    a: str
    b: str
    difference: str
    p: str
    kind: str
    verdict: str
    n_pairs: int
    changed: str


@dataclass(frozen=True)
class ComparedView:
    """This run against `other`."""

    other: str
    n_shared: int
    level: int
    lines: tuple[DifferenceLine, ...]
    settings: tuple[str, ...]
    warnings: tuple[str, ...]
    not_compared: tuple[tuple[str, str], ...]


def compared_view(found: Comparison) -> ComparedView:
    """Every compared metric, what became worse first."""
    order = ("worse", "better", "higher", "lower", "too few questions to tell", "no measurable difference")
    ranked = sorted(found.metrics.values(), key=lambda one: order.index(one.verdict))
    return ComparedView(
        other=found.a,
        n_shared=found.n_shared,
        level=round(100 * (ranked[0].level if ranked else 0.95)),
        lines=tuple(map(_line, ranked)),
        settings=found.changed,
        warnings=found.warnings,
        not_compared=tuple(found.not_compared.items()),
    )


def _line(one: Difference) -> DifferenceLine:
    ends = "" if one.low is None or one.high is None else f" ({_signed(one.low)} to {_signed(one.high)})"
    words = ("higher", "lower") if one.better == "none" else ("better", "worse")
    return DifferenceLine(
        key=one.key,
        a=number(one.a),
        b=number(one.b),
        difference=_signed(one.difference) + ends,
        p="< 0.001" if one.p_adjusted < 0.001 else number(one.p_adjusted),
        kind=_CLASSES.get(one.verdict, ""),
        verdict=_SIGNS.get(one.verdict, "") + one.verdict,
        n_pairs=one.n_pairs,
        changed=f"{one.n_better} {words[0]}, {one.n_worse} {words[1]}",
    )


def _signed(value: float) -> str:
    """With its sign, a true minus.

    >>> _signed(0.25), _signed(-0.25)
    ('+0.250', '−0.250')
    """
    return f"{value:+.3f}".replace("-", "−")
