"""The explanation names every rule, every cause and every condition."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragauge.diagnose.causes import CAUSES
from ragauge.diagnose.fixes import FIXES
from ragauge.diagnose.rules import RULES
from ragauge.engine.counterfactual import CONDITIONS

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "diagnosis.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_its_section_with_its_own_words(rule: object) -> None:
    section = PAGE.partition(f"### {rule.name}\n")[2].partition("###")[0]  # type: ignore[attr-defined]
    for words in (rule.diagnosis, rule.cause, rule.try_first, rule.check):  # type: ignore[attr-defined]
        assert words in section


@pytest.mark.parametrize("name", CAUSES)
def test_every_cause_stands_in_the_table(name: str) -> None:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    assert CAUSES[name].title in line
    assert FIXES[CAUSES[name].fix].do in line


def test_every_condition_is_explained() -> None:
    assert all(f"`{condition}`" in PAGE for condition in CONDITIONS)
