"""The production log under load: HTTP, the Logger's queue, a service's latency, thirty days in figures.

    python benchmarks/monitor.py            # small: a minute, 300 000 queries in the report
    python benchmarks/monitor.py --full     # 10 million queries, 30 days
    python benchmarks/monitor.py --only logger --only http

Prints one JSON line for each measurement. Rates are per second of wall time unless they say cpu.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

CHUNKS = [
    {"id": f"chunk-{n}", "document": f"doc-{n}", "text": "some words " * 40, "score": 0.9 - n / 10} for n in range(5)
]
RECORD = {
    "question": "How do I reset the thermostat?",
    "answer": "Hold the button. " * 12,
    "chunks": CHUNKS,
    "total_ms": 231.5,
}
FIRST = date(2026, 1, 1)


def say(name: str, **figures: Any) -> None:
    rounded = {key: round(value, 3) if isinstance(value, float) else value for key, value in figures.items()}
    print(json.dumps({"benchmark": name, **rounded}), flush=True)


def logger(n: int) -> None:
    """Queries with 5 chunks through the queue into a folder, until they are on the disk."""
    from ragauge.monitor import Logger

    with tempfile.TemporaryDirectory() as folder:
        log = Logger(folder, queue_size=n)
        cpu, begun = time.process_time(), time.perf_counter()
        for _ in range(n):
            log.query(RECORD["question"], answer=RECORD["answer"], chunks=CHUNKS, total_ms=231.5)  # type: ignore[arg-type]
        called = time.perf_counter() - begun
        assert log.flush(600)
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
        stats = log.stats()
        log.close()
    say("logger", n=n, per_s=n / wall, per_s_cpu=n / cpu, us_per_call=called / n * 1e6, dropped=stats["dropped"])


def http_(n: int) -> None:
    """Batches of 100, then one query in each request: over one connection, and over 16."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "ragauge", "monitor", "serve", "--log", f"{folder}/log", "--port", "0"],
            stderr=subprocess.PIPE, text=True, cwd=folder,
        )  # fmt: skip
        assert process.stderr is not None
        found = re.search(r"http://127.0.0.1:(\d+)", process.stderr.readline())
        assert found is not None
        port = int(found.group(1))

        def cpu() -> float:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        def send(bodies: int, body: bytes) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            for _ in range(bodies):
                connection.request("POST", "/v1/queries", body, {"content-type": "application/json"})
                response = connection.getresponse()
                response.read()
                assert response.status == 200
            connection.close()

        try:
            for name, size, connections in (
                ("batches of 100", 100, 2),
                ("single, 1 connection", 1, 1),
                ("single, 16 connections", 1, 16),
            ):
                bodies = max(1, n // size // connections // (1 if size > 1 else 10 if connections > 1 else 40))
                body = json.dumps([RECORD] * size if size > 1 else RECORD).encode()
                send(1, body)
                used, begun = cpu(), time.perf_counter()
                threads = [threading.Thread(target=send, args=(bodies, body)) for _ in range(connections)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                wall, used = time.perf_counter() - begun, cpu() - used
                total = bodies * size * connections
                say("http", what=name, n=total, per_s=total / wall, per_s_of_server_cpu=total / max(used, 0.01))
        finally:
            process.terminate()
            process.wait()


def latency(n: int) -> None:
    """A service's latency with and without logging: 5 ms of waiting, 1 ms of work, 4 threads at a time."""
    from ragauge.monitor import Logger

    def handle(log: Any) -> float:
        begun = time.perf_counter()
        time.sleep(0.005)
        until = time.thread_time() + 0.001
        while time.thread_time() < until:
            pass
        if log is not None:
            log.query(RECORD["question"], answer=RECORD["answer"], chunks=CHUNKS, total_ms=5.0)
        return time.perf_counter() - begun

    def p99(log: Any, requests: int) -> list[float]:
        taken: list[float] = []
        threads = [
            threading.Thread(target=lambda: taken.extend(handle(log) for _ in range(requests // 4))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return taken

    without: list[float] = []
    with_log: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        log = Logger(folder)
        for _ in range(10):  # in turns: what else the machine does meets both
            without += p99(None, n // 10)
            with_log += p99(log, n // 10)
        log.close()
    at = int(0.99 * len(without))
    a, b = sorted(without)[at] * 1e3, sorted(with_log)[at] * 1e3
    say("service latency", n=len(without), p99_ms_without=a, p99_ms_with=b, rise_ms=b - a)


def report(n: int, days: int = 30) -> None:
    """The aggregates of thirty days over partitions that DuckDB makes: in a process of its own, for its memory."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        con = duckdb.connect()
        per_day = n // days
        for day in (FIRST + timedelta(d) for d in range(days)):
            _partition(con, Path(folder), day, per_day)
        code = (
            "import sys, time, resource; from datetime import date; from ragauge.monitor.store import open_log\n"
            "begun = time.perf_counter(); log = open_log(sys.argv[1], threads=2)\n"
            "found = log.daily(date(2026, 1, 1), date(2026, 12, 31)); wall = time.perf_counter() - begun\n"
            "assert len(found) == 30 and found[0].top_score and found[0].n_down, found[:1]\n"
            "print(sum(day.n for day in found), wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)"
        )
        done = subprocess.run([sys.executable, "-c", code, folder], stdout=subprocess.PIPE, text=True, check=True)
        found, wall, memory = done.stdout.split()
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))
        say("30-day figures", n=int(found), seconds=float(wall), peak_gb=float(memory), parquet_mb=size / 1e6)


def _partition(con: Any, root: Path, day: date, n: int) -> None:
    from ragauge.monitor.columns import COLUMNS
    from ragauge.monitor.layout import PARTS_FILE, Parts, make_root, write_whole

    make_root(root)
    given = {
        "id": "md5(i::VARCHAR || $day)", "at": f"TIMESTAMP '{day}' + to_microseconds((i * 86400000000 // $n)::BIGINT)",
        "project": "'default'", "n_chunks": "CASE WHEN i % 50 = 0 THEN 0 ELSE 5 END",
        "top_score": "CASE WHEN i % 50 > 0 THEN 0.7 + random() / 4 END", "mean_score": "0.5 + random() / 4",
        "retrieval_ms": "50 - 30 * ln(random() + 1e-9)", "generation_ms": "200 - 90 * ln(random() + 1e-9)",
        "total_ms": "260 - 110 * ln(random() + 1e-9)", "abstained": "random() < 0.08", "answered": "random() < 0.98",
        "tokens_in": "(900 + 400 * random())::BIGINT", "tokens_out": "(90 + 60 * random())::BIGINT",
        "cost_usd": "random() / 500", "question": "'How do I reset thermostat ' || (i % 5000)", "source": "'logger'",
        "answer": "repeat('Hold the button until the light is green. ', 6) || i", "tags": "[]::VARCHAR[]",
        "chunks": "[{'id': 'c' || (i % 999), 'document': 'd' || (i % 99), 'text': repeat('words of a passage ', 9) "
                  "|| (i % 999), 'score': 0.8, 'rank': 1}]", "redacted": "false",
    }  # fmt: skip
    columns = ", ".join(f'({given.get(name, "NULL")})::{kind} AS "{name}"' for name, kind in COLUMNS["queries"].items())
    columns = columns.replace("$day", f"'{day}'").replace("$n", str(n))
    folder = root / "queries" / day.isoformat()
    said = root / "feedback" / day.isoformat()
    for place in (folder, said):
        place.mkdir(parents=True)
    name = f"part-000000-{secrets.token_hex(6)}.parquet"
    how = "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 16384)"
    con.execute(f"COPY (SELECT {columns} FROM range({n}) t(i)) TO '{folder / name}' {how}")
    write_whole(folder / PARTS_FILE, Parts({name: n}).text())
    con.execute(
        f"COPY (SELECT id AS query_id, \"at\", CASE WHEN random() < 0.3 THEN 'down' ELSE 'up' END AS feedback, "
        f"NULL::VARCHAR AS note, NULL::DOUBLE AS outcome FROM read_parquet('{folder / name}') WHERE random() < 0.03) "
        f"TO '{said / name}' {how}"
    )
    write_whole(said / PARTS_FILE, Parts({name: n * 3 // 100}).text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--full", action="store_true", help="10 million queries in the report, longer runs")
    parser.add_argument("--only", action="append", choices=["logger", "http", "latency", "report"])
    options = parser.parse_args()
    chosen = options.only or ["logger", "http", "latency", "report"]
    if "logger" in chosen:
        logger(200_000 if options.full else 20_000)
    if "http" in chosen:
        http_(100_000 if options.full else 8_000)
    if "latency" in chosen:
        latency(20_000 if options.full else 4_000)
    if "report" in chosen:
        report(10_000_000 if options.full else 300_000)
    say("this process", peak_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)


if __name__ == "__main__":
    main()
