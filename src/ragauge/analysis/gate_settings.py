"""What a gate is told: the `gate` section of `ragauge.yaml`, flags over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator

from ragauge.core.metric import names_of
from ragauge.core.model import Model
from ragauge.errors import SettingsError, nearest


class DropSettings(Model):
    """How far a metric may fall below the baseline, as a share of its range.

    `rule: confidence` passes only what is shown to have fallen by less than `margin` (one-sided, `confidence`) and
    fails only what is significantly worse (family-wise `fail_alpha`) and fell by more; the rest is inconclusive.
    `rule: point` looks at the observed drop alone; its false-alarm rate is printed beside it.
    """

    rule: Literal["confidence", "point"] = "confidence"
    margin: float = Field(default=0.03, gt=0, lt=1)
    margins: dict[str, Annotated[float, Field(gt=0, lt=1)]] = Field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    fail_alpha: float = Field(default=0.005, gt=0, lt=0.5)

    def margin_of(self, key: str) -> float:
        """The margin of one metric: its own, else that of a shorter name, else the common one."""
        return next((self.margins[name] for name in names_of(key) if name in self.margins), self.margin)


class PassRateSettings(Model):
    """How many questions must pass all of their own checks.

    `recall`, `faithfulness`: the least value (None: the run's threshold; a golden item's own faithfulness threshold
    always wins). `keywords`: all required strings must be there.
    """

    min: float = Field(default=0.9, ge=0, le=1)
    recall: float | None = Field(default=None, ge=0, le=1)
    faithfulness: float | None = Field(default=None, ge=0, le=1)
    keywords: bool = True
    recall_metric: str | None = None


class GateSettings(Model):
    """All rules of a gate. Nothing here is green by default: what cannot be judged is inconclusive."""

    baseline: str | None = None
    floors: dict[str, float] | Literal["thresholds"] = Field(default_factory=dict)
    floor_rule: Literal["point", "confidence"] = "point"
    drop: DropSettings = DropSettings()
    pass_rate: PassRateSettings | None = None
    max_error_share: float = Field(default=0.05, ge=0, le=1)
    max_cost_usd: float | None = Field(default=None, ge=0)
    max_cost_per_question_usd: float | None = Field(default=None, ge=0)
    max_latency_ms: dict[str, float] = Field(default_factory=dict)
    min_questions: int = Field(default=10, ge=1)
    min_shared: float = Field(default=0.8, ge=0, le=1)
    max_baseline_age_days: float | None = Field(default=None, gt=0)
    by_document: bool = False
    seed: int = 0

    @field_validator("pass_rate", mode="before")
    @classmethod
    def _a_number_is_the_rate(cls, value: Any) -> Any:
        return {"min": value} if isinstance(value, int | float) and not isinstance(value, bool) else value

    @field_validator("drop", mode="before")
    @classmethod
    def _a_number_is_the_margin(cls, value: Any) -> Any:
        return {"margin": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


def gate_settings(given: Mapping[str, Any] | None, flags: Mapping[str, Any] | None = None) -> GateSettings:
    """Flags over the file over the defaults; mappings are merged. Raises `SettingsError`."""
    data: dict[str, Any] = dict(given or {})
    for name, value in (flags or {}).items():
        below = data.get(name)
        if isinstance(value, Mapping) and isinstance(below, int | float) and name in ("drop", "pass_rate"):
            below = {"margin" if name == "drop" else "min": below}
        data[name] = {**below, **value} if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    try:
        return GateSettings.model_validate(data)
    except ValidationError as error:
        raise _explained(error) from None


def _explained(error: ValidationError) -> SettingsError:
    problem = error.errors()[0]
    path = [str(part) for part in problem["loc"]]
    where = ".".join(["gate", *path])
    if problem["type"] != "extra_forbidden":
        return SettingsError(f"{where}: {problem['msg']}", hint=f"found {problem['input']!r}")
    inner: dict[str, type[Model]] = {"drop": DropSettings, "pass_rate": PassRateSettings}
    known = list((inner.get(path[0], GateSettings) if len(path) > 1 else GateSettings).model_fields)
    near = nearest(path[-1], known)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
    return SettingsError(f"unknown setting {where}", hint=hint)
