"""The files that a run in MLflow holds: the report, the table of rows, manifest, summary, diagnosis, prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ragauge.core.run import Manifest, Summary
from ragauge.diagnose.counterfactuals import read_counterfactuals
from ragauge.diagnose.matrix import diagnose
from ragauge.errors import MissingExtra, RagaugeError
from ragauge.outlets.mlflow_names import write_table
from ragauge.prompts.loader import Prompt, load, names
from ragauge.report.export import run_markdown
from ragauge.report.html import html_parts
from ragauge.store.rundir import RunDir

#: The folder among a run's artifacts, and the table in it.
ARTIFACTS, TABLE = "ragauge", "results.json"


def write_artifacts(run: RunDir, summary: Summary, folder: Path, *, report: bool = True) -> None:
    """Write all of them into `folder`. The page is left out where Jinja2 is not installed."""
    manifest = run.manifest
    findings = diagnose(summary)
    with (folder / TABLE).open("w", encoding="utf-8") as handle:
        write_table(run, handle)
    (folder / "manifest.json").write_text(manifest.model_dump_json(indent=2, exclude_none=True), encoding="utf-8")
    (folder / "summary.json").write_text(summary.model_dump_json(indent=2, exclude_none=True), encoding="utf-8")
    told = [finding.model_dump(mode="json") for finding in findings]
    (folder / "diagnosis.json").write_text(json.dumps(told, ensure_ascii=False, indent=2), encoding="utf-8")
    (folder / "report.md").write_text(run_markdown(manifest, summary, findings), encoding="utf-8")
    if report:
        _page(run, folder / "report.html")
    for prompt in prompts_of(manifest):
        place = folder / "prompts"
        place.mkdir(exist_ok=True)
        text = f"# System\n{prompt.system}\n\n# User\n{prompt.user}\n"
        (place / f"{prompt.name}.v{prompt.version}.md").write_text(text, encoding="utf-8")


def prompts_of(manifest: Manifest) -> list[Prompt]:
    """The prompts that the judge used, as far as they are still what they were (their hashes are in the params)."""
    hashes = dict(manifest.judge.prompts) if manifest.judge is not None else {}
    judge = manifest.settings.get("judge")
    given: Any = judge.get("prompts") if isinstance(judge, dict) else None
    folders = [Path(str(manifest.settings.get("base", "."))) / str(given)] if given else []
    found = []
    for name, mark in hashes.items():
        for folder in (*folders, None):
            prompt = _load(name, folder)
            if prompt is not None and mark and prompt.sha256.startswith(mark):
                found.append(prompt)
                break
    return found


def _load(name: str, folder: Path | None) -> Prompt | None:
    version = names().get(name)
    try:
        return load(name, version, folder=folder) if version is not None else None
    except RagaugeError:
        return None


def _page(run: RunDir, file: Path) -> None:
    try:
        parts = html_parts(run.manifest, run.records, read_counterfactuals(run.path))
        with file.open("w", encoding="utf-8", errors="replace") as handle:
            handle.writelines(parts)
    except MissingExtra:
        file.unlink(missing_ok=True)
