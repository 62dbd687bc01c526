"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ragauge.testing.runs import a_run

GOLDEN = """
- {id: port, question: Which port does the agent listen on?, answer: Port 8125., keywords: ["8125"]}
- {id: name, question: What is the agent called?, answer: Otter., keywords: [Otter], tags: [lookup]}
- {id: "späße: [x]", question: Where are the logs?, answer: In /var/log., keywords: [/var/log]}
"""

SYSTEM = """
from pathlib import Path
ANSWERS = {"Which port does the agent listen on?": "It listens on port 8125.", "What is the agent called?": "Badger."}
def answer(question, **more):
    with Path(__file__).with_name("asked.txt").open("a") as file:
        file.write(question + "\\n")
    return ANSWERS.get(question, "They are in /var/log.")
"""

CONFIG = """
golden: golden.yaml
system: {callable: {function: "python:my_system:answer"}}
judge: null
metrics: [keyword_hits]
gate: {floors: {keyword_hits: 0.9}, min_questions: 2}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    (tmp_path / "my_system.py").write_text(SYSTEM, encoding="utf-8")
    (tmp_path / "ragauge.yaml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def session(folder: Path, *args: str) -> str:
    """The output of `pytest ARGS` in `folder`, with its exit code as last line."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "ragauge.pytest_plugin", "-p", "no:cacheprovider",
         "-p", "no:ragauge", "-p", "no:langsmith_plugin", "--color=no", *args],  # LangSmith's own loads pydantic
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder), "PYTHONUTF8": "1", "HOME": str(folder)},
    )  # fmt: skip
    return f"{done.stdout}{done.stderr}\nexit {done.returncode}"


def counted(output: str) -> dict[str, int]:
    """`2 failed, 1 passed in 0.1s` → {"failed": 2, "passed": 1}."""
    last = [line for line in output.splitlines() if re.search(r"\d+ (passed|failed|skipped|xfailed|error)", line)][-1]
    return {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|xfailed|errors?)", last)}


def test_one_red_test_for_each_failing_question_with_its_reason(project: Path) -> None:
    output = session(project, "--ragauge", "-v")
    assert counted(output) == {"failed": 2, "passed": 2}
    assert "ragauge.yaml::name FAILED" in output
    assert "ragauge.yaml::port PASSED" in output
    assert "question: What is the agent called?" in output
    assert "Badger" in output
    assert "Traceback" not in output
    assert output.endswith("exit 1")


def test_the_whole_set_fails_with_the_gates_words(project: Path) -> None:
    output = session(project, "--ragauge", "-k", "whole")
    assert counted(output) == {"failed": 1}
    assert "floor keyword_hits: keyword_hits is 0.667, the limit is 0.9" in output


def test_questions_can_be_chosen_by_name_and_the_system_is_run_once(project: Path) -> None:
    output = session(project, "--ragauge", "-k", "port")
    assert counted(output) == {"passed": 1}
    assert len((project / "asked.txt").read_text().splitlines()) == 3


def test_collecting_runs_nothing(project: Path) -> None:
    output = session(project, "--ragauge", "--collect-only", "-q")
    assert "ragauge.yaml::port" in output
    assert not (project / "asked.txt").exists()


def test_record_only_reddens_nothing(project: Path) -> None:
    output = session(project, "--ragauge", "--ragauge-record-only")
    assert counted(output) == {"xfailed": 2, "passed": 2}
    assert output.endswith("exit 0")


@pytest.mark.slow
def test_xdist_workers_share_one_run(project: Path) -> None:
    output = session(project, "--ragauge", "-n", "2")
    assert counted(output) == {"failed": 2, "passed": 2}
    assert len((project / "asked.txt").read_text().splitlines()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["-n", "2"]])
def test_a_baseline_is_written_and_then_held_against(project: Path, more: list[str]) -> None:
    (project / "ragauge.yaml").write_text(CONFIG.replace("floors: {keyword_hits: 0.9}, ", ""), encoding="utf-8")
    output = session(project, "--ragauge", "--ragauge-update-baseline", "--ragauge-baseline", "b.json", *more)
    assert "wrote" in output
    assert (project / "b.json").is_file()
    output = session(project, "--ragauge", "--ragauge-baseline", "b.json", "-k", "whole", *more)
    assert counted(output) == {"passed": 1}
    (project / "my_system.py").write_text(SYSTEM.replace("port 8125", "port 1"), encoding="utf-8")
    output = session(project, "--ragauge", "--ragauge-baseline", "b.json", "-k", "whole", *more)
    assert counted(output) == {"failed": 1}
    assert "drop keyword_hits" in output


@pytest.mark.slow
def test_a_system_that_cannot_be_run_is_told_once_per_test_and_hangs_nobody(project: Path) -> None:
    (project / "ragauge.yaml").write_text(CONFIG.replace("my_system:answer", "no_such_module:x"), encoding="utf-8")
    output = session(project, "--ragauge", "-n", "2")
    assert counted(output) == {"failed": 4}
    assert "no_such_module" in output


def test_a_finished_run_can_be_tested(project: Path) -> None:
    a_run(project / "runs", {"q1": {"keyword_hits": 1.0}, "q2": {"keyword_hits": 0.0}}, name="done")
    output = session(project, "--ragauge-run", "done", "-k", "q1 or q2", "-v")
    assert counted(output) == {"failed": 1, "passed": 1}
    assert not (project / "asked.txt").exists()


def test_the_marker_calls_a_test_for_each_item_with_stable_ids(project: Path) -> None:
    (project / "test_mine.py").write_text(
        "import pytest\n"
        "from my_system import answer\n"
        "@pytest.mark.ragauge(golden='golden.yaml')\n"
        "def test_answers(golden_item, ragauge_check):\n"
        "    scores = ragauge_check(golden_item, answer(golden_item.question), metrics=['keyword_hits'], judge=None)\n"
        "    assert scores['keyword_hits'].value == 1\n"
        "@pytest.mark.ragauge(golden='golden.yaml', tags=['lookup'])\n"
        "def test_tagged(golden_item):\n"
        "    assert golden_item.id == 'name'\n",
        encoding="utf-8",
    )
    output = session(project, "--strict-markers", "-v", "test_mine.py")
    assert counted(output) == {"failed": 1, "passed": 3}
    assert "test_answers[name] FAILED" in output
    assert "test_answers[port] PASSED" in output


def test_whole_set_assertions_in_ones_own_tests(project: Path) -> None:
    (project / "test_mine.py").write_text(
        "def test_share(ragauge_run):\n    assert ragauge_run['keyword_hits'].value > 0.6\n"
        "def test_gate(ragauge_gate):\n    assert ragauge_gate.verdict == 'fail'\n",
        encoding="utf-8",
    )
    assert counted(session(project, "test_mine.py")) == {"passed": 2}


def test_golden_item_without_a_golden_set_is_a_usage_error(project: Path) -> None:
    (project / "test_mine.py").write_text("def test_x(golden_item):\n    pass\n", encoding="utf-8")
    assert "needs @pytest.mark.ragauge" in session(project, "test_mine.py")


def test_unused_it_is_silent_and_loads_nothing(project: Path) -> None:
    (project / "test_mine.py").write_text(
        "import sys\ndef test_x():\n    assert not {'numpy', 'pydantic', 'scipy', 'ragauge.api'} & set(sys.modules)\n",
        encoding="utf-8",
    )
    output = session(project, "test_mine.py")
    assert counted(output) == {"passed": 1}
    assert "= ragauge =" not in output
    assert not (project / "asked.txt").exists()


def test_without_settings_it_says_what_to_do(tmp_path: Path) -> None:
    output = session(tmp_path, "--ragauge")
    assert "ragauge init" in output
    assert output.endswith("exit 4")
