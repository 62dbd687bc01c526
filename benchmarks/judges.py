"""What judging costs: calls, prompt tokens, wall time against the limit, CPU a call, memory.

    python benchmarks/judges.py            everything, a few minutes; prints Markdown
    python benchmarks/judges.py run 500    one part: run N | cpu | memory

The server is our own fake one (`python -m ragauge.testing.fake_llm`) in a process of its own: 200 ms a call,
concurrency 16. The other tools beside it: `judges_peers.py`; figures:
`benchmarks/RESULTS-judges.md`.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LATENCY_S, CONCURRENCY = 0.2, 16
METRICS = ["faithfulness", "answer_relevance", "context_precision", "context_recall"]
WORDS = re.findall(
    r"\w+", "agent server cache queue broker index parser router worker ledger window batch token stream"
)


@contextmanager
def server(*arguments: str) -> Iterator[str]:
    command = [sys.executable, "-m", "ragauge.testing.fake_llm", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


def stats(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
        return json.load(answer)


def samples(n: int) -> list[dict[str, Any]]:
    """Five chunks of about 600 characters, an answer of three claims, a reference of two that is split already."""
    draw = random.Random(0)

    def sentence() -> str:
        a, b = draw.sample(WORDS, 2)
        return f"The {a} of the {b} takes {draw.randrange(10_000)} units of the {draw.choice(WORDS)} at a time."

    made = []
    for number in range(n):
        facts = [sentence() for _ in range(4)]
        chunks = [" ".join([facts[i % 4], *(sentence() for _ in range(8))])[:600] for i in range(5)]
        made.append(
            {
                "id": f"q{number}",
                "question": f"How much does the {draw.choice(WORDS)} of case {number} take?",
                "answer": " ".join(facts[:3]),
                "contexts": [{"id": f"{number}-{i}", "text": text} for i, text in enumerate(chunks)],
                "reference": f"{facts[0]} {facts[3]}",
                "claims": [facts[0], facts[3]],
            }
        )
    return made


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def part_run(n: int, client: str = "sdk", embedder: str = "minilm", latency: str = str(LATENCY_S)) -> dict[str, Any]:
    latency_s = float(latency)
    import ragauge
    from ragauge.judges.factory import make_judge

    data = samples(n)
    with server("--latency-ms", str(1000 * latency_s)) as url, tempfile.TemporaryDirectory() as folder:
        spec = {"name": f"compatible:fake@{url}", "client": client, "concurrency": CONCURRENCY, "embedder": embedder}
        judge = make_judge(spec, cache=Path(folder) / "cache")
        # Imports and the embedder's weights are loaded before the clock starts, as for the other tools.
        ragauge.evaluate(samples(1), METRICS, judge=judge, out=Path(folder) / "warm")
        before, started, cpu = stats(url), time.perf_counter(), time.process_time()
        run = ragauge.evaluate(data, METRICS, judge=judge, out=Path(folder) / "runs", concurrency=2 * CONCURRENCY)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        after = stats(url)
    calls = after["requests"] - before["requests"]
    assert all(run[metric].n == n for metric in METRICS), "a sample was not scored"
    return {
        "samples": n, "client": client, "latency_s": latency_s, "embedder": embedder,
        "calls_per_sample": calls / n,
        "prompt_tokens_per_sample": (after["tokens_in"] - before["tokens_in"]) / n,
        "wall_s": wall,
        "wall_over_limit": wall / (calls * latency_s / CONCURRENCY),
        "cpu_ms_per_call": 1000 * cpu / calls,
        "peak_mb": peak_mb(),
    }  # fmt: skip


def part_cpu(client: str, n: int = 2000, concurrency: int = 64) -> dict[str, Any]:
    """One verdict a call, no latency: CPU of the client process for everything from task to reply, cache included."""
    from ragauge.core.sample import RetrievedChunk
    from ragauge.core.tasks import SUPPORT
    from ragauge.core.verdict import Claim
    from ragauge.judges.factory import make_judge

    async def go(url: str, folder: str) -> tuple[float, float]:
        kind = "anthropic:fake" if client == "anthropic" else f"compatible:fake@{url}"
        spec = {"name": kind, "concurrency": concurrency, "client": "raw" if client == "raw" else "sdk"}
        if client == "anthropic":
            spec |= {"base_url": url.removesuffix("/v1"), "api_key_env": "PATH"}
        judge = make_judge(spec, cache=Path(folder) / "cache")
        chunk = (RetrievedChunk(id="d", text="The agent listens on port 8125. " * 15, rank=1),)

        async def ask(number: int) -> None:
            await judge.ask(SUPPORT, claims=(Claim(id="c", text=f"The agent listens on port {number}."),), chunks=chunk)

        await asyncio.gather(*(ask(-number) for number in range(1, 50)))
        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(ask(number) for number in range(n)))
        taken = time.perf_counter() - started, time.process_time() - cpu
        await judge.aclose()
        return taken

    with server() as url, tempfile.TemporaryDirectory() as folder:
        wall, cpu = asyncio.run(go(url, folder))
    return {"client": client, "calls": n, "cpu_ms_per_call": 1000 * cpu / n, "calls_per_s": n / wall}


def part_memory(n: int) -> dict[str, Any]:
    """Peak memory of `n` samples (claims split, support, usefulness) with a model in the process: no HTTP, all else."""
    from ragauge.core.provider import Endpoint, Reply, Request
    from ragauge.core.sample import RetrievedChunk
    from ragauge.core.tasks import SPLIT_CLAIMS, SUPPORT, USEFULNESS
    from ragauge.judges.llm.judge import LLMJudge
    from ragauge.judges.shared import Shared
    from ragauge.judges.wrappers.cached import Cached
    from ragauge.judges.wrappers.limited import Limited
    from ragauge.judges.wrappers.priced import Priced
    from ragauge.judges.wrappers.retried import Retried
    from ragauge.store.cache import SqliteCache
    from ragauge.testing.fake_llm_answers import answer

    class InProcess:
        endpoint = Endpoint("inprocess", "fake")

        async def complete(self, request: Request) -> Reply:
            await asyncio.sleep(0)
            return Reply(json.dumps(answer(f"{request.system}\n{request.user}")), 100, 50)

    async def go(folder: str) -> None:
        stack = Cached(Retried(Limited(Priced(InProcess()))), SqliteCache(Path(folder) / "cache"))
        judge = Shared(LLMJudge(stack))

        async def worker(mine: range) -> None:
            for number in mine:
                text = f"The agent of case {number} listens on port {number}."
                chunks = tuple(RetrievedChunk(id=f"d{i}", text=f"{text} {i} " * 12, rank=i) for i in range(1, 6))
                claims = (await judge.ask(SPLIT_CLAIMS, text=f"{text} It sings at night.")).claims
                await judge.ask(SUPPORT, claims=claims, chunks=chunks)
                await judge.ask(USEFULNESS, question=text, chunks=chunks, reference=None)

        await asyncio.gather(*(worker(range(start, n, 32)) for start in range(32)))

    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        asyncio.run(go(folder))
        wall = time.perf_counter() - started
    return {"samples": n, "calls": 3 * n, "peak_mb": peak_mb(), "wall_s": wall}


PARTS = {
    "run": lambda *given: part_run(int(given[0]), *given[1:]),
    "cpu": part_cpu,
    "memory": lambda *given: part_memory(int(given[0])),
}
EVERYTHING = [
    ("run", "40"), ("run", "40", "raw"), ("run", "500"), ("run", "500", "raw"), ("cpu", "sdk"), ("cpu", "raw"),
    ("cpu", "anthropic"), ("memory", "1000"), ("memory", "50000"),
]  # fmt: skip


def main() -> None:
    if arguments := sys.argv[1:]:
        print(json.dumps(PARTS[arguments[0]](*arguments[1:])))
        return
    for part in EVERYTHING:  # each in a process of its own: peak memory and imports are its own
        made = subprocess.run([sys.executable, __file__, *part], capture_output=True, text=True, check=True).stdout
        print(part[0], made.strip().split("\n")[-1], flush=True)


if __name__ == "__main__":
    main()
