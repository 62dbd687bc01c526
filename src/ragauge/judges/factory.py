"""A judge from its name or its settings: `embedded`, `openai:NAME`, `azure:DEPLOYMENT`, `anthropic:NAME`,
`compatible:NAME@http://host:port/v1`, `python:module:function`, `crossencoder:NAME_OR_FOLDER`, or a list: a jury.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragauge.core.judge import Judge
from ragauge.core.provider import Provider, Sampling
from ragauge.errors import SettingsError, UnknownName
from ragauge.judges.dry_run import DryProvider, Forecast
from ragauge.judges.endpoints import Environment, base_provider, endpoint_of
from ragauge.judges.judge_settings import JudgeSettings, read_settings
from ragauge.judges.jury import Jury, repeated
from ragauge.judges.llm.exchange import Tally
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.shared import Shared
from ragauge.judges.wrappers.budgeted import Budget, Budgeted
from ragauge.judges.wrappers.cached import Cached
from ragauge.judges.wrappers.limited import Limited, Limiter, Limits
from ragauge.judges.wrappers.priced import Priced, price_of
from ragauge.judges.wrappers.retried import Retried, Retries
from ragauge.judges.wrappers.timed import Timed
from ragauge.prompts.loader import check_folder
from ragauge.store.cache import ReplyCache, open_cache

KINDS = ("embedded", "openai", "azure", "anthropic", "compatible", "python", "crossencoder")

Spec = str | Mapping[str, Any] | Sequence[Any]


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What the judges of a run have in common. `forecast` given: nothing is sent, it is only added up."""

    cache: ReplyCache | None = None
    seed: int = 0
    budget: Budget | None = None
    prices: Mapping[str, Any] | None = None
    prompts: Path | None = None
    forecast: Forecast | None = None
    environment: Environment | None = None


def make_judge(
    spec: Spec,
    *,
    cache: str | Path | ReplyCache | None = None,
    seed: int = 0,
    budget: Budget | None = None,
    prices: Mapping[str, Any] | None = None,
    prompts: str | Path | None = None,
    forecast: Forecast | None = None,
    environment: Environment | None = None,
) -> Judge:
    """The judge that `spec` describes: a name, a mapping `{name: …, temperature: …}`, or a list (a jury).

    `cache`: where replies are kept (a file, a database URL, or an open cache); None keeps none. `prompts`: the folder
    of the project's own prompts. `forecast`: a dry run, nothing is sent. `environment` replaces the process's own
    variables, which hold the keys. Raises `UsageError` for what cannot be, a missing key included.
    """
    if prompts is not None:
        check_folder(prompts)
    opened = open_cache(cache) if isinstance(cache, str | Path) else cache
    around = Surroundings(
        opened, seed, budget, prices, None if prompts is None else Path(prompts), forecast, environment
    )
    return _made(spec, around)


def judge_from_settings(spec: Spec, replies: Path, *, seed: int = 0, base: Path | None = None) -> Judge:
    """The judge that `judge:` in a settings file describes.

    Beside what `make_judge` reads, a mapping may hold `cache` (a file, a database URL, or false for none; the default
    is the file `replies`) and `budget` (`{calls: …, tokens: …, usd: …}`). Relative paths start at `base`.
    """
    given = dict(spec) if isinstance(spec, Mapping) else {}
    where, limits = given.pop("cache", True), given.pop("budget", None)
    if where is False or str(given.get("name", spec)) == "embedded":
        cache: str | Path | None = None
    elif where is True or where is None:
        cache = replies
    elif isinstance(where, str):
        cache = where if "://" in where else (base or Path()) / where
    else:
        raise SettingsError(f"judge: cache is a file, a database URL or false, not {where!r}")
    if base is not None and isinstance(given.get("prompts"), str):
        given["prompts"] = str(base / given["prompts"])
    return make_judge(given if isinstance(spec, Mapping) else spec, cache=cache, seed=seed, budget=_budget(limits))


def _budget(limits: Any) -> Budget | None:
    if limits is None:
        return None
    known = {"calls": "max_calls", "tokens": "max_tokens", "usd": "max_usd"}
    numbers = isinstance(limits, Mapping) and all(
        name in known and isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        for name, value in limits.items()
    )
    if not numbers or not limits:
        raise SettingsError(f"judge: budget is {{calls, tokens, usd}}, each more than 0; found {limits!r}"[:300])
    return Budget(**{known[name]: value for name, value in limits.items()})


def _made(spec: Spec, around: Surroundings) -> Judge:
    if isinstance(spec, str):
        spec = {"name": spec}
    if not isinstance(spec, Mapping):
        spec = {"jury": list(spec)}
    if "jury" in spec:
        return _jury(spec, around)
    settings = read_settings(spec)
    kind = settings.kind
    if kind not in KINDS:
        raise UnknownName("judge", settings.name, KINDS)
    if kind == "embedded":
        return _embedded()
    if kind == "crossencoder":
        return _crossencoder(settings)
    judge: Judge = _llm(settings, around)
    if settings.repeats > 1:
        judge = repeated(judge, settings.repeats, settings.rule)
    return Shared(judge)


def _jury(spec: Mapping[str, Any], around: Surroundings) -> Judge:
    unknown = set(spec) - {"jury", "rule"}
    rule = spec.get("rule", "majority")
    if unknown or rule not in ("majority", "mean"):
        raise SettingsError(
            f"a jury is given as {{jury: [judges], rule: majority or mean}}, not with {sorted(map(str, spec))}"
        )
    if not isinstance(spec["jury"], Sequence) or isinstance(spec["jury"], str):
        raise SettingsError("`jury` is a list of two to five judges")
    judges = [_made(one, around) for one in spec["jury"]]
    return Shared(Jury(tuple(j.inner if isinstance(j, Shared) else j for j in judges), rule))


def _embedded() -> Judge:
    from ragauge.judges.embedded.judge import EmbeddedJudge

    judge: Judge = EmbeddedJudge()
    return judge


def _crossencoder(settings: JudgeSettings) -> Judge:
    from ragauge.judges.crossencoder import CrossEncoderJudge
    from ragauge.judges.crossencoder_models import load_scorer

    scorer = load_scorer(settings.model, download=settings.download)
    return Shared(CrossEncoderJudge(scorer, _embedded(), settings.threshold))


def _llm(settings: JudgeSettings, around: Surroundings) -> LLMJudge:
    prompts = around.prompts if settings.prompts is None else Path(settings.prompts)
    if settings.prompts is not None:
        check_folder(settings.prompts)
    sampling = Sampling(settings.temperature, settings.top_p, settings.seed, settings.max_tokens)
    return LLMJudge(
        provider=provider_stack(settings, around), prompts=prompts, sampling=sampling, per_chunk=settings.per_chunk,
        max_reasks=settings.max_reasks, seed=around.seed, embedder=settings.embedder, tally=Tally(),
    )  # fmt: skip


def provider_stack(settings: JudgeSettings, around: Surroundings) -> Provider:
    """A model's API with everything around it, from the outside in: cache, retries, budget, limits, time-out, price.

    Retries stand outside budget and limits, so that every attempt is counted and waits its turn. The time-out stands
    inside the limits, so that waiting for a turn does not count.
    """
    endpoint = endpoint_of(settings, around.environment)
    own = {**(around.prices or {}), **(settings.prices or {})}
    price = price_of(endpoint, own)
    if around.forecast is not None:
        if price is not None and around.forecast.usd is None:
            around.forecast.usd = 0.0
        return DryProvider(endpoint, price, around.cache, around.forecast)
    stack: Provider = base_provider(settings, endpoint, around.environment)
    stack = Priced(stack, price)
    stack = Timed(stack, settings.timeout_s)
    limits = Limits(settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute)
    stack = Limited(stack, Limiter(limits))
    if around.budget is not None:
        stack = Budgeted(stack, around.budget, price)
    stack = Retried(stack, Retries(tries=settings.tries), around.seed)
    return stack if around.cache is None else Cached(stack, around.cache)


def openai(settings: Mapping[str, Any]) -> Judge:
    """Entry point: a judge from OpenAI."""
    return _of_kind("openai", settings)


def azure(settings: Mapping[str, Any]) -> Judge:
    """Entry point: a judge from Azure OpenAI."""
    return _of_kind("azure", settings)


def anthropic(settings: Mapping[str, Any]) -> Judge:
    """Entry point: a judge from Anthropic."""
    return _of_kind("anthropic", settings)


def compatible(settings: Mapping[str, Any]) -> Judge:
    """Entry point: a judge behind any OpenAI-compatible API."""
    return _of_kind("compatible", settings)


def python(settings: Mapping[str, Any]) -> Judge:
    """Entry point: a judge that is a Python function."""
    return _of_kind("python", settings)


def crossencoder(settings: Mapping[str, Any]) -> Judge:
    """Entry point: a local cross-encoder."""
    return _of_kind("crossencoder", settings)


def jury(settings: Mapping[str, Any]) -> Judge:
    """Entry point: several judges."""
    return make_judge(settings)


def _of_kind(kind: str, settings: Mapping[str, Any]) -> Judge:
    name = str(settings.get("name", ""))
    return make_judge({**settings, "name": name if name.startswith(f"{kind}:") else f"{kind}:{name}"})
