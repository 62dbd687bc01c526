from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import Question, Response
from ragauge.errors import SettingsError, SystemFailed, TimedOut
from ragauge.systems.program import ProgramSystem, build
from ragauge.testing.systems import check_system

QUESTION = Question(id="q1", text="Wie viele Anfragen? 🙂")

ANSWER = """
import json, sys
asked = json.load(sys.stdin)
print("looking it up", file=sys.stderr)
print(json.dumps({"answer": asked["question"].upper(), "contexts": [{"id": "c1", "text": "t", "document": "a.md"}]}))
"""
LINES = """
import json, os, sys
print("ready")
n = 0
for line in sys.stdin:
    asked = json.loads(line)
    n += 1
    if asked["question"] == "die":
        print("out of memory", file=sys.stderr, flush=True)
        sys.exit(3)
    print(json.dumps({"id": asked["id"], "answer": f"{os.getpid()} {n} {asked['question']}"}), flush=True)
"""
HANGS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(f"child {child.pid}", file=sys.stderr, flush=True)
time.sleep(60)
"""


def program(folder: Path, text: str, **settings: Any) -> ProgramSystem:
    (folder / "answer.py").write_text(text)
    return build({"command": [sys.executable, "answer.py"], **settings}, base=folder)


def ask(system: ProgramSystem, *questions: Question) -> list[Response]:
    async def all_of_them() -> list[Response]:
        try:
            return [await system.respond(one) for one in questions or (QUESTION,)]
        finally:
            await system.aclose()

    return asyncio.run(all_of_them())


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_json_in_json_out(tmp_path: Path) -> None:
    (response,) = ask(program(tmp_path, ANSWER))
    assert response.answer == "WIE VIELE ANFRAGEN? 🙂"
    assert response.context is not None
    assert response.context.chunks[0].document == "a.md"
    assert response.total_ms is not None
    check_system(program(tmp_path, ANSWER), takes_context=False)


def test_a_command_as_text_with_an_input_and_a_map(tmp_path: Path) -> None:
    text = 'import json, sys; a = json.load(sys.stdin); print(json.dumps({"out": {"said": a["q"] + sys.argv[1]}}))'
    (tmp_path / "answer.py").write_text(text)
    settings = {
        "command": f"'{sys.executable}' answer.py 'a b'", "input": {"q": "{question}"},
        "response": {"answer": "$.out.said"},
    }  # fmt: skip
    (response,) = ask(build(settings, base=tmp_path))
    assert response.answer == QUESTION.text + "a b"


def test_one_process_is_kept_for_all_questions(tmp_path: Path) -> None:
    system = program(tmp_path, LINES, mode="lines")
    said = [str(one.answer).split() for one in ask(system, *(Question(id=str(n), text="x") for n in range(3)))]
    assert len({pid for pid, _, _ in said}) == 1
    assert [n for _, n, _ in said] == ["1", "2", "3"]
    assert not is_running(int(said[0][0]))


def test_several_processes_answer_side_by_side(tmp_path: Path) -> None:
    system = program(
        tmp_path, LINES.replace("n += 1", "n += 1; import time; time.sleep(0.3)"), mode="lines", processes=3
    )

    async def main() -> set[str]:
        answers = await asyncio.gather(*(system.respond(Question(id=str(n), text="x")) for n in range(3)))
        await system.aclose()
        return {str(one.answer).split()[0] for one in answers}

    assert len(asyncio.run(main())) == 3


def test_a_process_that_ends_is_an_error_with_its_last_words_and_another_takes_over(tmp_path: Path) -> None:
    system = program(tmp_path, LINES, mode="lines")

    async def main() -> Response:
        with pytest.raises(SystemFailed, match=r"exit code 3.*out of memory"):
            await system.respond(Question(id="1", text="die"))
        response = await system.respond(Question(id="2", text="x"))
        await system.aclose()
        return response

    assert str(asyncio.run(main()).answer).endswith("1 x")


@pytest.mark.parametrize("mode", ["each", "lines"])
def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path, mode: str) -> None:
    started = time.perf_counter()
    with pytest.raises(TimedOut, match=r"within 1\.5 s and was killed; its standard error: child") as caught:
        ask(program(tmp_path, HANGS, mode=mode, timeout_s=1.5))
    assert time.perf_counter() - started < 10
    child = int(str(caught.value).rpartition("child ")[2])
    deadline = time.monotonic() + 5
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(child)


def test_a_question_that_is_cancelled_kills_its_program(tmp_path: Path) -> None:
    system = program(tmp_path, "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)")

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await system.respond(QUESTION)
        await system.aclose()

    asyncio.run(main())
    pid = int((tmp_path / "pid").read_text())
    time.sleep(0.1)
    assert not is_running(pid)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; sys.exit('no index: run build first')", r"exit code 1.*no index: run build first"),
        ("print('hello')", r"'hello', which is no JSON"),
        ("pass", "printed nothing"),
        ("print('[1, 2]')", "returned list"),
        ("print('{\"anser\": 1}')", "without an answer"),
        ("print('x' * 3_000_000)", "more than 1 MB"),
    ],
)
def test_what_a_program_does_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SystemFailed, match=message):
        ask(program(tmp_path, text, max_reply_mb=1))


def test_a_secret_reaches_the_program_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cret-token")
    text = "import os, sys; sys.exit('bad key ' + os.environ['KEY'])"
    system = program(tmp_path, text, env={"KEY": "${MY_TOKEN}", "OTHER": "literal-value"})
    card = system.info().model_dump_json()
    assert "s3cret" not in card
    assert "literal-value" not in card
    with pytest.raises(SystemFailed, match=r"bad key \*\*\*") as caught:
        ask(system)
    assert "s3cret" not in str(caught.value)


def test_an_edited_program_is_another_system(tmp_path: Path) -> None:
    before = program(tmp_path, ANSWER).info().fingerprint
    assert program(tmp_path, ANSWER).info().fingerprint == before
    assert program(tmp_path, ANSWER + "# changed").info().fingerprint != before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs `command`"),
        ({"command": []}, "is empty"),
        ({"command": "no-such-program-here"}, "there is no program"),
        ({"command": sys.executable, "mod": "lines"}, "Did you mean 'mode'"),
        ({"command": sys.executable, "cwd": "nowhere"}, "there is no folder"),
        ({"command": sys.executable, "input": {"q": "x"}}, "the question is nowhere"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        build(settings)
