"""Work that takes longer than a page may: in another process, one at a time; pages say how far it is."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragauge.errors import StoreError


@dataclass
class Job:
    """One piece of work. `failed`: what was wrong (message, hint)."""

    title: str
    done: int = 0
    total: int = 0
    finished: bool = False
    failed: tuple[str, str] | None = None


class Waiting(Exception):
    """What was asked for is being worked out; the page says so and looks again."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.title)
        self.job = job


class Jobs:
    """Jobs by key; a second wish for the same is the same job."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def start(self, key: str, title: str, module: str, task: Mapping[str, Any]) -> Job:
        """Start it, or find it under way. A failed one is told once (as `StoreError`), then tried anew."""
        with self._lock:
            known = self._jobs.get(key)
            if known is not None and known.failed is not None:
                del self._jobs[key]
                raise StoreError(known.failed[0], hint=known.failed[1])
            if known is not None and not known.finished:
                return known
            job = self._jobs[key] = Job(title)
        threading.Thread(target=self._run, args=(job, module, dict(task)), daemon=True).start()
        return job

    def _run(self, job: Job, module: str, task: dict[str, Any]) -> None:
        with self._turn:
            try:
                _work(job, module, task)
            except Exception as problem:
                job.failed = (
                    f"the work in the background ended: {problem}",
                    "The terminal of `ragauge serve` says more.",
                )
        job.finished = True


def _work(job: Job, module: str, task: dict[str, Any]) -> None:
    # -P: a json.py in the folder where the page was started is no module of ours.
    command = [sys.executable, "-P", "-m", module]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        json.dump(task, process.stdin)
        process.stdin.close()
        said: list[Any] = []
        for line in process.stdout:
            said = json.loads(line)
            if said[0] == "progress":
                job.done, job.total = said[1], said[2]
        code = process.wait()
        if said and said[0] == "failed":
            job.failed = (said[1], said[2])
        elif code != 0 or not said or said[0] != "done":
            job.failed = (f"the work in the background ended with code {code}", "The terminal says more.")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
