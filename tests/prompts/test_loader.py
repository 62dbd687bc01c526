from __future__ import annotations

from pathlib import Path

import pytest

from ragauge import prompts
from ragauge.core.tasks import TASKS
from ragauge.errors import InputError, SettingsError, UnknownName
from ragauge.prompts.fences import Fenced
from ragauge.prompts.loader import check_folder

OWN = "# System\nTask: sufficiency. Own words. <<{{fence}}>>\n\n# User\nItem: {{item}}\n{{question}}\n{{passages}}\n"


@pytest.mark.parametrize("task", [t for t in TASKS.values() if t.name != "similarity"], ids=lambda t: t.name)
def test_every_task_has_a_prompt_that_names_its_labels(task) -> None:
    prompt = prompts.load(task.name, task.version)
    assert prompt.system.startswith(f"Task: {task.name}.")
    for label in task.labels:
        assert f"- {label}:" in prompt.system


def test_the_hash_changes_with_the_words_and_not_with_line_ends(tmp_path: Path) -> None:
    (tmp_path / "sufficiency.v1.md").write_text(OWN, encoding="utf-8")
    unix = prompts.load("sufficiency", folder=tmp_path)
    (tmp_path / "sufficiency.v1.md").write_bytes(OWN.replace("\n", "\r\n").encode())
    assert prompts.load("sufficiency", folder=tmp_path).sha256 == unix.sha256
    assert unix.sha256 != prompts.load("sufficiency").sha256


def test_a_project_overrides_one_prompt_and_keeps_the_others(tmp_path: Path) -> None:
    (tmp_path / "sufficiency.v1.md").write_text(OWN, encoding="utf-8")
    own = prompts.load("sufficiency", folder=tmp_path)
    assert "Own words" in own.system
    assert own.source == str(tmp_path / "sufficiency.v1.md")
    assert prompts.load("support", folder=tmp_path) == prompts.load("support")


def test_an_override_without_a_placeholder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sufficiency.v1.md").write_text(OWN.replace("{{passages}}", "none"), encoding="utf-8")
    with pytest.raises(InputError, match=r"sufficiency\.v1\.md.*lacks.*\{\{passages\}\}"):
        prompts.load("sufficiency", folder=tmp_path)


def test_an_override_with_an_unknown_placeholder_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "sufficiency.v1.md").write_text(OWN + "{{passage}}", encoding="utf-8")
    with pytest.raises(InputError, match=r"unknown placeholder.*'passage'.*passages"):
        prompts.load("sufficiency", folder=tmp_path)


@pytest.mark.parametrize("text", ["", "# System\nonly", "no parts", "# User\nx\n# System\ny", "# System\n\n# User\nx"])
def test_a_file_without_both_parts_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "support.v1.md").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="part"):
        prompts.load("support", folder=tmp_path)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "support.v1.md").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="not UTF-8"):
        prompts.load("support", folder=tmp_path)


def test_an_unknown_prompt_offers_the_nearest() -> None:
    with pytest.raises(UnknownName, match="support"):
        prompts.load("suport")


def test_a_folder_with_a_file_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    (tmp_path / "suport.v1.md").write_text(OWN, encoding="utf-8")
    with pytest.raises(InputError, match="support"):
        check_folder(tmp_path)
    with pytest.raises(SettingsError, match="does not exist"):
        check_folder(tmp_path / "none")


def test_values_must_be_the_placeholders() -> None:
    with pytest.raises(ValueError, match="takes"):
        prompts.load("probe").render(item="T1", more="x")


def test_an_absent_text_leaves_no_trace() -> None:
    prompt = prompts.load("split_claims")
    shown = prompt.render(item="T1", question=Fenced.one("question", None), text=Fenced.one("text", "A."))
    assert "question>>" not in shown.user
    assert "\n\n" not in shown.user
