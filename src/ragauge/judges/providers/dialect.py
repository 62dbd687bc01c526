"""What an endpoint has shown to understand: how to ask it for JSON, and which parameters it takes.

Servers that call themselves compatible differ. An endpoint is asked in the strictest way first; one that refuses it is
asked in the next way from then on. The refused call is raised as a failure of kind "dialect", so that limits, budget
and usage see it like any other; the retry wrapper sends it again at once.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ragauge.core.provider import Endpoint
from ragauge.judges.providers.failures import CallFailed

_log = logging.getLogger("ragauge.judges")

#: From strict to loose. `prompt`: the form is only described in the prompt, and checked by us as always.
MODES = ("json_schema", "json_object", "tool", "prompt")

_ABOUT = {
    "json_schema": ("response_format", "json_schema", "output_config", "structured output", "grammar", "schema"),
    "json_object": ("response_format", "json_object"),
    "tool": ("tool", "function"),
}
_SWAPS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_OPTIONAL = {"temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "reasoning_effort"}
_REFUSED = re.compile(r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed")


@dataclass
class Dialect:
    """The state of one endpoint. Shared by all calls to it; never part of what is compared or printed."""

    endpoint: Endpoint
    modes: Sequence[str] = MODES
    place: int = 0
    dropped: set[str] = field(default_factory=set)
    swapped: set[str] = field(default_factory=set)

    @property
    def mode(self) -> str:
        """How to ask now."""
        return self.modes[self.place]

    def spoken(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """`parameters` without those that the endpoint refuses, under the names that it knows."""
        kept = {name: value for name, value in parameters.items() if name not in self.dropped and value is not None}
        return {_SWAPS[name] if name in self.swapped else name: value for name, value in kept.items()}

    def learnt(self, failure: CallFailed, mode: str, sent: dict[str, Any]) -> CallFailed:
        """What to raise for `failure`: a failure of kind "dialect" if another way of asking may work, else itself."""
        if failure.status not in (400, 415, 422, 500, 501):
            return failure
        text = failure.message.casefold()
        if failure.status in (400, 422) and _REFUSED.search(text):
            for name in sorted(_OPTIONAL & sent.keys()):
                if name in text and self._without(name):
                    return _again(failure)
        if any(mark in text for mark in _ABOUT.get(mode, ())):
            return self._loosened(failure, mode)
        return failure

    def _without(self, name: str) -> bool:
        """Stop sending `name`, or send it under its other name; whether anything changed."""
        if name in _SWAPS:
            if _SWAPS[name] in self.swapped:
                return False
            self.swapped.add(name)
            return True
        if name in self.dropped:
            return True  # another call found out first: this one need only be sent again
        self.dropped.add(name)
        _log.warning("%s does not take %r; it is no longer sent", self.endpoint.label, name)
        return True

    def _loosened(self, failure: CallFailed, mode: str) -> CallFailed:
        if mode == self.mode:
            if self.place + 1 >= len(self.modes):
                return failure
            self.place += 1
            _log.warning("%s refuses %s; asking it by %s from now on", self.endpoint.label, mode, self.mode)
        return _again(failure)


def _again(failure: CallFailed) -> CallFailed:
    return CallFailed(failure.message, kind="dialect", status=failure.status, retry_after_s=0.0)
