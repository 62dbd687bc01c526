"""The settings of one judge, checked: unknown keys are errors with the nearest known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from ragauge.core.model import Model
from ragauge.errors import SettingsError, UnknownName, nearest

#: The packaged judge: by words alone, and with the packaged encoder beside it. Neither asks anybody.
EMBEDDED, ENCODER = "embedded", "embedded:encoder"


class JudgeSettings(Model):
    """`name` as in `openai:gpt-4o-mini`; the rest has defaults. None leaves a sampling setting to the endpoint."""

    name: str = Field(min_length=1)
    base_url: str | None = None
    api_key_env: str | None = None
    api_version: str | None = None
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = None
    max_tokens: int = Field(default=2000, ge=64)
    reasoning_effort: str | None = None
    mode: Literal["json_schema", "json_object", "tool", "prompt"] | None = None
    client: Literal["sdk", "raw"] = "sdk"
    timeout_s: float = Field(default=60.0, gt=0)
    tries: int = Field(default=6, ge=1, le=20)
    concurrency: int = Field(default=16, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    max_reasks: int = Field(default=2, ge=0, le=10)
    per_chunk: bool = False
    prompts: str | None = None
    embedder: str = "minilm"
    prices: dict[str, Any] | None = None
    repeats: int = Field(default=1, ge=1, le=5)
    rule: Literal["majority", "mean"] = "majority"
    threshold: float = Field(default=0.5, gt=0, le=1)
    download: bool = False

    @property
    def kind(self) -> str:
        """What stands before the first colon: `openai`."""
        return self.name.partition(":")[0]

    @property
    def model(self) -> str:
        """What stands after it: the model, deployment, folder or function."""
        return self.name.partition(":")[2]


def read_settings(given: Mapping[str, Any]) -> JudgeSettings:
    """The settings, or `SettingsError` naming the key, what was found and what would do."""
    known = list(JudgeSettings.model_fields)
    if "model" in given and "name" not in given:
        given = {"name" if key == "model" else key: value for key, value in given.items()}
    for key in given:
        if key not in known:
            near = nearest(str(key), [*known, "model", "cache", "budget", "jury"])
            hint = f"Did you mean {', '.join(map(repr, near))}?" if near else f"Known: {', '.join(known)}."
            raise SettingsError(f"judge: unknown key {str(key)!r}", hint=hint)
    try:
        settings = JudgeSettings.model_validate(dict(given))
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "judge"
        raise SettingsError(f"judge: {key}: {first['msg']} (found {first['input']!r})"[:400]) from None
    if settings.kind == EMBEDDED and settings.name not in (EMBEDDED, ENCODER):
        raise UnknownName("judge", settings.name, (EMBEDDED, ENCODER))
    if settings.kind != EMBEDDED and not settings.model:
        raise SettingsError(
            f"judge: {settings.name!r} does not say which model",
            hint="Write openai:NAME, azure:DEPLOYMENT, anthropic:NAME, compatible:NAME@URL or python:module:function.",
        )
    return settings
