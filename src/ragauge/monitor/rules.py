"""Alert rules: what to watch, and the guards that keep an ordinary day from ringing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from ragauge.core.model import Model
from ragauge.errors import InputError, SettingsError, nearest

Direction = Literal["up", "down"]


class _Rule(Model):
    """`min_n`: a day with fewer is left out. `severity`: what a channel may filter by."""

    name: str = Field(min_length=1, max_length=80)
    series: str
    min_n: int = Field(default=50, ge=1)
    severity: Literal["page", "warn"] = "warn"
    enabled: bool = True


class Shift(_Rule):
    """A lasting move away from the reference period: a one-sided CUSUM on days, k and h in standard deviations.

    Alarms only when the days since the move began also differ by `min_effect` (`relative`: a share of the level).
    The reference is the `reference_days` before the `window` that is tested; weekdays and ordinary variation between
    days are taken out.
    """

    kind: Literal["shift"] = "shift"
    direction: Direction
    min_effect: float = Field(gt=0)
    relative: bool = False
    k: float = Field(default=0.5, gt=0)
    h: float = Field(default=7.0, gt=0)
    reference_days: int = Field(default=56, ge=7)
    min_reference_days: int = Field(default=14, ge=7)
    window: int = Field(default=14, ge=1)


class Spike(_Rule):
    """Today's count of something rare is out of the ordinary: beta-binomial tail below `alpha`, and `min_effect` above
    the reference rate.
    """

    kind: Literal["spike"] = "spike"
    direction: Literal["up"] = "up"
    alpha: float = Field(default=0.0005, gt=0, lt=0.5)
    min_effect: float = Field(default=0.03, ge=0)
    reference_days: int = Field(default=28, ge=7)
    min_reference_days: int = Field(default=7, ge=3)


class Limit(_Rule):
    """A figure is beyond a fixed limit, surely: the last `window` days together at confidence `1 − alpha`, and the
    newest of them by itself. `limit` None: the threshold of the metric.
    """

    kind: Literal["limit"] = "limit"
    direction: Direction
    limit: float | None = None
    alpha: float = Field(default=0.0005, gt=0, lt=0.5)
    window: int = Field(default=3, ge=1)


class Mix(_Rule):
    """Users ask about other things: the topics of the last `window` days against the reference, chi-square scaled by
    how much days ordinarily differ, and at least `min_effect` of the questions moved (total variation).
    """

    kind: Literal["mix"] = "mix"
    series: str = "topics"
    direction: Literal["up"] = "up"
    alpha: float = Field(default=0.0001, gt=0, lt=0.5)
    min_effect: float = Field(default=0.1, ge=0, le=1)
    window: int = Field(default=7, ge=1)
    reference_days: int = Field(default=28, ge=7)
    min_reference_days: int = Field(default=14, ge=7)


class Naive(_Rule):
    """What people write first: today against yesterday, or against the reference mean, by a bare factor or amount.

    Offered for comparison; its false-alarm rate on this log's own figures is printed beside it.
    """

    kind: Literal["naive"] = "naive"
    direction: Direction
    against: Literal["yesterday", "reference"] = "yesterday"
    change: float = Field(gt=0)
    relative: bool = True
    reference_days: int = Field(default=28, ge=7)
    min_reference_days: int = Field(default=7, ge=3)


Rule = Annotated[Shift | Spike | Limit | Mix | Naive, Field(discriminator="kind")]
_RULES: TypeAdapter[list[Rule]] = TypeAdapter(list[Rule])

#: `series: "*"` in a rule: every judged metric, or those of this list that are judged.
JUDGED = ("faithfulness", "context_sufficiency", "coverage", "answer_relevance", "context_utilisation",
          "citation_accuracy")  # fmt: skip

DEFAULTS: tuple[Rule, ...] = (
    Shift(name="top_similarity_drop", series="top_similarity", direction="down", min_effect=0.05, relative=True,
          severity="page"),
    Spike(name="zero_result_spike", series="zero_results", severity="page"),
    Limit(name="zero_results_high", series="zero_results", direction="up", limit=0.05),
    Limit(name="slow_p95", series="slow", direction="up", limit=0.05, severity="page"),
    Shift(name="score_drop", series="*", direction="down", min_effect=0.03, min_n=30, severity="page"),
    Limit(name="score_below_threshold", series="*", direction="down", window=7, min_n=30),
    Shift(name="abstention_rise", series="abstention", direction="up", min_effect=0.03),
    Shift(name="thumbs_down_rise", series="thumbs_down", direction="up", min_effect=0.03, min_n=20),
    Shift(name="question_drift_rise", series="question_drift", direction="up", min_effect=0.05),
    Mix(name="topic_mix_change"),
)  # fmt: skip

NAIVE: tuple[Naive, ...] = (
    Naive(name="below_90_percent_of_yesterday", series="*", direction="down", change=0.10, min_n=1, enabled=False),
    Naive(name="three_points_below_yesterday", series="*", direction="down", change=0.03, relative=False, min_n=1,
          enabled=False),
    Naive(name="below_90_percent_of_reference", series="*", direction="down", change=0.10, against="reference",
          min_n=1, enabled=False),
)  # fmt: skip


def read_rules(data: Any, where: str = "monitor.alerts") -> tuple[Rule, ...]:
    """Rules of a settings file: a list that stands for itself, or `{defaults: true, rules: […], disable: […]}`.

    In the mapping, a rule with a default's name replaces it. Raises `SettingsError` with the place and what is known.
    """
    if data in (None, {}):
        return DEFAULTS
    base: Sequence[Rule] = ()
    if isinstance(data, dict):
        unknown = set(data) - {"defaults", "rules", "disable"}
        if unknown:
            raise SettingsError(
                f"{where}: unknown setting {sorted(unknown)[0]!r}", hint="Known: defaults, rules, disable."
            )
        base = DEFAULTS if data.get("defaults", True) else ()
        given, disabled = data.get("rules") or [], list(data.get("disable") or [])
    else:
        given, disabled = data, []
    if not isinstance(given, list):
        raise SettingsError(f"{where}: rules are a list, found {type(given).__name__}")
    rules = {rule.name: rule for rule in base}
    for rule in _validated(given, where):
        rules[rule.name] = rule
    for name in disabled:
        if name not in rules:
            near = nearest(str(name), list(rules))
            raise SettingsError(
                f"{where}.disable: there is no rule {name!r}", hint=f"Did you mean {near[0]!r}?" if near else ""
            )
        rules[name] = rules[name].model_copy(update={"enabled": False})
    return tuple(rules.values())


def _validated(given: list[Any], where: str) -> list[Rule]:
    try:
        rules = _RULES.validate_python(given)
    except ValidationError as error:
        problem = error.errors()[0]
        place = problem["loc"]
        name = (
            next((r.get("name") for r in given[place[0] : place[0] + 1] if isinstance(r, dict)), None)
            if place and isinstance(place[0], int)
            else None
        )
        at = ".".join(str(part) for part in place)
        raise SettingsError(
            f"{where}: rule {name!r}: {at}: {problem['msg']}" if name else f"{where}: {at}: {problem['msg']}",
            hint="`ragauge monitor rules` prints the defaults, with every setting.",
        ) from None
    names = [rule.name for rule in rules]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"{where}: two rules are called {twice!r}")
    return rules


def load_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of a YAML file."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError("no such file of rules", file=str(path)) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"cannot be read as YAML: {error}", file=str(path)) from None
    return read_rules(data, str(path))


def as_yaml(rules: Sequence[Rule]) -> str:
    """Rules as they may stand in a file, every setting written out."""
    data = [{"name": rule.name, "kind": rule.kind, **rule.model_dump(exclude={"name", "kind"})} for rule in rules]
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
