"""One answer for the same question: claims are split once per answer, whoever asks and however many ask at once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from ragauge.core.judge import Judge, JudgeInfo, Task
from ragauge.core.model import Model
from ragauge.judges.in_flight import InFlight
from ragauge.judges.layers import Around

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class Shared(Around):
    """Remembers the last `keep` replies of `inner`, and joins callers that ask the same at the same time.

    Usage is counted for the one who asked first. Failures are not remembered.
    """

    inner: Judge
    keep: int = 4096
    _memory: OrderedDict[bytes, Model] = field(default_factory=OrderedDict, compare=False, repr=False)
    _in_flight: InFlight = field(default_factory=InFlight, compare=False, repr=False)

    def info(self) -> JudgeInfo:
        """The card of the judge inside."""
        return self.inner.info()

    def with_sample(self, sample: int) -> Judge:
        """The judge inside drawing anew, with a memory of its own; itself where nothing is drawn."""
        draw = getattr(self.inner, "with_sample", None)
        return self if draw is None else Shared(draw(sample), self.keep)

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """The reply to `task`, from memory where it is the same question."""
        key = _key(task, inputs)
        if key in self._memory:
            self._memory.move_to_end(key)
            return cast(T, self._memory[key])
        return await self._in_flight.once(key, lambda: self._ask(key, task, inputs))

    async def _ask(self, key: bytes, task: Task[T], inputs: Mapping[str, Any]) -> T:
        reply = await self.inner.ask(task, **inputs)
        self._memory[key] = reply
        while len(self._memory) > self.keep:
            self._memory.popitem(last=False)
        return reply


def _key(task: Task[Any], inputs: Mapping[str, Any]) -> bytes:
    whole = hashlib.blake2b(f"{task.name}:{task.version}".encode(), digest_size=16)
    _feed(whole, {name: value for name, value in inputs.items() if value is not None})
    return whole.digest()


def _feed(whole: Any, value: Any) -> None:
    """Feed `value` to a hash, with its kind and length, so that different values never look alike."""
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogatepass")
        whole.update(b"s%d:" % len(raw) + raw)
    elif isinstance(value, BaseModel):
        whole.update(type(value).__name__.encode())
        _feed(whole, {name: getattr(value, name) for name in type(value).model_fields})
    elif isinstance(value, Mapping):
        whole.update(b"m%d:" % len(value))
        for name in sorted(value, key=str):
            _feed(whole, str(name))
            _feed(whole, value[name])
    elif isinstance(value, Sequence):
        whole.update(b"l%d:" % len(value))
        for part in value:
            _feed(whole, part)
    else:
        whole.update(f"o{type(value).__name__}:{value!r};".encode())
