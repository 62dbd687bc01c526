from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import Message, Question, RetrievedChunk, RetrievedContext
from ragauge.core.system import System
from ragauge.errors import SettingsError, SystemFailed, TimedOut
from ragauge.systems.callable import build, from_callable

QUESTION = Question(id="q1", text="How?", history=(Message(role="user", content="before"),))
CONTEXT = RetrievedContext(chunks=(RetrievedChunk(id="c", text="t", rank=1),))


def ask(function: Callable[..., Any], **options: Any) -> Any:
    return asyncio.run(from_callable(function).respond(QUESTION, **options))


async def later(question: str) -> str:
    await asyncio.sleep(0)
    return f"async {question}"


class Service:
    def __call__(self, question: str) -> str:
        return f"called {question}"

    async def method(self, question: str) -> str:
        return f"method {question}"


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (lambda question: f"sync {question}", "sync How?"),
        (later, "async How?"),
        (lambda question: later(question), "async How?"),
        (Service(), "called How?"),
        (Service().method, "method How?"),
        (str, "How?"),
    ],
)
def test_sync_and_async_callables_answer(function: Callable[..., Any], answer: str) -> None:
    response = ask(function)
    assert response.answer == answer
    assert response.total_ms >= 0


def test_a_parameter_called_request_or_annotated_gets_the_whole_question() -> None:
    def annotated(q: Question) -> str:
        return q.id

    def named(request: Any, history: Any) -> str:
        return f"{request.id} {history[0].content}"

    assert ask(annotated).answer == "q1"
    assert ask(named).answer == "q1 before"


def test_a_given_context_is_handed_over_and_kept() -> None:
    def answer(question: str, context: RetrievedContext | None = None) -> str:
        return "none" if context is None else context.chunks[0].text

    assert ask(answer).answer == "none"
    response = ask(answer, context=CONTEXT)
    assert (response.answer, response.context) == ("t", CONTEXT)
    with pytest.raises(SystemFailed, match="no parameter named `context`"):
        ask(lambda question: "x", context=CONTEXT)


@pytest.mark.parametrize(
    ("error", "is_async"),
    [
        (ValueError("bad thing"), False), (ValueError("bad thing"), True), (KeyError("k"), False),
        (KeyError("k"), True),
        (TimeoutError("slow"), True), (StopIteration("end"), False), (SystemExit("gone"), False),
        (SystemExit("gone"), True),
    ],
)  # fmt: skip
def test_whatever_it_raises_becomes_a_failure_with_type_and_message(error: BaseException, is_async: bool) -> None:
    def fails(question: str) -> str:
        raise error

    async def fails_later(question: str) -> str:
        raise error

    with pytest.raises(SystemFailed) as caught:
        ask(fails_later if is_async else fails)
    assert str(error.args[0]) in str(caught.value)
    assert type(error).__name__ in str(caught.value)


def test_secrets_in_what_was_raised_are_struck_out() -> None:
    def fails(question: str) -> str:
        raise ValueError("no answer from postgresql://me:hunter2@db/x; key sk-proj-abcdef123 refused" + " long" * 9000)

    with pytest.raises(SystemFailed) as caught:
        ask(fails)
    said = str(caught.value)
    assert "postgresql://me:***@db/x; key *** refused" in said
    assert len(said) < 2100


def test_its_own_kinds_of_failure_keep_their_words() -> None:
    def fails(question: str) -> str:
        raise TimedOut("took 5 s")

    with pytest.raises(SystemFailed, match="raised TimedOut: took 5 s"):
        ask(fails)


def test_cancellation_is_not_swallowed() -> None:
    async def forever(question: str) -> str:
        await asyncio.sleep(60)
        return ""

    async def main() -> None:
        task = asyncio.create_task(from_callable(forever).respond(QUESTION))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_sync_functions_do_not_block_the_loop_and_run_side_by_side() -> None:
    barrier = threading.Barrier(3, timeout=20)

    def waits(question: str) -> str:
        barrier.wait()  # passes only when three calls are inside at once
        return threading.current_thread().name

    async def main() -> list[Any]:
        system = from_callable(waits)
        return await asyncio.gather(*(system.respond(QUESTION) for _ in range(3)))

    names = {response.answer for response in asyncio.run(main())}
    assert len(names) == 3
    assert threading.main_thread().name not in names


def test_context_variables_reach_the_function() -> None:
    variable = contextvars.ContextVar("v", default="unset")

    async def main() -> Any:
        variable.set("set")
        return await from_callable(lambda question: variable.get()).respond(QUESTION)

    assert asyncio.run(main()).answer == "set"


def test_the_time_is_measured_unless_it_says_so_itself() -> None:
    def slow(question: str) -> str:
        time.sleep(0.05)
        return "x"

    assert ask(slow).total_ms >= 45
    assert ask(lambda question: {"answer": "x", "total_ms": 1.5}).total_ms == 1.5


def test_the_fingerprint_follows_source_and_version() -> None:
    def one(question: str) -> str:
        return "1"

    def two(question: str) -> str:
        return "2"

    prints = {
        from_callable(one, name="f").info().fingerprint,
        from_callable(two, name="f").info().fingerprint,
        from_callable(one, name="f", version="2").info().fingerprint,
    }
    assert len(prints) == 3
    assert from_callable(one, name="f").info() == from_callable(one, name="f").info()
    assert isinstance(from_callable(one), System)


def test_a_function_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_rag_for_test.py").write_text(
        "class Rag:\n    def answer(self, question):\n        return 'hi ' + question\nrag = Rag()\nnumber = 5\n"
    )
    (tmp_path / "broken_for_test.py").write_text("raise RuntimeError('at import')\n")
    (tmp_path / "needs_for_test.py").write_text("import surely_not_installed_here\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["x", *__import__("sys").path])
    system = build({"function": "python:my_rag_for_test:rag.answer"})
    assert asyncio.run(system.respond(QUESTION)).answer == "hi How?"
    assert build({"function": "my_rag_for_test:rag.answer", "version": 3}).info().settings["version"] == "3"
    for name, message in (
        ("my_rag_for_test:rag.anser", "Did you mean 'answer'"),
        ("my_rag_for_test:number", "is int, not a function"),
        ("my_rag_for_test", "does not name a function"),
        ("python:not_there_for_test:f", "no module 'not_there_for_test'"),
        ("broken_for_test:f", "cannot be imported: RuntimeError: at import"),
        ("needs_for_test:f", "needs 'surely_not_installed_here'"),
    ):
        with pytest.raises(SettingsError) as caught:
            build({"function": name})
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({}, "needs `function`"), ({"function": 5}, "needs `function`"), ({"function": "a:b", "versoin": 1}, "'version'")],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        build(settings)
    assert message in str(caught.value)


def test_functions_that_cannot_be_called_with_a_question_are_refused() -> None:
    with pytest.raises(SettingsError, match="takes no question"):
        from_callable(lambda: "x")
    with pytest.raises(SettingsError, match="nothing is given for: k"):
        from_callable(lambda question, k: "x")
    with pytest.raises(SettingsError, match="is not a function"):
        from_callable("text")  # type: ignore[arg-type]
