"""Which family a model belongs to: a judge of the generator's own family tends to like what it wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

_FAMILIES = {
    "openai": ("gpt", "o1", "o3", "o4", "chatgpt", "davinci", "text-davinci"),
    "anthropic": ("claude",),
    "google": ("gemini", "gemma", "palm"),
    "meta": ("llama", "codellama"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral"),
    "qwen": ("qwen", "qwq"),
    "deepseek": ("deepseek",),
    "microsoft": ("phi",),
    "cohere": ("command", "aya"),
    "xai": ("grok",),
    "zhipu": ("glm", "chatglm"),
    "moonshot": ("kimi", "moonshot"),
    "ibm": ("granite",),
}


def family_of(model: str) -> str | None:
    """The family of a model's name (`openai:gpt-4o`, `meta-llama/Llama-3-8B`), or None if the name tells nothing.

    >>> family_of("anthropic:claude-haiku-4-5"), family_of("compatible:Qwen2.5-7B-Instruct@http://x/v1"), family_of("m")
    ('anthropic', 'qwen', None)
    """
    name = model.partition("@")[0].rpartition("/")[2].rpartition(":")[2].casefold()
    whole = model.partition("@")[0].casefold()
    # A model distilled from one family on another one's weights (deepseek-r1-distill-llama) counts as what comes first.
    for family, prefixes in _FAMILIES.items():
        if any(name.startswith(prefix) for prefix in prefixes):
            return family
    for family, prefixes in _FAMILIES.items():
        if any(f"-{prefix}" in f"-{part}" for part in (name,) for prefix in prefixes if len(prefix) > 3):
            return family
    return "openai" if whole.startswith("azure:") else None


def same_family_warning(judge_model: str, generator_model: str | None) -> str | None:
    """What to say when judge and generator are of one family; None when they are not, or it cannot be told.

    >>> same_family_warning("openai:gpt-4.1", "openai:gpt-4o-mini")
    'judge (openai:gpt-4.1) and generator (openai:gpt-4o-mini) are of one family (openai): judges tend to favour it'
    """
    if generator_model is None:
        return None
    family = family_of(judge_model)
    if family is None or family != family_of(generator_model):
        return None
    return (
        f"judge ({judge_model}) and generator ({generator_model}) are of one family ({family}): "
        "judges tend to favour it"
    )


def same_family_warnings(judge: Any, generator_models: Sequence[str | None]) -> tuple[str, ...]:
    """The warnings for a judge (each member of a jury) and the models that wrote the answers, each once."""
    found = {
        warning: None
        for name in dict.fromkeys(_models(judge))
        for model in generator_models
        if (warning := same_family_warning(name, model)) is not None
    }
    return tuple(found)


def _models(judge: Any) -> Iterator[str]:
    """The names of the models behind a judge and whatever is wrapped around it."""
    members = getattr(judge, "judges", None)
    inner = getattr(judge, "inner", None)
    if members:
        for member in members:
            yield from _models(member)
    elif inner is not None:
        yield from _models(inner)
    elif judge is not None and judge.info().kind == "llm":
        yield judge.info().name
