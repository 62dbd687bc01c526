"""What pins a run: versions, commit, fingerprints."""

from __future__ import annotations

import platform
import secrets
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from ragauge._version import __version__
from ragauge.core.judge import JudgeInfo
from ragauge.core.run import DatasetInfo, Manifest
from ragauge.core.system import SystemInfo
from ragauge.engine.plan import MetricPlan
from ragauge.errors import StoreError
from ragauge.store.rundir import run_name

_PACKAGES = ("numpy", "pydantic", "scipy", "qdrant-client", "bm25s", "openai", "anthropic")


def make_manifest(
    command: Literal["run", "score", "evaluate"],
    *,
    name: str,
    dataset: DatasetInfo,
    system: SystemInfo,
    judge: JudgeInfo | None,
    plan: MetricPlan,
    thresholds: Mapping[str, Any],
    settings: Mapping[str, Any],
    seed: int,
    repeats: int,
    notes: tuple[str, ...] = (),
) -> Manifest:
    """A manifest with everything that could change the numbers."""
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Manifest(
        run=run_name(created, name, secrets.token_hex(2)),
        command=command,
        created=created,
        ragauge=__version__,
        python=platform.python_version(),
        platform=platform.platform(terse=True),
        packages=_versions(),
        commit=_commit(),
        seed=seed,
        repeats=repeats,
        dataset=dataset,
        system=system,
        judge=judge,
        metrics=plan.specs,
        skipped_metrics=plan.skipped,
        thresholds=dict(thresholds),
        settings=dict(settings),
        notes=notes,
    )


def check_same_run(old: Manifest, new: Manifest) -> None:
    """Whether a resumed run would still be the same run. Raises `StoreError` naming what changed."""
    pairs = {
        "the golden set or the recorded outputs": (old.dataset.fingerprint, new.dataset.fingerprint),
        "the system under test": (old.system.fingerprint, new.system.fingerprint),
        "the judge": (old.judge and old.judge.fingerprint, new.judge and new.judge.fingerprint),
        "the metrics": (_specs(old), _specs(new)),
        "the seed": (old.seed, new.seed),
        "the number of repeats": (old.repeats, new.repeats),
    }
    changed = [what for what, (before, now) in pairs.items() if before != now]
    if changed:
        raise StoreError(
            f"cannot resume {old.run}: {', '.join(changed)} changed since it began",
            hint="Put it back, or start a new run and compare the two.",
        )


def _specs(manifest: Manifest) -> list[dict[str, Any]]:
    """The metrics as they stand on disk, where a tuple among the parameters has become a list."""
    return [spec.model_dump(mode="json") for spec in manifest.metrics]


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """The commit of the folder we run in, with a + when files differ from it; None outside of git."""
    try:
        run = ["git", "-C", str(Path.cwd())]
        head = subprocess.run([*run, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
        state = subprocess.run(
            [*run, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return head.stdout.strip() + ("+" if state.stdout.strip() else "")
