"""What all models of a run have in common: where replies are kept, the budget, prices, prompts, limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragauge.core.provider import Endpoint
from ragauge.errors import InputError, SettingsError, nearest
from ragauge.judges.dry_run import Forecast
from ragauge.judges.endpoints import Environment
from ragauge.judges.judge_settings import EMBEDDED
from ragauge.judges.wrappers.budgeted import Budget, Purse
from ragauge.judges.wrappers.limited import Limiter, Limits, Turns
from ragauge.prompts.loader import check_folder
from ragauge.store.cache import ReplyCache, open_cache

Spec = str | Mapping[str, Any] | Sequence[Any]

#: Keys of `judge:` that hold for all models of a run, the system's own too.
SHARED = ("cache", "budget", "prices", "prompts")
_BUDGET = {"calls": "max_calls", "tokens": "max_tokens", "usd": "max_usd"}


@dataclass(frozen=True)
class Surroundings:
    """`forecast` given: nothing is sent, it is only added up; `keeps`: whether replies would be stored then.

    `limiters`: one for each endpoint and its limits; `new_limiter` makes them.
    """

    cache: ReplyCache | None = None
    seed: int = 0
    budget: Purse | None = None
    prices: Mapping[str, Any] | None = None
    prompts: Path | None = None
    forecast: Forecast | None = None
    environment: Environment | None = None
    keeps: bool = True
    limiters: dict[tuple[Endpoint, Limits], Turns] = field(default_factory=dict, compare=False, repr=False)
    new_limiter: Callable[[Endpoint, Limits], Turns] = field(
        default=lambda _, limits: Limiter(limits), compare=False, repr=False
    )

    def limiter(self, endpoint: Endpoint, limits: Limits) -> Turns:
        """The one that everybody who asks this endpoint waits at."""
        if (endpoint, limits) not in self.limiters:
            self.limiters[endpoint, limits] = self.new_limiter(endpoint, limits)
        return self.limiters[endpoint, limits]


def split_spec(spec: Any) -> tuple[Any, dict[str, Any]]:
    """A judge's settings as (who judges, what is shared). Who judges is None, a name, a mapping or a list (a jury).

    >>> split_spec({"model": "openai:m", "cache": False})
    ({'name': 'openai:m'}, {'cache': False})
    >>> split_spec("openai:a, anthropic:b")
    (['openai:a', 'anthropic:b'], {})
    """
    if not isinstance(spec, Mapping):
        return _who(spec), {}
    given = {str(key): value for key, value in spec.items()}
    shared = {name: given.pop(name) for name in SHARED if name in given}
    if "model" in given:
        if "name" in given:
            raise SettingsError("judge: `model` and `name` mean the same: give one of them")
        given["name"] = given.pop("model")
    if "jury" in given:
        return given, shared
    who = _who(given.pop("name", "embedded"))
    if isinstance(who, list):
        return {"jury": who, **given}, shared
    return (None if who is None and not given else {"name": who or "none", **given}), shared


def join_spec(who: Any, shared: Mapping[str, Any]) -> Any:
    """A judge's settings from the two parts that `split_spec` makes.

    >>> join_spec("openai:m", {"cache": False})
    {'name': 'openai:m', 'cache': False}
    """
    if not shared:
        return who
    if isinstance(who, Mapping):
        return {**who, **shared}
    return {"jury" if isinstance(who, list) else "name": who if who is not None else "none", **shared}


def _who(spec: Any) -> Any:
    if spec in (None, "none", "None"):
        return None
    if isinstance(spec, str) and "," in spec:
        names = [name.strip() for name in spec.split(",")]
        if all(":" in name or name == EMBEDDED for name in names):  # else it is one name that holds a comma
            return names
    return list(spec) if isinstance(spec, Sequence) and not isinstance(spec, str) else spec


def surroundings(
    shared: Mapping[str, Any], replies: Path, *, seed: int = 0, base: Path | None = None, dry: bool = False
) -> Surroundings:
    """From the shared keys of `judge:`; relative paths start at `base`.

    `cache`: a file, a database URL, or false for none; the default is the file `replies`. `budget`: `{calls, tokens,
    usd}`. `prices`: a table or the file of one. `prompts`: a folder. `dry`: nothing is sent and no file is made.
    """
    root = base or Path()
    where = shared.get("cache", True)
    if where is True or where is None:
        where = replies
    elif isinstance(where, str) and "://" not in where:
        where = root / where
    elif where is not False and not isinstance(where, str):
        raise SettingsError(f"judge: cache is a file, a database URL or false, not {where!r}")
    missing = dry and isinstance(where, Path) and not where.exists()
    cache = None if where is False or missing else open_cache(where)
    prompts = shared.get("prompts")
    if prompts is not None:
        prompts = root / str(prompts)
        check_folder(prompts)
    return Surroundings(
        cache=cache,
        seed=seed,
        budget=None if dry else read_budget(shared.get("budget")),
        prices=read_prices(shared.get("prices"), root),
        prompts=prompts,
        forecast=Forecast() if dry else None,
        keeps=where is not False,
    )


def read_budget(limits: Any) -> Budget | None:
    """A budget from `{calls, tokens, usd}`."""
    if limits is None:
        return None
    if isinstance(limits, Mapping):
        for name in limits:
            if name not in _BUDGET:
                near = nearest(str(name), list(_BUDGET))
                hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(_BUDGET)}."
                raise SettingsError(f"judge: budget has no {str(name)!r}", hint=hint)
    numbers = isinstance(limits, Mapping) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and value > 0 for value in limits.values()
    )
    if not numbers or not limits:
        raise SettingsError(f"judge: budget is {{calls, tokens, usd}}, each more than 0; found {limits!r}"[:300])
    return Budget(**{_BUDGET[name]: value for name, value in limits.items()})


def read_prices(given: Any, base: Path) -> Mapping[str, Any] | None:
    """A table of prices, or the YAML or JSON file that holds one."""
    if given is None or isinstance(given, Mapping):
        return given
    if not isinstance(given, str):
        raise SettingsError(f"judge: prices is a table or a file, not {given!r}"[:300])
    import yaml

    file = base / given
    try:
        table = yaml.safe_load(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError("no such file of prices", file=str(file)) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise InputError(f"the prices cannot be read: {problem}"[:300], file=str(file)) from None
    if not isinstance(table, dict):
        accepted = "{'openai:gpt-4o': {input: 2.5, output: 10}}: US dollars for a million tokens"
        raise InputError("prices must be a mapping", file=str(file), found=type(table).__name__, accepted=accepted)
    return table
