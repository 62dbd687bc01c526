"""Where in a reply the answer, the contexts and the rest stand: JSONPath, compiled and checked beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragauge.core.sample import Response
from ragauge.errors import MissingExtra, SettingsError, SystemFailed, shortened
from ragauge.systems.coerce import as_response
from ragauge.systems.own_settings import OwnSettings
from ragauge.systems.passages import Fields, with_fields

#: Of one chunk: our field → where it stands in the chunk.
_CHUNK = ("id", "document", "text", "score", "metadata")
_NUMBERS = ("retrieval_ms", "generation_ms")
_USAGE = ("tokens_in", "tokens_out", "cost_usd")


class ChunkMap(OwnSettings):
    """Where the parts of one chunk stand inside of it: a key, or a JSONPath from the chunk (`$.meta.url`)."""

    id: str | None = None
    document: str | None = None
    text: str | None = None
    score: str | None = None
    metadata: str | None = None


class StepMap(OwnSettings):
    """Where the parts of one retrieval step stand inside of it."""

    name: str | None = None
    query: str | None = None
    chunks: str | None = None
    latency_ms: str | None = None


class ReplyMap(OwnSettings):
    """JSONPaths into a reply. Without any of them the usual names are looked for (`answer`, `contexts` …).

    `chunk` and `step` are paths inside of each of `contexts` and `steps`. `fields.root` is cut off document names.
    """

    answer: str | None = None
    contexts: str | None = None
    chunk: ChunkMap = ChunkMap()
    citations: str | None = None
    abstained: str | None = None
    model: str | None = None
    tokens_in: str | None = None
    tokens_out: str | None = None
    cost_usd: str | None = None
    retrieval_ms: str | None = None
    generation_ms: str | None = None
    steps: str | None = None
    step: StepMap = StepMap()
    fields: Fields = Fields()

    def named(self) -> dict[str, str]:
        """The paths that are given, by the name of what they lead to."""
        own = {name: value for name, value in self if isinstance(value, str)}
        inner = {f"chunk.{name}": value for name, value in self.chunk if value is not None}
        return own | inner | {f"step.{name}": value for name, value in self.step if value is not None}


@dataclass(frozen=True)
class Mapped:
    """A reply as a Response, and which of the mapping's paths led nowhere in it."""

    response: Response
    not_found: tuple[str, ...] = ()


@dataclass
class Reader:
    """Reads replies by one map. `where` is how the map is called in messages."""

    map: ReplyMap
    where: str
    _paths: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name, path in self.map.named().items():
            self._paths[name] = compiled(path, f"{self.where}.{name}")
            if path.rstrip().endswith("[*]"):  # tells an empty list from one that is not there
                self._paths[f"{name}[]"] = compiled(path.rstrip()[:-3], f"{self.where}.{name}")

    @property
    def maps_anything(self) -> bool:
        """Whether the answer or the contexts have a path."""
        return self.map.answer is not None or self.map.contexts is not None

    def read(self, replies: Sequence[Any], *, answer: str | None = None, source: str) -> Mapped:
        """`replies` is one reply, or the events of a stream: a value is taken from the last one that has it.

        `answer`: what a stream's pieces came to. `SystemFailed` when the answer's path leads nowhere.
        """
        if not self.maps_anything and answer is None:
            response = as_response(replies[-1] if replies else None, source=source)
            return Mapped(response.model_copy(update={"context": with_fields(response.context, self.map.fields)}))
        missing: list[str] = []
        parts: dict[str, Any] = {"answer": answer if answer is not None else self._answer(replies, source)}
        contexts = self._all(replies, "contexts", missing)
        if contexts is not None:
            parts["contexts"] = [self._chunk(one, missing) for one in contexts]
        for name in ("citations", "steps"):
            if (values := self._all(replies, name, missing)) is not None:
                parts[name] = [self._step(one, missing) for one in values] if name == "steps" else values
        for name in ("abstained", "model", *_NUMBERS):
            if (value := self._one(replies, name, missing)) is not None:
                parts[name] = value
        usage = {name: value for name in _USAGE if (value := self._one(replies, name, missing)) is not None}
        if usage:
            parts["usage"] = {"calls": 1, **usage}
        response = as_response(parts, source=source)
        context = with_fields(response.context, self.map.fields)
        return Mapped(response.model_copy(update={"context": context}), tuple(dict.fromkeys(missing)))

    def _answer(self, replies: Sequence[Any], source: str) -> str | None:
        if self.map.answer is None:
            return None
        found = self._matches(replies, "answer")
        if not found:
            there = shortened(list(replies[-1]) if replies and isinstance(replies[-1], Mapping) else list(replies), 200)
            raise SystemFailed(
                f"{self.where}.answer: {self.map.answer} leads to nothing in the reply of {source}; it holds {there}",
                hint="See the whole reply with `ragauge ask`.",
                raw=shortened(list(replies), 4000),
            )
        texts = [one for one in found if one is not None]
        if len(texts) == 1 and isinstance(texts[0], list):
            texts = texts[0]
        return "\n".join(one if isinstance(one, str) else str(one) for one in texts) if texts else None

    def _matches(self, replies: Sequence[Any], name: str) -> list[Any]:
        for reply in reversed(replies):
            found: list[Any] = self._paths[name].findall(reply) if isinstance(reply, Mapping | list) else []
            if found:
                return found
        return []

    def _all(self, replies: Sequence[Any], name: str, missing: list[str]) -> list[Any] | None:
        """The values of a list; None when the path leads nowhere, which is noted."""
        if name not in self._paths:
            return None
        found = self._matches(replies, name)
        if len(found) == 1 and isinstance(found[0], list):
            return list(found[0])
        if not found and not (f"{name}[]" in self._paths and self._matches(replies, f"{name}[]")):
            missing.append(f"{name}: {self._path_of(name)}")
            return None
        return [one for one in found if one is not None]

    def _one(self, replies: Sequence[Any], name: str, missing: list[str]) -> Any:
        if name not in self._paths:
            return None
        found = self._matches(replies, name)
        if not found:
            missing.append(f"{name}: {self._path_of(name)}")
        return found[0] if found else None

    def _chunk(self, one: Any, missing: list[str]) -> Any:
        given = {name: value for name, value in self.map.chunk if value is not None}
        if not given or not isinstance(one, Mapping):
            return one
        rest = {key: value for key, value in one.items() if key not in given.values()}
        metadata = {key: value for key, value in rest.items() if isinstance(value, str | int | float | bool)}
        chunk: dict[str, Any] = {"metadata": metadata}
        for name in given:
            found = self._paths[f"chunk.{name}"].findall(one)
            if found:
                chunk[name] = found[0]
            else:
                missing.append(f"chunk.{name}: {given[name]}")
        if "text" not in given:
            chunk = {key: one[key] for key in ("text", "page_content", "content") if key in one} | chunk
        return chunk

    def _step(self, one: Any, missing: list[str]) -> Any:
        given = {name: value for name, value in self.map.step if value is not None}
        if not isinstance(one, Mapping):
            return {"name": "step", "chunks": one if isinstance(one, list) else [one]}
        step: dict[str, Any] = {"name": str(one.get("name", "step"))}
        for name in given:
            found = self._paths[f"step.{name}"].findall(one)
            if not found:
                missing.append(f"step.{name}: {given[name]}")
            elif name == "chunks":
                step[name] = found[0] if len(found) == 1 and isinstance(found[0], list) else found
            else:
                step[name] = found[0]
        usual = {key: one[key] for key in ("query", "latency_ms", "chunks") if key in one and key not in given}
        step = usual | step
        step["chunks"] = [self._chunk(chunk, missing) for chunk in step.get("chunks") or ()]
        return step

    def _path_of(self, name: str) -> str:
        return self.map.named()[name]


def compiled(path: str, where: str) -> Any:
    """A JSONPath; a plain key is one too. `SettingsError` says what is wrong with it."""
    try:
        import jsonpath
    except ImportError as error:
        raise MissingExtra("python-jsonpath", "http") from error
    text = path.strip()
    try:
        return jsonpath.compile(text if text.startswith("$") else f"$.{text}")
    except jsonpath.JSONPathError as error:
        message = " ".join(str(error).split())
        raise SettingsError(f"{where}: {path!r} is no JSONPath ({message[:200]})", hint="e.g. $.data.answer") from None
