"""Blocking calls of other people's code: on threads that never keep the process alive."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(call: Callable[[], T]) -> T:
    """What `call()` returns or raises, without blocking the loop.

    A thread of its own for each call: `asyncio.to_thread` uses threads that Python waits for when it ends, so one
    call that hangs for ever would keep a timed-out or interrupted run from ending.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: T | None = None
        problem: BaseException | None = None
        try:
            result = call()
        except BaseException as error:
            kept = isinstance(error, Exception | SystemExit)
            problem = error if kept else RuntimeError(f"{type(error).__name__}: {error}")
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=work, daemon=True).start()
    return await future
