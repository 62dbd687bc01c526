"""The section `monitor:` of ragauge.yaml. An unknown key is an error that names the nearest known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragauge.errors import SettingsError, nearest


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(_Section):
    """The HTTP endpoint. `token` may be `${NAME}`; what is larger than the limits is refused with 413."""

    host: str = "127.0.0.1"
    port: int = Field(default=8518, ge=0, le=65535)
    token: str | None = None
    max_body_mb: float = Field(default=8.0, gt=0, le=1024)
    max_batch: int = Field(default=1_000, ge=1, le=100_000)
    max_record_kb: float = Field(default=1_024, gt=0, le=32_768)
    compact_minutes: float = Field(default=60.0, gt=0)
    max_age_days: int = Field(default=400, ge=1)


class SampleSettings(_Section):
    """How many answers of a day are judged: `n`, or a `share` of them."""

    n: int = Field(default=200, ge=1)
    share: float | None = Field(default=None, gt=0, le=1)
    seed: int = 0


class LogSettings(_Section):
    """What `ragauge monitor serve`, `ingest`, `compact` and `prune` read. The rest is for samples, reports and alerts.

    `keep_days` None: days are kept until somebody deletes them. `redact` as in `monitor.redact.redactor`.
    """

    log: str = "production"
    keep_days: int | None = Field(default=None, ge=1)
    redact: Any = None
    server: ServerSettings = ServerSettings()
    project: str | None = None
    slow_ms: float = Field(default=500.0, gt=0)
    state: str | None = None
    alerts: Any = None
    sample: SampleSettings | None = None
    name: str | None = None
    metrics: tuple[str | dict[str, Any], ...] | None = None
    embedder: str | None = None
    golden: str | None = None
    link: str | None = None


def log_settings(section: Mapping[str, Any]) -> LogSettings:
    """The section, checked. Raises `SettingsError`."""
    try:
        return LogSettings.model_validate(dict(section))
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in ("monitor", *problem["loc"]))
        if problem["type"] == "extra_forbidden":
            kinds: dict[object, type[_Section]] = {"server": ServerSettings, "sample": SampleSettings}
            known = list(kinds.get(problem["loc"][0] if len(problem["loc"]) > 1 else "", LogSettings).model_fields)
            near = nearest(str(problem["loc"][-1]), known)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
            raise SettingsError(f"unknown setting {where!r}", hint=hint) from None
        found = "" if "token" in problem["loc"] else f" (found {problem['input']!r})"
        raise SettingsError(f"setting {where!r}: {problem['msg']}{found}") from None
