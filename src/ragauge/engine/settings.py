"""`ragauge.yaml`: flags over file over defaults; an unknown key is an error that names the nearest known one.

Environment variables come in only as `${NAME}` inside strings, for secrets; they are filled in where they are used and
never written into manifests or logs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ragauge.errors import InputError, SettingsError, nearest
from ragauge.systems.variables import fill_variables as fill_variables


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunSettings(_Section):
    """How a run is carried out."""

    name: str = "run"
    out: str = "runs"
    concurrency: int = Field(default=8, ge=1, le=4096)
    timeout_s: float | None = Field(default=None, gt=0)
    seed: int = 0
    repeats: int = Field(default=1, ge=1, le=1000)
    limit: int | None = Field(default=None, ge=1)
    tags: tuple[str, ...] = ()
    #: Where rows are made: `local`, `ray` (on this machine), `ray://auto` or `ray://host:port` (a cluster).
    executor: str = "local"
    #: Processes on Ray; None: as many as fit the work and the cluster.
    workers: int | None = Field(default=None, ge=1, le=4096)

    @field_validator("executor")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ("local", "ray") and not re.fullmatch(r"ray://[^/\s]+/?", value):
            raise ValueError("it is local, ray, ray://auto or ray://HOST:PORT")
        return value


class Settings(_Section):
    """All of `ragauge.yaml`. Relative paths are relative to the file's folder (`base`)."""

    golden: str | None = None
    corpus: str | None = None
    system: str | dict[str, Any] = "reference"
    judge: str | dict[str, Any] | list[Any] | None = "embedded"
    metrics: list[str | dict[str, dict[str, Any]]] | None = None
    thresholds: dict[str, Any] = Field(default_factory=dict)
    profile: Literal["general", "code"] = "general"
    run: RunSettings = RunSettings()
    gate: dict[str, Any] = Field(default_factory=dict)
    sweep: dict[str, Any] = Field(default_factory=dict)
    tracking: dict[str, Any] = Field(default_factory=dict)
    alerts: dict[str, Any] = Field(default_factory=dict)
    monitor: dict[str, Any] = Field(default_factory=dict)
    base: Path = Field(default=Path(), exclude=True)

    def path(self, value: str) -> Path:
        """A path of the settings file, as this process can open it."""
        return self.base / value

    def system_kind(self) -> tuple[str, dict[str, Any]]:
        """`system: reference`, or `system: {reference: {k: 5}}` → ("reference", {"k": 5})."""
        if isinstance(self.system, str):
            return self.system, {}
        if len(self.system) != 1:
            raise SettingsError(
                f"system: name exactly one kind, found {sorted(self.system)}", hint="system: {reference: {k: 5}}"
            )
        kind, values = next(iter(self.system.items()))
        if values is not None and not isinstance(values, Mapping):
            raise SettingsError(f"system.{kind}: settings must be a mapping, found {values!r}")
        return kind, dict(values or {})


def load_settings(path: Path | None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a file (None: the defaults) with `overrides` (dotted keys) laid over them.

    Raises `InputError` for a file that is no YAML mapping, `SettingsError` for a key or value that cannot be.
    """
    data = read_mapping(path) if path is not None else {}
    for key, value in (overrides or {}).items():
        set_dotted(data, key, value)
    data.pop("base", None)
    try:
        return Settings(**data, base=path.resolve().parent if path is not None else Path())
    except ValidationError as error:
        raise _explained(error, path) from None


def set_dotted(data: dict[str, Any], key: str, value: Any) -> None:
    """`set_dotted(data, "run.seed", 3)`: make the mappings on the way."""
    *parents, last = key.split(".")
    for parent in parents:
        below = data.get(parent)
        if isinstance(below, str) and parent == "system":  # `system: reference` is short for `{reference: {}}`
            below = {below: {}}
        if not isinstance(below, dict):
            below = {}
        data[parent] = below
        data = below
    data[last] = value


def read_mapping(path: Path) -> dict[str, Any]:
    """A YAML file that is a mapping. Raises `InputError` for anything else."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError("no such settings file", file=str(path), hint="Make one with `ragauge init`.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as text: {error}", file=str(path)) from None
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise InputError(f"no valid YAML: {problem}", file=str(path), line=mark.line + 1 if mark else None) from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InputError("settings must be a mapping", file=str(path), found=type(data).__name__)
    return {str(key): value for key, value in data.items()}


def _explained(error: ValidationError, path: Path | None) -> SettingsError:
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    file = f"{path}: " if path else ""
    if problem["type"] == "extra_forbidden":
        *parents, last = (str(part) for part in problem["loc"])
        known = list((RunSettings if parents == ["run"] else Settings).model_fields)
        known = [name for name in known if name != "base"]
        near = nearest(last, known)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
        return SettingsError(f"{file}unknown setting {where!r}", hint=hint)
    message = problem["msg"].removeprefix("Value error, ")
    return SettingsError(f"{file}setting {where!r}: {message} (found {problem['input']!r})")
