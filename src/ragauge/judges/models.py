"""Language models for whoever is no judge (the reference pipeline): the same providers, cache, limits and budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragauge.core.model import fingerprint
from ragauge.core.provider import LanguageModel, ModelFor, Provider, Sampling
from ragauge.errors import SettingsError, UnknownName
from ragauge.judges.factory import Surroundings, provider_stack
from ragauge.judges.judge_settings import read_settings
from ragauge.judges.llm.checking import close_provider, preflight_provider

KINDS = ("openai", "azure", "anthropic", "compatible", "python")


@dataclass(frozen=True)
class ConfiguredModel:
    """A model with everything around it. See `core.provider.LanguageModel`."""

    provider: Provider
    sampling: Sampling
    prompts: Path | None = None

    async def preflight(self) -> None:
        """`EndpointUnusable` when the model cannot serve at all."""
        await preflight_provider(self.provider, self.sampling)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await close_provider(self.provider)


def model_for(around: Surroundings | None = None) -> ModelFor:
    """What gives a model for its name or settings (those of a judge: `{name: …, temperature: …}`).

    Equal settings give the same model, with the same limits. `UsageError` for what cannot be, a missing key included.
    """
    shared = Surroundings() if around is None else around
    known: dict[str, LanguageModel] = {}

    def give(spec: str | Mapping[str, Any]) -> LanguageModel:
        given = {"name": spec} if isinstance(spec, str) else dict(spec)
        key = fingerprint(given)
        if key not in known:
            settings = read_settings(given)
            if settings.kind not in KINDS:
                raise UnknownName("language model", settings.kind, KINDS)
            if settings.repeats > 1:
                raise SettingsError("`repeats` is for judges: a system answers once")
            sampling = Sampling(settings.temperature, settings.top_p, settings.seed, settings.max_tokens)
            prompts = Path(settings.prompts) if settings.prompts is not None else shared.prompts
            known[key] = ConfiguredModel(provider_stack(settings, shared), sampling, prompts)
        return known[key]

    return give
