"""What a broken law is, and how the checkers run what they check."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

from ragauge.core.metric import Metric
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import SampleError


class LawBroken(AssertionError):
    """Something does not keep a law of its kind; the message says which, and what was seen."""


def law(kept: object, message: str) -> None:
    """LawBroken(message) unless `kept`. Not an `assert` statement, so that it holds under `python -O` too."""
    if not kept:
        raise LawBroken(message)


def finish(result: Any) -> Any:
    """The result of a function that may be a coroutine function, also inside a running event loop."""
    if not inspect.isawaitable(result):
        return result

    async def waited() -> Any:
        return await result

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(waited())
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(waited()))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def score_now(metric: Metric, sample: Sample) -> Scored | Unscored:
    """The metric's score of one sample, `def` or `async def`; a `SampleError` becomes `Unscored`, as in a run."""
    try:
        result: Any = finish(metric.score(sample))
    except SampleError as error:
        return unscored(error.reason, error.message, error.raw)
    law(isinstance(result, Scored | Unscored), f"score gave {result!r}, neither Scored nor Unscored")
    score: Scored | Unscored = result
    return score
