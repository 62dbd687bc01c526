"""The settings of the reference pipeline: names, defaults, and what is accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ragauge.errors import SettingsError, UnknownName, nearest
from ragauge.systems.reference.chunk import SPLITTERS, ChunkSettings
from ragauge.systems.reference.generate import ABSTAIN_BELOW, REFUSAL

Check = Callable[[str, Any], Any]
#: What stands before the first colon of a language model's name.
MODEL_KINDS = ("openai", "azure", "anthropic", "compatible", "python")
#: Ways of turning a question into other queries; "feedback" is the one that asks no language model.
EXPANSIONS = ("none", "feedback", "hyde", "rewrite", "multi_query", "decompose")
_WITHOUT_MODEL = ("none", "feedback")


@dataclass(frozen=True)
class ReferenceSettings:
    """All knobs. `corpus`: a folder or file. Sizes are in `chunk_unit`; `k` chunks go to the generator, chosen from
    `candidates` of each retriever where there is fusion or re-ranking.

    `generator` is "extractive", "none" or a language model (`openai:NAME`, or a mapping with `name`); `expand` and the
    prefix "contextual" ask `model`, which is the generator's unless it is given.
    """

    corpus: str
    splitter: str = "markdown"
    chunk_size: int = 800
    chunk_overlap: int = 100
    chunk_unit: str = "characters"
    keep_code: bool = False
    prefix: str = "headings"
    embedder: Any = "minilm"
    retrieval: str = "hybrid"
    k: int = 5
    candidates: int = 20
    rrf_k: int = 60
    expand: str = "none"
    n_queries: int = 3
    model: Any = None
    rerank: str = "none"
    history: str = "last"
    generator: Any = "extractive"
    refusal: str = REFUSAL
    max_sentences: int = 3
    abstain_below: float = ABSTAIN_BELOW
    language: str = "en"
    store: str = "memory"
    embedding_cache: str = "default"

    @property
    def chunking(self) -> ChunkSettings:
        """Those that decide the chunks."""
        unit: Any = self.chunk_unit
        splitter: Any = self.splitter
        return ChunkSettings(splitter, self.chunk_size, self.chunk_overlap, unit, self.keep_code)

    @property
    def writer(self) -> str | Mapping[str, Any] | None:
        """The language model that answers; None where none does."""
        return None if self.generator in ("extractive", "none") else self.generator

    @property
    def helper(self) -> str | Mapping[str, Any] | None:
        """The language model that expands questions and describes chunks; None where nothing of that is asked for."""
        if self.expand in _WITHOUT_MODEL and self.prefix != "contextual":
            return None
        return self.model if self.model is not None else self.writer

    @property
    def answering(self) -> dict[str, Any]:
        """Those that can change an answer: where the corpus, the index and the cache lie cannot."""
        left = ("corpus", "store", "embedding_cache", *(() if self.keep_code else ("keep_code",)))
        return {name: value for name, value in asdict(self).items() if name not in left}


def read_settings(settings: Mapping[str, Any]) -> ReferenceSettings:
    """Checked settings. `SettingsError` names the key, what was found, what is accepted, and the nearest known key."""
    known = [field.name for field in fields(ReferenceSettings)]
    for name in settings:
        if name not in _CHECKS:
            near = nearest(str(name), known)
            raise SettingsError(
                f"the reference pipeline has no setting {name!r}",
                hint=f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Known: {', '.join(known)}.",
            )
    if settings.get("corpus") is None:
        raise SettingsError(
            "the reference pipeline needs `corpus`", hint="Give the folder or file of the documentation."
        )
    values = {name: _CHECKS[name](name, value) for name, value in settings.items() if value is not None}
    read = ReferenceSettings(**values)
    _ = read.chunking  # checks sizes against each other
    wide = read.retrieval == "hybrid" or read.rerank != "none" or read.expand in ("multi_query", "decompose")
    if read.candidates < read.k and wide:
        raise SettingsError(f"candidates ({read.candidates}) must not be fewer than k ({read.k})")
    if read.expand == "hyde" and read.retrieval == "bm25":
        raise SettingsError("expand: hyde searches by meaning", hint="Set `retrieval: hybrid` or `dense`.")
    if read.helper is None and (read.expand not in _WITHOUT_MODEL or read.prefix == "contextual"):
        what = f"expand: {read.expand}" if read.expand not in _WITHOUT_MODEL else "prefix: contextual"
        raise SettingsError(f"{what} needs a language model", hint="Set `model: openai:NAME` (or another).")
    return read


def is_model(value: Any) -> bool:
    """Whether `value` names a language model: `KIND:NAME`, or a mapping with such a `name`."""
    name = value.get("name", value.get("model")) if isinstance(value, Mapping) else value
    return isinstance(name, str) and name.partition(":")[0] in MODEL_KINDS and bool(name.partition(":")[2])


def _model(name: str, value: Any) -> Any:
    if is_model(value):
        return dict(value) if isinstance(value, Mapping) else value
    hint = "Write openai:NAME, azure:DEPLOYMENT, anthropic:NAME, compatible:NAME@URL or python:module:function."
    raise SettingsError(f"{name} must be a language model, not {value!r}"[:300], hint=hint)


def _generator(name: str, value: Any) -> Any:
    if value is False:  # `generator: off` in YAML
        return "none"
    if value in ("extractive", "none") or is_model(value):
        return dict(value) if isinstance(value, Mapping) else value
    near = nearest(value, ("extractive", "none", *MODEL_KINDS)) if isinstance(value, str) else []
    hint = f"Did you mean {near[0]!r}?" if near else ""
    accepted = "one of extractive, none, or a language model (openai:NAME, anthropic:NAME, compatible:NAME@URL …)"
    raise SettingsError(f"{name} must be {accepted}, not {value!r}"[:300], hint=hint)


def _embedder(name: str, value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else _text(name, value)


def _rerank(name: str, value: Any) -> str:
    """`none`, `minilm`, or `cross-encoder:NAME_OR_FOLDER`."""
    if isinstance(value, str) and value.startswith("cross-encoder:") and value.partition(":")[2].strip():
        return value
    try:
        return str(_one_of("none", "minilm")(name, value))
    except SettingsError as error:
        raise SettingsError(error.message.replace("minilm,", "minilm, cross-encoder:NAME,"), hint=error.hint) from None


def _one_of(*accepted: str) -> Check:
    def check(name: str, value: Any) -> str:
        if isinstance(value, str) and value in accepted:
            return value
        if value is False and "none" in accepted:  # `rerank: off` is False in YAML
            return "none"
        near = nearest(value, accepted) if isinstance(value, str) else []
        hint = f"Did you mean {near[0]!r}?" if near else ""
        raise SettingsError(f"{name} must be one of {', '.join(accepted)}, not {value!r}", hint=hint)

    return check


def _whole(low: int, high: int) -> Check:
    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise SettingsError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
        return value

    return check


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise SettingsError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{name} must be true or false, not {value!r}")
    return value


def _text(name: str, value: Any) -> str:
    if isinstance(value, Path):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{name} must be a text that is not blank, not {value!r}")
    return value


def _language(name: str, value: Any) -> str:
    from ragauge.text.tokens import stopwords

    try:
        stopwords(_text(name, value))
    except UnknownName as error:
        raise SettingsError(f"{name}: {error.message}", hint=error.hint) from error
    return str(value)


_CHECKS: dict[str, Check] = {
    "corpus": _text,
    "splitter": _one_of(*SPLITTERS),
    "chunk_size": _whole(20, 1_000_000),
    "chunk_overlap": _whole(0, 500_000),
    "chunk_unit": _one_of("characters", "tokens"),
    "keep_code": _flag,
    "prefix": _one_of("headings", "contextual", "none"),
    "embedder": _embedder,
    "retrieval": _one_of("dense", "bm25", "hybrid"),
    "k": _whole(1, 1000),
    "candidates": _whole(1, 10_000),
    "rrf_k": _whole(1, 10_000),
    "expand": _one_of(*EXPANSIONS),
    "n_queries": _whole(1, 10),
    "model": _model,
    "rerank": _rerank,
    "history": _one_of("ignore", "last", "append"),
    "generator": _generator,
    "refusal": _text,
    "max_sentences": _whole(1, 50),
    "abstain_below": _share,
    "language": _language,
    "store": _text,
    "embedding_cache": _text,
}
