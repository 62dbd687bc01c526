"""Reading the settings of one kind of system into a model, with messages that name what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ragauge.errors import SettingsError, nearest, shortened

S = TypeVar("S", bound="OwnSettings")


class OwnSettings(BaseModel):
    """Settings of one kind of system: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def read_own(model: type[S], kind: str, settings: Mapping[str, Any], *, hint: str = "") -> S:
    """`settings` as a model. `SettingsError` names the setting, what was found, and the nearest known one.

    `hint` is what to write when a needed setting is missing.
    """
    try:
        return model.model_validate(dict(settings))
    except ValidationError as error:
        problem = error.errors()[0]
        path = [str(part) for part in problem["loc"]]
        where = ".".join([f"system.{kind}", *path])
        if problem["type"] == "extra_forbidden":
            known = _known(model, path[:-1])
            near = nearest(path[-1], known)
            told = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
            raise SettingsError(f"unknown setting {where!r}", hint=told) from None
        if problem["type"] == "missing":
            raise SettingsError(f"system.{kind} needs `{'.'.join(path)}`", hint=hint) from None
        raise SettingsError(f"{where}: {problem['msg']} (found {shortened(problem['input'])})", hint=hint) from None


def _known(model: type[BaseModel], path: list[str]) -> list[str]:
    """The settings that stand at `path` inside of a model."""
    for part in path:
        field = next((one for name, one in model.model_fields.items() if part in (name, one.alias)), None)
        inner = getattr(field, "annotation", None)
        inner = next((one for one in getattr(inner, "__args__", (inner,)) if hasattr(one, "model_fields")), None)
        if inner is None:
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]
