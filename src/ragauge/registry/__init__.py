"""Name → object, by entry point: the built-ins come through the same door as anybody's plug-in.

Groups: `ragauge.metrics` (classes), `ragauge.judges` (classes or factories), `ragauge.systems` (build functions).
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from ragauge.errors import SettingsError, UnknownName

Group = Literal["metrics", "judges", "systems"]


@cache
def _entries(group: Group) -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"ragauge.{group}"):
        known = found.get(entry.name)
        # An editable install may list the same distribution twice; two different objects under one name may not.
        if known is not None and known.value != entry.value:
            raise SettingsError(
                f"two installed packages offer a {group[:-1]} named {entry.name!r}: {known.value} and {entry.value}",
                hint="Uninstall one of them.",
            )
        found[entry.name] = entry
    return found


def names(group: Group) -> list[str]:
    """Every name in the group, sorted."""
    return sorted(_entries(group))


def load(group: Group, name: str) -> Any:
    """What stands behind `name`. Raises `UnknownName` with the nearest names."""
    entries = _entries(group)
    if name not in entries:
        raise UnknownName(group[:-1], name, entries)
    return entries[name].load()
