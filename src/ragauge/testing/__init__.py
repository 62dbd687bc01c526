"""The test kit, shipped: samples to score, judges that say what they are told, and the laws that every part must keep.

`a_sample` makes a sample; `ScriptedJudge` and `agreeable_judge` stand in for a judge; `check_metric`, `check_derived`,
`check_judge`, `check_provider` and `check_system` raise `LawBroken` (an AssertionError) when something breaks a law. No
test framework is needed. `FakeLLMServer` answers like a model provider, without a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragauge.testing.judges import check_judge
from ragauge.testing.laws import LawBroken, score_now
from ragauge.testing.metrics import check_derived, check_metric
from ragauge.testing.samples import a_sample
from ragauge.testing.scripted import Rounds, ScriptedJudge, agreeable_judge
from ragauge.testing.systems import check_system

if TYPE_CHECKING:
    from ragauge.testing.fake_llm import FakeLLMServer
    from ragauge.testing.providers import check_provider

__all__ = [
    "FakeLLMServer",
    "LawBroken",
    "Rounds",
    "ScriptedJudge",
    "a_sample",
    "agreeable_judge",
    "check_derived",
    "check_judge",
    "check_metric",
    "check_provider",
    "check_system",
    "score_now",
]


def __getattr__(name: str) -> Any:
    # The server is a program of its own: loaded only where a model provider is tested.
    if name == "FakeLLMServer":
        from ragauge.testing.fake_llm import FakeLLMServer

        return FakeLLMServer
    if name == "check_provider":
        from ragauge.testing.providers import check_provider

        return check_provider
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
