"""A judge from its name or its settings: `embedded`, `embedded:encoder`, `openai:NAME`, `azure:DEPLOYMENT`,
`anthropic:NAME`, `compatible:NAME@http://host:port/v1`, `python:module:function`, `crossencoder:NAME_OR_FOLDER`, or a
list: a jury.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragauge.core.judge import Judge
from ragauge.core.provider import Provider, Sampling
from ragauge.errors import SettingsError, UnknownName, nearest
from ragauge.judges.dry_run import DryProvider, Forecast
from ragauge.judges.endpoints import Environment, base_provider, endpoint_of
from ragauge.judges.judge_settings import EMBEDDED, ENCODER, JudgeSettings, read_settings
from ragauge.judges.jury import Jury, repeated
from ragauge.judges.llm.exchange import Tally
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.shared import Shared
from ragauge.judges.surroundings import SHARED, Spec, split_spec, surroundings
from ragauge.judges.surroundings import Surroundings as Surroundings
from ragauge.judges.wrappers.budgeted import Budgeted, Purse
from ragauge.judges.wrappers.cached import Cached
from ragauge.judges.wrappers.limited import Limited, Limits
from ragauge.judges.wrappers.priced import Priced, price_of
from ragauge.judges.wrappers.retried import Retried, Retries
from ragauge.judges.wrappers.timed import Timed
from ragauge.prompts.loader import check_folder
from ragauge.store.cache import ReplyCache, open_cache

KINDS = ("embedded", "openai", "azure", "anthropic", "compatible", "python", "crossencoder")


def make_judge(
    spec: Spec,
    *,
    cache: str | Path | ReplyCache | None = None,
    seed: int = 0,
    budget: Purse | None = None,
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


def judge_from_settings(
    spec: Spec | None, replies: Path, *, seed: int = 0, base: Path | None = None, around: Surroundings | None = None
) -> Judge | None:
    """The judge that `judge:` in a settings file describes; None for `none`.

    Beside what `make_judge` reads, a mapping may hold what all models of a run share (see `surroundings`), which
    `around`, where given, has been made from already. `model` is another word for `name`.
    """
    who, shared = split_spec(spec)
    if who is None or (isinstance(who, Mapping) and who.get("name") == "none"):
        return None
    if (who if isinstance(who, str) else isinstance(who, Mapping) and who.get("name")) in (EMBEDDED, ENCODER):
        return _made(who, Surroundings())
    return _made(who, around or surroundings(shared, replies, seed=seed, base=base))


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
        near = nearest(kind, KINDS)
        raise UnknownName("judge", kind if near else settings.name, KINDS)
    if kind == "embedded":
        return _embedded(encoder=settings.name == ENCODER)
    if kind == "crossencoder":
        return _crossencoder(settings)
    judge: Judge = _llm(settings, around)
    if settings.repeats > 1:
        judge = repeated(judge, settings.repeats, settings.rule)
    return Shared(judge)


def _jury(spec: Mapping[str, Any], around: Surroundings) -> Judge:
    rule = spec.get("rule", "majority")
    for key in spec:
        if key not in ("jury", "rule"):
            near = nearest(str(key), ("jury", "rule", *SHARED))
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: jury, rule, {', '.join(SHARED)}."
            raise SettingsError(f"judge: a jury has no key {str(key)!r}", hint=hint)
    if rule not in ("majority", "mean"):
        raise SettingsError(f"judge: rule is majority or mean, not {rule!r}")
    if not isinstance(spec["jury"], Sequence) or isinstance(spec["jury"], str):
        raise SettingsError("`jury` is a list of two to five judges")
    judges = [_made(one, around) for one in spec["jury"]]
    return Shared(Jury(tuple(j.inner if isinstance(j, Shared) else j for j in judges), rule))


def _embedded(*, encoder: bool = False) -> Judge:
    from ragauge.judges.embedded.judge import EmbeddedJudge

    judge: Judge = EmbeddedJudge(encoder=encoder)
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
        return DryProvider(endpoint, price, around.cache, around.forecast, around.keeps)
    stack: Provider = base_provider(settings, endpoint, around.environment)
    stack = Priced(stack, price)
    stack = Timed(stack, settings.timeout_s)
    limits = Limits(settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute)
    stack = Limited(stack, around.limiter(endpoint, limits))
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
