"""What every wrapper around a judge passes through: the check before a run, and letting go after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


async def preflight(judge: Any) -> None:
    """Check a judge before the first sample, if it can be checked; `EndpointUnusable` says that it cannot serve."""
    check = getattr(judge, "preflight", None)
    if check is not None:
        await check()


async def aclose(judge: Any) -> None:
    """Close the connections that a judge holds in this event loop, if it holds any; it can be used again."""
    close = getattr(judge, "aclose", None)
    if close is not None:
        await close()


class Around:
    """A wrapper of one judge, `inner`, or of several, `judges`."""

    @property
    def _inside(self) -> Sequence[Any]:
        return getattr(self, "judges", None) or (self.inner,)  # type: ignore[attr-defined]

    async def preflight(self) -> None:
        """Check every judge inside."""
        for judge in self._inside:
            await preflight(judge)

    async def aclose(self) -> None:
        """Let go of every judge inside."""
        for judge in self._inside:
            await aclose(judge)
