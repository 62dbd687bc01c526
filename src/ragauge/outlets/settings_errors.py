"""What is wrong with a section of the settings, without repeating what was found: it may be a secret."""

from __future__ import annotations

from pydantic import ValidationError

from ragauge.core.model import Model
from ragauge.errors import SettingsError, nearest


def explained(error: ValidationError, section: str, outer: type[Model], inner: type[Model]) -> SettingsError:
    """The first problem in words; for an unknown key the nearest one of `outer`, or of `inner` further down."""
    problem = error.errors()[0]
    path = [str(part) for part in problem["loc"]]
    where = ".".join([section, *path])
    if problem["type"] != "extra_forbidden":
        return SettingsError(f"{where}: {problem['msg'].removeprefix('Value error, ')}")
    known = list((inner if len(path) > 1 else outer).model_fields)
    near = nearest(path[-1], known)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
    return SettingsError(f"unknown setting {where}", hint=hint)
