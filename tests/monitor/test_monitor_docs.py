"""The how-to of monitoring says what is there."""

from __future__ import annotations

import re
from pathlib import Path

import click
import yaml

from ragauge.cli.monitor import command
from ragauge.monitor.report import MonitorSettings
from ragauge.monitor.rules import DEFAULTS, Limit
from ragauge.monitor.settings import log_settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "monitor.md"


def _blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_every_command_on_the_page_exists_with_its_options() -> None:
    lines = re.findall(r"ragauge monitor (\w+)([^\n`#]*)", PAGE.read_text(encoding="utf-8"))
    assert {verb for verb, _ in lines} >= {
        "sample",
        "judge",
        "check",
        "report",
        "rows",
        "rules",
        "accept",
        "candidates",
        "outcomes",
    }
    for verb, rest in lines:
        found = command.commands[verb]
        known = {name for parameter in found.params if isinstance(parameter, click.Option) for name in parameter.opts}
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= known, f"{verb}{rest}"


def test_the_settings_on_the_page_are_read() -> None:
    first, rules = (yaml.safe_load(block) for block in _blocks("yaml"))
    assert log_settings(first["monitor"]).log == "production"
    assert MonitorSettings.of(first["monitor"]).rules == DEFAULTS
    by_name = {rule.name: rule for rule in MonitorSettings.of(rules["monitor"]).rules}
    assert isinstance(by_name["faithful"], Limit)
    assert not by_name["topic_mix_change"].enabled


def test_every_default_rule_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [rule.name for rule in DEFAULTS if f"`{rule.name}`" not in text] == []


def test_the_python_on_the_page_compiles() -> None:
    for block in _blocks("python"):
        compile(block, str(PAGE), "exec")
