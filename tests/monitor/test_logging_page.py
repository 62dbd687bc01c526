"""What docs/how-to/monitor-logging.md says is so: its Python runs, its settings and commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tests.monitor.serving import all_of

from ragauge.cli.monitor import command
from ragauge.monitor.query import LoggedQuery
from ragauge.monitor.redact import PATTERNS
from ragauge.monitor.settings import log_settings

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "monitor-logging.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_its_python_logs_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"my_function": str.upper}
    first, second = _blocks("python")
    exec(first, space)
    assert space["log"].close()  # type: ignore[attr-defined]
    (query,) = all_of("production").values()
    assert (query.feedback, query.note, query.outcome, query.n_chunks) == ("down", "wrong button", 1.0, 1)
    exec(second, space)
    space["log"].close()  # type: ignore[attr-defined]


def test_its_settings_and_commands_exist() -> None:
    (settings,) = _blocks("yaml")
    assert log_settings(yaml.safe_load(settings)["monitor"]).keep_days == 90
    named = re.findall(r"ragauge monitor (\w+)", "".join(_blocks("sh")))
    assert set(named) == {"serve", "ingest", "compact", "prune"}
    assert set(named) <= set(command.commands)
    for line in re.findall(r"ragauge monitor (.*)", "".join(_blocks("sh"))):
        verb, *words = line.split()
        options = {option for parameter in command.commands[verb].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options
    fields = re.search(r"`total_ms`, (.*?) are known", PAGE, re.DOTALL)
    assert fields is not None
    assert set(re.findall(r"`(\w+)`", fields.group(1))) <= set(LoggedQuery.model_fields)
    known = re.search(r"Known names: (.*?)\.", PAGE)
    assert known is not None
    assert set(re.findall(r"`(\w+)`", known.group(1))) == set(PATTERNS)
