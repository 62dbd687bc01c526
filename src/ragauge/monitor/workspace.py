"""What monitoring keeps next to the log: draws, judged runs, topics with an example each, what was accepted.

LOG/monitor/samples/2026-01-31.json       the day's draw, with probabilities
LOG/monitor/judged/2026-01-31/…           an ordinary run directory for each judging (`ragauge show`, `review` …)
LOG/monitor/questions/2026-01-31.json     topics and drift of a random draw of the day's questions
LOG/monitor/topics.json  accepted.json    the topics that days are counted by; what is the new normal
LOG/monitor/projects/NAME/…               all of that for one project by itself
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from ragauge.core.model import Model, fingerprint
from ragauge.errors import DiskFull, SettingsError, StoreError
from ragauge.monitor.sampling import DaySample
from ragauge.store.rundir import RunDir, list_runs, write_json

M = TypeVar("M", bound=Model)
FOLDER, PROJECTS = "monitor", "projects"
#: What a workspace keeps by day.
PARTS = ("samples", "judged", "questions")


@dataclass(frozen=True)
class Workspace:
    """The folder. It is made when something is written."""

    root: Path

    @staticmethod
    def beside(log: str, state: Path | None = None, project: str | None = None) -> Workspace:
        """Next to a log on this disk, or in `state`; every project has its own, or the draw of one would stand for
        another. Raises `SettingsError` for a log at a URL without `state`.
        """
        if project is not None:
            return Workspace(Workspace.beside(log, state).root / PROJECTS / folder_of(project))
        if state is not None:
            return Workspace(state)
        if "://" in log and not log.startswith("file://"):
            raise SettingsError(
                f"{log} is not on this disk: samples and judgements need a folder here", hint="Name one with --state."
            )
        return Workspace(Path(log.removeprefix("file://")) / FOLDER)

    def read(self, kind: type[M], *parts: str) -> M | None:
        """One of our files; None when it is not there. Raises `StoreError` for one that is damaged."""
        path = self.root.joinpath(*parts)
        try:
            return kind.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValidationError, ValueError) as error:
            raise StoreError(
                f"{path} is damaged: {str(error).splitlines()[0]}", hint="Delete it; it is made again."
            ) from None

    def write(self, value: Model, *parts: str) -> None:
        """Whole or not at all."""
        path = self.root.joinpath(*parts)
        _parent(path)
        write_json(path, value)

    def sample(self, day: str) -> DaySample | None:
        """The day's draw, if there is one."""
        return self.read(DaySample, "samples", f"{day}.json")

    def save_sample(self, sample: DaySample) -> None:
        """Keep a day's draw."""
        self.write(sample, "samples", f"{sample.day}.json")

    def sampled_days(self) -> list[str]:
        """Days with a draw, oldest first."""
        folder = self.root / "samples"
        return sorted(path.stem for path in folder.glob("????-??-??.json")) if folder.is_dir() else []

    def judged(self, day: str) -> Path:
        """Where the day's judged runs are."""
        return self.root / "judged" / day

    def runs(self, day: str) -> list[RunDir]:
        """The day's judged runs, oldest first."""
        folder = self.judged(day)
        found = [RunDir.open(path) for path in list_runs(folder)] if folder.is_dir() else []
        return sorted(found, key=lambda run: (run.manifest.created, run.manifest.run))

    def accepted(self) -> dict[str, str]:
        """ "rule/series" → first day of the new normal."""
        path = self.root / "accepted.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise StoreError(f"{path} is damaged: {error}", hint="Restore or delete it.") from None
        return {str(key): str(day) for key, day in data.items()}

    def accept(self, key: str, day: str) -> None:
        """From `day` on, what rule and series show is the new normal."""
        path = self.root / "accepted.json"
        _parent(path)
        write_json(path, self.accepted() | {key: day})

    def late(self, day: str) -> Iterator[RunDir]:
        """Runs of thumbs down that came after the draw."""
        return (run for run in self.runs(day) if run.manifest.dataset.name.endswith("late"))


def folder_of(project: str) -> str:
    """A project's name as that of a folder.

    >>> folder_of("help"), folder_of("../a b")
    ('help', '%2E%2E%2Fa%20b')
    """
    name = quote(project, safe="").replace(".", "%2E")
    return name if len(name) <= 100 else f"{name[:80]}-{fingerprint(project)}"


def spaces_in(root: Path) -> list[Path]:
    """The folder of a workspace, and those of the projects in it."""
    return [root, *sorted(path for path in (root / PROJECTS).glob("*") if path.is_dir())]


def _parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        kind = DiskFull if error.errno == 28 else StoreError
        raise kind(f"cannot write {path}: {error.strerror}") from None
