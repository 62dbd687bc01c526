"""Before the first sample and after the last: can the endpoint serve, and letting go of it."""

from __future__ import annotations

from typing import Any

from ragauge.core.provider import Provider, Request, Sampling
from ragauge.errors import EndpointUnusable, JudgeUnavailable, SampleError, TimedOut
from ragauge.judges.llm.codes import codes
from ragauge.judges.llm.forms import shape_of
from ragauge.prompts import load


async def preflight_provider(provider: Provider, sampling: Sampling) -> None:
    """Find out whether the endpoint can serve a run; `EndpointUnusable` if not.

    Free where the endpoint lists its models. Otherwise one small call, which the cache keeps like any other.
    """
    check = find(provider, "preflight")
    if check is None or await check():
        return
    prompt = load("probe")
    item = codes("T", 1, provider.endpoint.label)[0]
    rendered = prompt.render(item=item)
    request = Request(
        task="probe", system=rendered.system, user=rendered.user, prompt_sha256=prompt.sha256,
        shape=shape_of("probe", "probe", ()), sampling=sampling, ids=(item,),
    )  # fmt: skip
    try:
        await provider.complete(request)
    except (JudgeUnavailable, TimedOut) as problem:
        raise EndpointUnusable(problem.message, hint=problem.hint) from None
    except SampleError:
        return  # the budget has no room for a probe: the first sample will say so


async def close_provider(provider: Provider) -> None:
    """Close the connections of the running event loop; the provider can be used again, in this loop or another."""
    close = find(provider, "aclose")
    if close is not None:
        await close()


def find(provider: Provider, name: str) -> Any:
    """The attribute `name` of the outermost layer of the stack that has it."""
    layer: Any = provider
    while layer is not None:
        if hasattr(layer, name):
            return getattr(layer, name)
        layer = getattr(layer, "inner", None)
    return None
