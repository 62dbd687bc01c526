"""The reference load: triples, three metrics, a fake model that takes 1.2 s a call; wall time against the limit.

    python benchmarks/reference_load.py               small: 70 triples, a minute or two
    python benchmarks/reference_load.py --full        700 triples, also one call at a time, which takes an hour and more
    python benchmarks/reference_load.py --limited     700 triples, 8 actors, 600 requests a minute, two actors killed
    python benchmarks/reference_load.py --stream      50 000 samples: memory of the driver, killed once and resumed

The limit is calls × latency / concurrency, with the calls that the server counted. Each part runs `ragauge score` in a
process of its own; "after start-up" leaves out imports, and on Ray the start of Ray and its workers: the clock runs
from the first request to the last row. The server is a process of its own as well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from judges import samples, server, stats

METRICS = "faithfulness,answer_relevance,context_precision"
LATENCY_S = 1.2


def triples(folder: Path, n: int) -> Path:
    file = folder / "triples.jsonl"
    with file.open("w") as out:
        for sample in samples(n):
            out.write(json.dumps({name: sample[name] for name in ("id", "question", "answer", "contexts")}) + "\n")
    return file


def settings(folder: Path, judge: dict[str, Any] | str) -> None:
    (folder / "ragauge.yaml").write_text(json.dumps({"judge": judge}))


def started(folder: Path, *arguments: str, heard: bool = True) -> subprocess.Popen[str]:
    """`ragauge score` at work. Not `heard`: what it prints is thrown away, as a full pipe would stop it."""
    command = [sys.executable, "-m", "ragauge", "score", *arguments, "--json", "--quiet"]
    variables = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    to = subprocess.PIPE if heard else subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdout=to, stderr=to, text=True, env=variables)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate()
    if process.returncode != 0:
        raise SystemExit(err)
    document: dict[str, Any] = json.loads(out)
    return document


def rows_of(folder: Path, document: dict[str, Any]) -> list[Any]:
    """Every row without what may differ: times, and what came from the cache."""
    found = []
    for line in (folder / document["run"] / "rows.jsonl").read_text().splitlines():
        row = json.loads(line)
        row.pop("used", None)
        found.append(row)
    return sorted(found, key=lambda row: row["index"])


def measured(folder: Path, file: Path, concurrency: int, executor: str, n_actors: int = 0) -> dict[str, Any]:
    """One way to judge the triples. The endpoint takes `concurrency` calls at once, from all workers together."""
    with server("--latency-ms", str(1000 * LATENCY_S)) as url:
        judge = {"name": f"compatible:fake@{url}", "client": "raw", "concurrency": concurrency, "cache": False}
        settings(folder, judge)
        # Samples at once: enough that a call is always waiting for its turn.
        more = ["--executor", executor, "--concurrency", str(1 if concurrency == 1 else 2 * concurrency)]
        if n_actors:
            more += ["--workers", str(n_actors)]
        began = time.perf_counter()
        process = started(folder, str(file), "--metrics", METRICS, *more)
        while not stats(url)["requests"]:
            if process.poll() is not None:
                ended(process)
            time.sleep(0.02)
        first = time.perf_counter()
        n = sum(1 for _ in file.open())
        while n_rows(folder) < n:
            if process.poll() is not None:
                break
            time.sleep(0.05)
        last = time.perf_counter()
        document = ended(process)
        whole = time.perf_counter() - began
        calls = stats(url)["requests"]
    made = rows_of(folder, document)
    limit = calls * LATENCY_S / concurrency
    return {
        "executor": executor if not n_actors else f"{executor}, {n_actors} actors", "concurrency": concurrency,
        "calls": calls, "limit_s": limit, "wall_s": last - first, "ratio": (last - first) / limit,
        "start_s": first - began, "whole_s": whole, "rows": made,
    }  # fmt: skip


def compare(n: int, sequential: bool, concurrency: int, only: str | None) -> None:
    ways: list[tuple[int, str, int]] = [(1, "local", 0)] if sequential else []
    ways += [(many, "local", 0) for many in (8, 32, 64)]
    ways += [(concurrency, "ray", actors) for actors in (2, 4, 8)]
    if only is not None:  # local:32,ray:4
        named = [way.split(":") for way in only.split(",")]
        ways = [(int(m), "local", 0) if where == "local" else (concurrency, "ray", int(m)) for where, m in named]
    print(f"{n} triples, {METRICS}, {LATENCY_S} s a call\n")
    print("| where | concurrency | calls | limit s | wall s after start-up | wall ÷ limit | start s | rows as local |")
    print("|---|---|---|---|---|---|---|---|")
    expected = None
    for many, executor, actors in ways:
        with tempfile.TemporaryDirectory() as name:
            found = measured(Path(name), triples(Path(name), n), many, executor, actors)
        rows = found.pop("rows")
        expected = expected or rows
        same = "yes" if rows == expected else "NO"
        print(
            f"| {found['executor']} | {many} | {found['calls']} | {found['limit_s']:.1f} | {found['wall_s']:.1f} |"
            f" {found['ratio']:.2f} | {found['start_s']:.1f} | {same} |",
            flush=True,
        )


def actors_of(pid: int) -> list[int]:
    """Processes below `pid` that make rows."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout.splitlines()[1:]
    entries = [(int(line.split(None, 2)[0]), int(line.split(None, 2)[1]), line.split(None, 2)[2]) for line in listed]
    below, found = {pid}, []
    for _ in range(6):
        below |= {child for child, parent, _ in entries if parent in below}
    for child, _, command in entries:
        if child in below and command.startswith("ray::Worker"):
            found.append(child)
    return found


def n_rows(folder: Path) -> int:
    return sum(sum(1 for _ in file.open("rb")) for file in (folder / "runs").glob("*/rows.jsonl"))


def limited(n: int, per_minute: int) -> None:
    """The limit of requests a minute over 8 actors of which two are killed, and the rows against a local run's."""
    with tempfile.TemporaryDirectory() as name, server() as url:
        folder = Path(name)
        file = triples(folder, n)
        judge = {"name": f"compatible:fake@{url}", "client": "raw", "concurrency": 64, "cache": False}
        settings(folder, judge)
        local = rows_of(folder, ended(started(folder, str(file), "--metrics", METRICS, "--concurrency", "64")))
    with tempfile.TemporaryDirectory() as name, server("--latency-ms", str(1000 * LATENCY_S)) as url:
        folder = Path(name)
        file = triples(folder, n)
        judge = {"name": f"compatible:fake@{url}", "client": "raw", "concurrency": 64}
        settings(folder, judge | {"requests_per_minute": per_minute})
        began = time.perf_counter()
        more = ("--concurrency", "64", "--executor", "ray", "--workers", "8")
        process = started(folder, str(file), "--metrics", METRICS, *more)
        for share in (0.1, 0.3):
            while n_rows(folder) < share * n:
                if process.poll() is not None:
                    ended(process)
                time.sleep(0.1)
            os.kill(random.Random(share).choice(actors_of(process.pid)), signal.SIGKILL)
        made = rows_of(folder, ended(process))
        wall, found = time.perf_counter() - began, stats(url)
    print(
        f"{n} triples, 8 actors, {per_minute} requests a minute, two actors killed: {len(made)} rows,"
        f" {'the same as' if made == local else 'NOT those of'} the local run; {found['requests']} requests in"
        f" {wall:.0f} s,"
        f" busiest 60 s at the server: {found['busiest_minute']} requests (busiest second: {found['busiest_second']})"
    )


def stream(n: int, executor: str) -> None:
    """Memory of the driver over many samples with the embedded judge, killed in the middle and resumed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = triples(folder, n)
        settings(folder, "embedded")
        arguments = [str(file), "--metrics", "faithfulness", "--executor", executor, "--concurrency", "16"]
        resumed: list[str] = []
        for share in (0.1, 0.5, 1.0):
            process = started(folder, *(resumed or arguments), heard=False)
            began, peak = time.perf_counter(), 0.0
            while process.poll() is None:
                status = Path(f"/proc/{process.pid}/status")
                try:
                    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
                    peak = max(peak, int(line.split()[1]) / 1024)
                except (OSError, StopIteration):
                    break
                if share < 1 and n_rows(folder) >= share * n:
                    process.kill()
                    break
                time.sleep(0.5)
            process.wait()
            run = next((folder / "runs").glob("*"))
            print(
                f"{executor}: {n_rows(folder)} of {n} rows, peak {peak:.0f} MB of the driver,"
                f" {time.perf_counter() - began:.0f} s{' (killed)' if share < 1 else ''}",
                flush=True,
            )
            resumed = ["--resume", str(run)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--limited", action="store_true")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--executor", default="local", help="of --stream")
    parser.add_argument("-n", type=int, help="samples instead of what the part takes by itself")
    parser.add_argument("--per-minute", type=int, default=600)
    parser.add_argument("--only", help="some of the ways: local:32,ray:4 (concurrency there, actors here)")
    given = parser.parse_args()
    if given.limited:
        limited(given.n or 700, given.per_minute)
    elif given.stream:
        stream(given.n or 50_000, given.executor)
    else:
        compare(given.n or (700 if given.full else 70), sequential=given.full, concurrency=32, only=given.only)


if __name__ == "__main__":
    main()
