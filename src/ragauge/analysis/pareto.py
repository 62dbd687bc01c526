"""Which choices are worth considering when several things count: those that no other one beats in all of them."""

from __future__ import annotations

from collections.abc import Mapping


def front(points: Mapping[str, tuple[float, ...]]) -> set[str]:
    """The names whose points are not dominated; larger is better in every dimension.

    One point dominates another when it is nowhere worse and somewhere better; equal points stay together.

    >>> sorted(front({"a": (0.9, -100.0), "b": (0.8, -50.0), "c": (0.8, -60.0)}))
    ['a', 'b']
    """
    return {
        name
        for name, point in points.items()
        if not any(_dominates(other, point) for other_name, other in points.items() if other_name != name)
    }


def _dominates(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(x > y for x, y in zip(a, b, strict=True))
