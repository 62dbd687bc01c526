"""A quantity of a text, and whether two say the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from ragauge.text.units import EXACT_UNITS, UNITS

Kind = Literal[
    "number", "percent", "money", "date", "time", "version", "range", "ordinal", "duration", "bytes", "measure"
]


@dataclass(frozen=True)
class Quantity:
    """One quantity of a text, at `text[start:end]`.

    `value` is in `unit` as written (magnitudes applied: `2k` is 2000). `unit` is the spelling as written, an ISO 4217
    code for money, "%" for percentages, None for a bare number. A date's value is yyyymmdd, with zeros for what is not
    said; a time's is minutes after midnight; a version's its first part. `high` is the upper end of a range.
    """

    value: float
    unit: str | None
    kind: Kind
    start: int
    end: int
    text: str
    high: float | None = None


def agree(a: Quantity, b: Quantity, *, relative: float = 0.0) -> bool:
    """Whether two quantities say the same, after unit conversion; `relative` is the tolerated relative difference.

    Numbers without a unit agree with equal numbers of any unit but percent and money. Bytes are compared as decimal
    and, for KB, MB and GB, also as binary (1 GB = 1024 MB is common usage). Dates agree when the parts that both say
    are equal, and a bare year agrees with a date in it. Versions agree part by part (`3.2` is `3.2.0`). Ranges agree
    when both ends do; a number agrees with a range when it is one of its ends.

    >>> from ragauge.text.numbers import quantities
    >>> agree(quantities("1.5 GB")[0], quantities("1500 MB")[0]), agree(quantities("twelve")[0], quantities("12")[0])
    (True, True)
    >>> agree(quantities("1 h")[0], quantities("60 min")[0]), agree(quantities("5 MB")[0], quantities("5 GB")[0])
    (True, False)
    """
    if a.high is not None and b.high is not None:
        return _equal(a.value, a, b.value, b, relative) and _equal(a.high, a, b.high, b, relative)
    if a.high is not None or b.high is not None:
        wide, single = (a, b) if a.high is not None else (b, a)
        return any(_equal(end, wide, single.value, single, relative) for end in (wide.value, wide.high or 0.0))
    if "version" in (a.kind, b.kind):
        return _parts(a.text) == _parts(b.text)
    if "date" in (a.kind, b.kind):
        return _same_date(a, b)
    return _equal(a.value, a, b.value, b, relative)


#: Kinds that agree only with their like.
_ALONE = ("time", "ordinal")


def _equal(x: float, a: Quantity, y: float, b: Quantity, relative: float) -> bool:
    if a.kind != b.kind and (a.kind in _ALONE or b.kind in _ALONE):
        return False
    if a.unit is None and b.unit is None:
        return _close(x, y, relative)
    if "m" in (a.unit, b.unit):
        a, b = _minutes(a, b), _minutes(b, a)
    dimension_a, dimension_b = dimension(a), dimension(b)
    if dimension_a == dimension_b:
        pairs = zip(_readings(x, a), _readings(y, b), strict=True)
        return any(_close(left, right, relative) for left, right in pairs)
    if None in (dimension_a, dimension_b) and not {"percent", "money"} & {a.kind, b.kind}:
        return _close(x, y, relative)
    if {dimension_a, dimension_b} == {"celsius", "fahrenheit"}:
        celsius, fahrenheit = (x, y) if dimension_a == "celsius" else (y, x)
        return _close(celsius * 9 / 5 + 32, fahrenheit, max(relative, 0.005))
    return False


def _minutes(quantity: Quantity, other: Quantity) -> Quantity:
    """`5m` beside a duration is five minutes, elsewhere metres."""
    is_short = quantity.unit == "m" and dimension(other) == "duration"
    return replace(quantity, unit="min") if is_short else quantity


def dimension(quantity: Quantity) -> str | None:
    """What a quantity measures ("bytes", "duration", "percent", a currency, …); None for a bare number."""
    if quantity.kind in ("money", "percent"):
        return quantity.unit
    entry = unit_entry(quantity.unit) if quantity.unit else None
    return entry[0] if entry else None


def _readings(value: float, quantity: Quantity) -> tuple[float, float]:
    """`value` in base units, with KB, MB … as powers of 1000 and as powers of 1024."""
    entry = unit_entry(quantity.unit) if quantity.unit else None
    if entry is None:
        return value, value
    dimension_, factor = entry
    if dimension_ not in ("bytes", "bytes/s"):
        return value * factor, value * factor
    binary = {1e3: 1024.0, 1e6: 1024.0**2, 1e9: 1024.0**3, 1e12: 1024.0**4, 1e15: 1024.0**5}.get(factor, factor)
    return value * factor, value * binary


@lru_cache(maxsize=1024)
def unit_entry(unit: str) -> tuple[str, float] | None:
    """(dimension, factor to its base unit) of a unit as written, or None."""
    return EXACT_UNITS.get(unit) or UNITS.get(unit.lower())


def _close(x: float, y: float, relative: float) -> bool:
    return abs(x - y) <= max(relative, 1e-9) * max(abs(x), abs(y))


def _parts(version: str) -> tuple[str, ...]:
    parts = re.findall(r"\d+|x|[-+][\w.]+", version.lower().lstrip("v. "))
    while len(parts) > 1 and parts[-1] == "0":
        parts.pop()
    return tuple(parts)


def _same_date(a: Quantity, b: Quantity) -> bool:
    if a.kind != b.kind:
        year, date = (a, b) if b.kind == "date" else (b, a)
        return year.unit is None and year.value == date.value // 10000 > 0
    parts = [(int(q.value) // 10000, int(q.value) // 100 % 100, int(q.value) % 100) for q in (a, b)]
    return all(x == y or 0 in (x, y) for x, y in zip(*parts, strict=True))
