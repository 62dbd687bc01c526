"""What one pytest session shares: the run, made once by whichever worker first needs it, and what follows from it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ragauge.analysis.gate_result import GateResult
    from ragauge.api import Run
    from ragauge.core.run import Record
    from ragauge.core.sample import GoldenItem

DEFAULT_CONFIG = "ragauge.yaml"


class Session:
    """What one pytest session shares: the run, made once, and the options."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self.config, self.folder = config, folder
        self.notes: list[str] = []
        self._run: Run | None = None
        self._outcomes: dict[str, tuple[str, ...]] | None = None

    @property
    def asked_for(self) -> bool:
        """Whether golden questions are to be collected as tests."""
        option = self.config.getoption
        named = "ragauge" in (option("plugins", None) or [])
        return bool(option("--ragauge") or option("--ragauge-config") or option("--ragauge-run") or named)

    @property
    def run_reference(self) -> str | None:
        """The finished run to test, if one was named."""
        reference: str | None = self.config.getoption("--ragauge-run")
        return reference

    @property
    def config_path(self) -> Path:
        """The settings file."""
        named = self.config.getoption("--ragauge-config")
        if named:
            return self.config.invocation_params.dir / Path(named)
        for folder in (Path(self.config.invocation_params.dir), self.config.rootpath):
            if (folder / DEFAULT_CONFIG).is_file():
                return folder / DEFAULT_CONFIG
        raise pytest.UsageError(
            f"no {DEFAULT_CONFIG} here: write one with `ragauge init`, or name it (--ragauge-config)"
        )

    def items(self) -> list[str]:
        """The ids of the golden questions, without running anything."""
        if self.run_reference is not None:
            return list(dict.fromkeys(record.sample.item.id for record in self.run().rows()))
        from ragauge.engine.settings import load_settings

        settings = load_settings(self.config_path)
        if settings.golden is None:
            raise pytest.UsageError(f"{self.config_path} names no golden set (golden: …)")
        found = golden_items(settings.path(settings.golden), tags=settings.run.tags, limit=settings.run.limit)
        return [item.id for item in found]

    def run(self) -> Run:
        """The run: the named one, or this session's, which the first worker to ask for it makes."""
        if self._run is None:
            from ragauge import api

            reference = self.run_reference or self._made_once()
            base = Path(self.config.invocation_params.dir) / "runs"
            self._run = api.open_run(reference, base)
        return self._run

    def _made_once(self) -> str:
        """The path of this session's run. A lock file keeps workers apart; the first one runs, the others read."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        done, lock = self.folder / "run.json", self.folder / "lock"
        while True:
            if done.is_file():
                found = json.loads(done.read_text(encoding="utf-8"))
                if "error" in found:
                    pytest.fail(f"the run failed: {found['error']}", pytrace=False)
                return str(found["run"])
            try:
                handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            except FileExistsError:
                _check_alive(lock)
                time.sleep(0.1)
                continue
            os.write(handle, str(os.getpid()).encode())
            os.close(handle)
            return self._make(done)

    def _make(self, done: Path) -> str:
        from ragauge.errors import RagaugeError

        found: dict[str, str] = {}
        try:
            found = {"run": str(self._evaluate().resolve())}
        except RagaugeError as error:
            found = {"error": str(error)}
            pytest.fail(f"the run failed: {error}", pytrace=False)
        finally:
            beside = done.with_suffix(".new")
            beside.write_text(json.dumps(found or {"error": "the worker that ran it broke off"}), encoding="utf-8")
            beside.replace(done)
        return found["run"]

    def _evaluate(self) -> Path:
        from ragauge import api
        from ragauge.engine.settings import load_settings

        settings = load_settings(self.config_path)
        base = Path(self.config.invocation_params.dir)
        options = api.make_options(settings, base / settings.run.out, "run", settings.run.name)
        made = api.run(settings.path(settings.golden or ""), None, options)
        return made.path

    def problems(self, item: str) -> tuple[str, ...]:
        """What is wrong with the answers to one question; empty when nothing is. Most of the repeats decide."""
        if self._outcomes is None:
            self._outcomes = outcomes(self.run())
        return self._outcomes.get(item, ("the run has no row for it",))

    def gate(self) -> GateResult | None:
        """The gate's verdict on the whole set; None when there is nothing to hold it against."""
        from ragauge.analysis.baseline import read_baseline
        from ragauge.analysis.gate import gate
        from ragauge.errors import UsageError

        run = self.run()
        settings = self._gate_settings()
        path = self.baseline_path
        baseline = (
            read_baseline(path) if path is not None and not self.config.getoption("--ragauge-update-baseline") else None
        )
        try:
            return gate(run.manifest, run.rows, settings, baseline)
        except UsageError as error:
            if baseline is None and error.message == "the gate has nothing to check":
                return None
            raise

    def _gate_settings(self) -> Any:
        from ragauge.analysis.gate_settings import gate_settings
        from ragauge.engine.settings import load_settings

        try:
            path = self.config_path
        except pytest.UsageError:
            return gate_settings({})
        section = dict(load_settings(path).gate)
        if isinstance(section.get("baseline"), str):
            section["baseline"] = str(path.parent / section["baseline"])
        return gate_settings(section)

    @property
    def baseline_path(self) -> Path | None:
        """The baseline file that was named, by option or in the settings."""
        named = self.config.getoption("--ragauge-baseline")
        if named:
            return self.config.invocation_params.dir / Path(named)
        settings = self._gate_settings()
        return Path(settings.baseline) if settings.baseline else None

    def update_baseline(self) -> None:
        """Write the baseline from the run that this session made."""
        from ragauge.analysis.baseline import make_baseline, write_baseline

        done = self.folder / "run.json"
        path = self.baseline_path or Path(self.config.invocation_params.dir) / "baseline.json"
        if self.run_reference is None and "run" not in (json.loads(done.read_text("utf-8")) if done.is_file() else {}):
            self.notes.append(f"{path} was not written: this session has no finished run")
            return
        run = self.run()
        if not run.summary.complete or any(result.n_errors for result in run.summary.metrics.values()):
            self.notes.append(f"{path} was not written: scores are missing in {run.path} (see `ragauge baseline`)")
            return
        write_baseline(path, make_baseline(run.manifest, run.rows()))
        self.notes.append(f"wrote {path} from {run.path}")


SESSION: pytest.StashKey[Session] = pytest.StashKey()


def _check_alive(lock: Path) -> None:
    """Fail when the worker that makes the run is gone, instead of waiting for it for ever."""
    try:
        pid = int(lock.read_text("utf-8"))
        os.kill(pid, 0)
    except (ValueError, PermissionError, FileNotFoundError):
        return  # not written yet, another user's, or just finished
    except ProcessLookupError:
        pytest.fail("the worker that ran the system died", pytrace=False)


def golden_items(path: Path, *, tags: Sequence[str] = (), limit: int | None = None) -> list[GoldenItem]:
    """The items of a golden set that carry any of `tags`, at most `limit` of them."""
    from ragauge.dataset.golden import load_golden

    wanted = set(tags)
    items = [item for item in load_golden(path) if not wanted or wanted & set(item.tags)]
    return items[:limit]


def beside_test(config: pytest.Config, name: str, test_file: Path) -> Path:
    """A path beside the test file, else below the root."""
    beside = test_file.parent / name
    return beside if beside.exists() else config.rootpath / name


def test_name(item_id: str) -> str:
    """An item's id as a test's id: the same every time, on one line, nothing invisible."""
    from ragauge.text.normalise import display

    return " ".join(display(item_id).split())


def outcomes(run: Run) -> dict[str, tuple[str, ...]]:
    """Question → what is wrong with it: problems of its rows when most of its repeats have any."""
    from ragauge.analysis.rowcheck import check_row
    from ragauge.analysis.thresholds import Thresholds

    thresholds = Thresholds.model_validate(run.manifest.thresholds or {})
    found: dict[str, list[tuple[str, ...]]] = {}
    for record in run.rows():
        check = check_row(record, thresholds)
        bad = check.outcome != "good"
        found.setdefault(record.sample.item.id, []).append(told(record, check.problems) if bad else ())
    return {
        item: next(r for r in rows if r) if sum(map(bool, rows)) * 2 > len(rows) else () for item, rows in found.items()
    }


def told(record: Record, problems: Sequence[str]) -> tuple[str, ...]:
    """What is wrong, the question, and the first reason that a judge gave."""
    from ragauge.analysis.flips import explain
    from ragauge.core.score import Scored
    from ragauge.text.normalise import display

    lines = ["; ".join(problems), f"question: {' '.join(record.sample.item.question.split())[:300]}"]
    judged = [key for key, score in record.scores.items() if isinstance(score, Scored) and score.verdicts]
    why = next((text for key in judged if record.scores[key].value < 1 and (text := explain(record, key))), "")  # type: ignore[union-attr]
    answer = record.sample.response.answer
    if why:
        lines.append(f"why: {why}")
    elif answer:
        lines.append(f"answer: {' '.join(answer.split())[:300]}")
    return tuple(display(line) for line in lines)
