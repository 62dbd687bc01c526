"""The page on the fields of a golden item names them all, and its example is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragauge.core.sample import GoldenItem
from ragauge.dataset import load_golden
from ragauge.dataset.golden_validate import validate_golden
from ragauge.errors import InputError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "golden.md"


def test_every_field_has_a_row_and_every_row_is_a_field() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(GoldenItem.model_fields)


def test_the_example_is_read_and_uses_every_field(tmp_path: Path) -> None:
    found = re.search(r"```yaml golden\.yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    file = tmp_path / "golden.yaml"
    file.write_text(found[1], encoding="utf-8")
    items = load_golden(file).items
    used = {name for item in items for name in item.model_fields_set if getattr(item, name) not in (None, (), {})}
    assert used == set(GoldenItem.model_fields)
    assert [item.can_be_answered for item in items] == [True, True, True, False]
    assert not [one for one in validate_golden(file).complaints if one.severity == "error"]


def test_evidence_says_that_a_question_can_be_answered_and_a_reference_does_not() -> None:
    def answerable(**fields: object) -> bool | None:
        return GoldenItem.model_validate({"id": "a", "question": "Q?", **fields}).can_be_answered

    assert answerable() is None
    assert answerable(answer="The documentation does not say.") is None
    assert answerable(relevance={"a": 0}) is None
    assert answerable(relevance={"a": 0, "b": 1}) is True
    assert answerable(sources=["a.md"]) is True
    assert answerable(sources=["near.md"], answerable=False) is False


@pytest.mark.parametrize("field", ["chunks", "sources"])
def test_grades_where_ids_belong_are_sent_to_the_right_field(field: str, tmp_path: Path) -> None:
    file = tmp_path / "golden.yaml"
    file.write_text(f"- {{question: Q?, {field}: {{a: 3}}}}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"with grades: relevance: \{ID: 0 to 3\}"):
        load_golden(file)
