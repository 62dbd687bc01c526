"""The embedder that the settings name: on this machine, or a model behind an API of OpenAI's form."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import Field

from ragauge.core.model import fingerprint
from ragauge.core.sample import Usage
from ragauge.embeddings import Embedder, Vectors, load, normalise_rows
from ragauge.errors import EndpointUnusable, MissingExtra, RunError, SettingsError, SystemFailed, UnknownName
from ragauge.systems.own_settings import OwnSettings, read_own
from ragauge.systems.variables import struck

KINDS = ("openai", "azure", "compatible")
#: Vector lengths of models that are asked for most, so that no call is needed to know them.
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_KEYS = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_API_KEY"}
_OPENAI_MAX_TOKENS = 8191
#: Characters that are taken for one token when a text has to be cut before it is sent: few, so that it fits.
_CHARACTERS_PER_TOKEN = 3
#: Characters in one request (the API takes 300 000 tokens).
_REQUEST_CHARACTERS = 600_000


class ApiSettings(OwnSettings):
    """`name`: `openai:MODEL`, `azure:DEPLOYMENT` or `compatible:MODEL@URL`. `batch`: texts in one request.

    `price_per_million`: US dollars for a million tokens, for the notes of a run. `retries`: further attempts after a
    refusal that may pass; the client honours Retry-After.
    """

    name: str
    dimensions: int | None = Field(default=None, ge=1)
    api_key_env: str | None = None
    api_version: str = "2024-10-21"
    batch: int = Field(default=128, ge=1, le=2048)
    max_tokens: int | None = Field(default=None, ge=16)
    timeout_s: float = Field(default=60.0, gt=0)
    retries: int = Field(default=5, ge=0, le=20)
    price_per_million: float | None = Field(default=None, ge=0)


def is_api(setting: Any) -> bool:
    """Whether an `embedder:` setting names a model behind an API."""
    name = setting.get("name") if isinstance(setting, Mapping) else setting
    return isinstance(name, str) and name.partition(":")[0] in KINDS and bool(name.partition(":")[2])


def load_embedder(setting: Any) -> Embedder:
    """The embedder of a setting. `SettingsError`, `MissingExtra` or `UnknownName` for one that cannot be."""
    if is_api(setting):
        given = setting if isinstance(setting, Mapping) else {"name": setting}
        return ApiEmbedder(read_own(ApiSettings, "reference.embedder", given))
    if isinstance(setting, Mapping):
        raise SettingsError("embedder: a mapping is for models behind an API", hint="{name: openai:MODEL, batch: 64}")
    try:
        return load(setting)
    except UnknownName as error:
        raise SettingsError(f"embedder: {error.message}", hint=error.hint) from error


class ApiEmbedder:
    """`Embedder` over `POST embeddings`. Texts are sent in batches; vectors are kept by whoever caches them by text.

    `usage` adds up what was asked. A text that is longer than the model reads is cut before it is sent.
    """

    def __init__(self, settings: ApiSettings) -> None:
        self.settings = settings
        self._kind, _, rest = settings.name.partition(":")
        self._model, _, self._url = rest.partition("@")
        if self._kind == "compatible" and not self._url.startswith(("http://", "https://")):
            raise SettingsError(
                f"embedder: {settings.name!r} does not say where the model is",
                hint="Write it as compatible:NAME@http://host:port/v1.",
            )
        self.name = f"{self._kind}:{self._model}"
        limit = _OPENAI_MAX_TOKENS if self._kind in ("openai", "azure") else None
        self.max_tokens = settings.max_tokens or limit
        self.usage = Usage()
        self._lock = threading.Lock()
        variable = settings.api_key_env or _KEYS.get(self._kind)
        self._key = os.environ.get(variable, "").strip() if variable else "none"
        self._variable = variable

    @property
    def fingerprint(self) -> str:
        """Model, address and length of the vectors."""
        return fingerprint([self._kind, self._model, self._url, self.settings.dimensions, self.max_tokens])

    @cached_property
    def dimension(self) -> int:
        """Length of a vector; of a model that is not known, one call tells."""
        known = self.settings.dimensions or _DIMENSIONS.get(self._model)
        return known or len(self._asked(["dimension"])[0])

    @cached_property
    def _client(self) -> Any:
        try:
            import openai
        except ImportError as error:
            raise MissingExtra("openai", "openai") from error
        if not self._key:
            raise SettingsError(f"embedder {self.name} needs a key: the variable {self._variable} is not set")
        more: dict[str, Any] = {
            "timeout": self.settings.timeout_s,
            "max_retries": self.settings.retries,
            "api_key": self._key,
        }
        if self._kind == "azure":
            endpoint = os.environ.get("AZURE_OPENAI_ENDPOINT", "")
            if not endpoint:
                raise SettingsError("embedder: azure needs the variable AZURE_OPENAI_ENDPOINT")
            return openai.AzureOpenAI(azure_endpoint=endpoint, api_version=self.settings.api_version, **more)
        return openai.OpenAI(base_url=self._url or None, **more)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (len(texts), dimension), rows of length 1; blank texts, which no API takes, have rows of zeros."""
        result = np.zeros((len(texts), self.dimension), np.float32)
        cut = [self._cut(text) for text in texts]
        waiting = [place for place, text in enumerate(cut) if text.strip()]
        while waiting:
            part: list[int] = []
            size = 0
            for place in waiting[: self.settings.batch]:
                size += len(cut[place])
                if part and size > _REQUEST_CHARACTERS:
                    break
                part.append(place)
            rows = np.asarray(self._asked([cut[place] for place in part]), np.float32)
            if rows.shape != (len(part), self.dimension):
                raise SystemFailed(f"{self.name} gave vectors of shape {rows.shape}, not {(len(part), self.dimension)}")
            result[part] = rows
            waiting = waiting[len(part) :]
        return normalise_rows(result)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """For each text whether its end was not sent."""
        return [self._cut(text) != text for text in texts]

    def check(self) -> None:
        """One small call; `EndpointUnusable` when the model cannot serve."""
        try:
            self._asked(["check"])
        except SystemFailed as error:
            raise EndpointUnusable(error.message, hint=error.hint) from None

    def told(self) -> str:
        """What was asked so far, for the notes of a run."""
        used = self.usage
        cost = "" if used.cost_usd is None else f", ${used.cost_usd:.4f}"
        return (
            f"embedding by {self.name}: {used.calls} calls, {used.tokens_in} tokens{cost} (kept vectors cost nothing)"
        )

    def close(self) -> None:
        """Let go of the connections."""
        if "_client" in self.__dict__:
            self._client.close()
            del self.__dict__["_client"]

    def _cut(self, text: str) -> str:
        readable = text.encode("utf-8", "replace").decode("utf-8")
        return readable if self.max_tokens is None else readable[: self.max_tokens * _CHARACTERS_PER_TOKEN]

    def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        import openai

        more: dict[str, Any] = {} if self.settings.dimensions is None else {"dimensions": self.settings.dimensions}
        try:
            reply = self._client.embeddings.create(
                model=self._model, input=list(texts), encoding_format="float", **more
            )
            rows = [one.embedding for one in sorted(reply.data, key=lambda one: int(one.index))]
        except openai.OpenAIError as error:
            secrets = [self._key] if len(self._key) > 4 else []
            message = struck(f"{self.name} cannot embed: {type(error).__name__}: {error}", secrets)
            hint = "The key was refused." if isinstance(error, openai.AuthenticationError) else ""
            raise SystemFailed(message[:500], hint=hint) from None
        tokens = int(getattr(reply.usage, "prompt_tokens", 0) or 0) if reply.usage is not None else 0
        price = self.settings.price_per_million
        cost = None if price is None else tokens * price / 1e6
        with self._lock:
            self.usage += Usage(calls=1, tokens_in=tokens, cost_usd=cost)
        return rows


def stops_the_run(error: SystemFailed) -> RunError:
    """A failure while an index is built: an index with holes would be another one."""
    return EndpointUnusable(error.message, hint=error.hint)
