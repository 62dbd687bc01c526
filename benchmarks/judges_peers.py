"""RAGAS and DeepEval beside us, in one run, on one fake server: calls, prompt tokens, wall time, CPU, what is lost.

    python -m venv peers && peers/bin/pip install ragas deepeval
    python benchmarks/judges_peers.py --peers peers/bin/python --samples 40
    python benchmarks/judges_peers.py --peers peers/bin/python --samples 500 --only ragauge,ragas,deepeval-shared
    python benchmarks/judges_peers.py --peers peers/bin/python --samples 40 --faults

Faithfulness, answer relevance, context precision and context recall; 5 chunks of 600 characters; 200 ms a call;
concurrency 16. The server answers the peers' prompts from the JSON schema that they send. RAGAS' embeddings are made
in its process and cost nothing. Telemetry of both is off. Each tool runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LATENCY_MS, CONCURRENCY = 200, 16
TOOLS = ("ragauge", "ragas", "deepeval", "deepeval-shared")
FAULTS = {"rate_limited": 0.05, "server_error": 0.05, "malformed": 0.05}


# --- the server: our own fake one, which fills in the schema that another tool's prompt asks for


def from_schema(schema: Mapping[str, Any], root: Mapping[str, Any], name: str = "") -> Any:
    """Some value of `schema`: three entries for a list, "yes" or 1 for a verdict."""
    if "$ref" in schema:
        found: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return from_schema(found, root, name)
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "allOf", "oneOf"):
        if key in schema:
            return from_schema(schema[key][0], root, name)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        return {key: from_schema(value, root, key) for key, value in schema.get("properties", {}).items()}
    if kind == "array":
        return [from_schema(schema["items"], root, name) for _ in range(3)]
    if kind in ("integer", "number"):
        return 0 if name == "noncommittal" else 1
    if kind == "boolean":
        return True
    return "The agent of the server takes 41 units of the cache at a time."


def fill(body: Mapping[str, Any], prompt: str) -> dict[str, Any] | str:
    """A reply that the asking tool can parse."""
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    if schema is None:
        for tool in body.get("tools") or ():
            schema = tool["function"]["parameters"]
    if schema is None and (start := prompt.find('{"', prompt.find("schema"))) >= 0:
        try:
            schema, _ = json.JSONDecoder().raw_decode(prompt[start:])
        except ValueError:
            schema = None
    if schema is None:
        return {"reason": "It is so.", "verdicts": [{"verdict": "yes", "reason": "It is so."}] * 3}
    return from_schema(schema, schema)


def serve(latency_ms: float, faults: dict[str, float]) -> None:
    from ragauge.testing.fake_llm import FakeLLMServer, Faults

    with FakeLLMServer(
        latency_ms=latency_ms, faults=Faults(**faults), otherwise=fill, keep=0, retry_after_s=0.5
    ) as server:
        print(f"listening on {server.openai_url}", flush=True)
        sys.stdin.read()


# --- one tool, in its own process: prints one line of JSON


def cells(table: list[dict[str, Any]], n: int) -> dict[str, Any]:
    scored = sum(1 for row in table for value in row.values() if value is not None and not math.isnan(value))
    return {"asked": 4 * n, "scored": scored}


class Clock:
    """Starts when a tool's imports and weights are loaded."""

    def start(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {"wall_s": time.perf_counter() - self.wall, "cpu_s": time.process_time() - self.cpu}


def run_ragauge(url: str, data: list[dict[str, Any]], clock: Clock) -> dict[str, Any]:
    import tempfile

    import ragauge
    from ragauge.embeddings.loading import load
    from ragauge.judges.factory import make_judge

    load("minilm").encode(["loaded before the clock starts"])
    clock.start()

    metrics = ["faithfulness", "answer_relevance", "context_precision", "context_recall"]
    with tempfile.TemporaryDirectory() as folder:
        judge = make_judge(
            {"name": f"compatible:fake@{url}", "client": "sdk", "concurrency": CONCURRENCY}, cache=Path(folder) / "c"
        )
        run = ragauge.evaluate(data, metrics, judge=judge, out=Path(folder) / "runs", concurrency=2 * CONCURRENCY)
        return {"asked": 4 * len(data), "scored": sum(run[metric].n for metric in metrics)}


def run_ragas(url: str, data: list[dict[str, Any]], clock: Clock) -> dict[str, Any]:
    from langchain_openai import ChatOpenAI
    from ragas import EvaluationDataset, evaluate
    from ragas.embeddings.base import LangchainEmbeddingsWrapper
    from ragas.llms.base import LangchainLLMWrapper
    from ragas.metrics import answer_relevancy, context_precision, context_recall, faithfulness
    from ragas.run_config import RunConfig

    class Embeddings:
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return self.embed_documents(texts)

        async def aembed_query(self, text: str) -> list[float]:
            return self.embed_query(text)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, float(len(text) % 7), 1.0]

    llm = LangchainLLMWrapper(ChatOpenAI(model="fake", base_url=url, api_key="none"))
    rows = [
        {
            "user_input": row["question"], "response": row["answer"], "reference": row["reference"],
            "retrieved_contexts": [chunk["text"] for chunk in row["contexts"]],
        }
        for row in data
    ]  # fmt: skip
    clock.start()
    result = evaluate(
        EvaluationDataset.from_list(rows),
        metrics=[faithfulness, answer_relevancy, context_precision, context_recall],
        llm=llm, embeddings=LangchainEmbeddingsWrapper(Embeddings()),  # type: ignore[arg-type]
        run_config=RunConfig(max_workers=CONCURRENCY), show_progress=False,
    )  # fmt: skip
    return cells(list(result.scores), len(data))


def run_deepeval(url: str, data: list[dict[str, Any]], clock: Clock, shared: bool) -> dict[str, Any]:
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
    from deepeval.metrics import (
        AnswerRelevancyMetric,
        ContextualPrecisionMetric,
        ContextualRecallMetric,
        FaithfulnessMetric,
    )
    from deepeval.models import GPTModel
    from deepeval.test_case import LLMTestCase

    class Shared(GPTModel):  # one client for the process; as shipped, one is built per call
        def load_model(self, async_mode: bool = False) -> Any:
            kept = self.__dict__.setdefault("_kept", {})
            if async_mode not in kept:
                kept[async_mode] = super().load_model(async_mode)
            return kept[async_mode]

    kind = Shared if shared else GPTModel
    model = kind(model="gpt-4o-mini", api_key="none", base_url=url)
    metrics = [
        metric(model=model)
        for metric in (FaithfulnessMetric, AnswerRelevancyMetric, ContextualPrecisionMetric, ContextualRecallMetric)
    ]
    cases = [
        LLMTestCase(
            input=row["question"], actual_output=row["answer"], expected_output=row["reference"],
            retrieval_context=[chunk["text"] for chunk in row["contexts"]],
        )
        for row in data
    ]  # fmt: skip
    clock.start()
    result = evaluate(
        cases, metrics,
        async_config=AsyncConfig(max_concurrent=CONCURRENCY // 4),  # 4 metrics of a case run at once
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        cache_config=CacheConfig(write_cache=False, use_cache=False),
        error_config=ErrorConfig(ignore_errors=True),
    )  # fmt: skip
    scores = [m.score for t in result.test_results for m in t.metrics_data or ()]
    return {"asked": 4 * len(data), "scored": sum(s is not None for s in scores)}


def run_one(tool: str, url: str, file: Path) -> None:
    data = json.loads(file.read_text())
    clock = Clock()
    clock.start()
    try:
        if tool == "ragauge":
            found = run_ragauge(url, data, clock)
        elif tool == "ragas":
            found = run_ragas(url, data, clock)
        else:
            found = run_deepeval(url, data, clock, shared=tool.endswith("shared"))
    except Exception as error:  # a tool that ends with an error is a result of this benchmark
        found = {"asked": 4 * len(data), "scored": 0, "ended": f"{type(error).__name__}: {error}"[:200]}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("RESULT " + json.dumps({**found, **clock.read(), "peak_mb": peak}), flush=True)


# --- all of them, one after the other


def stats(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
        return json.load(answer)


def measure(tool: str, python: str, n: int, faults: dict[str, float], folder: Path) -> dict[str, Any]:
    from judges import samples

    file = folder / "samples.json"
    file.write_text(json.dumps(samples(n)))
    quiet = {
        "RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "OPENBLAS_NUM_THREADS": "1",
        "OPENAI_API_KEY": "none",
    }  # fmt: skip
    me = [__file__]
    command = [sys.executable, *me, "--serve", json.dumps(faults)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            done = subprocess.run(
                [python, *me, "--one", tool, "--url", url, "--file", str(file)],
                capture_output=True, text=True, env={**os.environ, **quiet}, timeout=900, cwd=folder,
            )  # fmt: skip
            seen = stats(url)
        finally:
            server.kill()
    line = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
    if line is None:
        raise SystemExit(f"{tool} printed no result:\n{done.stdout[-800:]}\n{done.stderr[-2000:]}")
    found = json.loads(line[1])
    calls = seen["requests"]
    return {
        "tool": tool, **found, "calls": calls, "tokens": seen["tokens_in"], "n": n,
        "ratio": found["wall_s"] / (calls * LATENCY_MS / 1000 / CONCURRENCY) if calls else float("inf"),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="the Python that has ragas and deepeval")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--only", default=",".join(TOOLS))
    parser.add_argument("--faults", action="store_true", help="5 %% each of 429, 500 and malformed replies")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve(LATENCY_MS, json.loads(given.serve))
    if given.one:
        return run_one(given.one, given.url, given.file)
    if not given.peers:
        parser.error("--peers: a Python with ragas and deepeval installed")
    import tempfile

    print("| | scored of asked | calls/sample | prompt tokens/sample | wall s | wall ÷ limit | CPU ms/call | peak MB |")
    print("|---|---|---|---|---|---|---|---|")
    for tool in given.only.split(","):
        python = sys.executable if tool == "ragauge" else given.peers
        with tempfile.TemporaryDirectory() as folder:
            r = measure(tool, python, given.samples, FAULTS if given.faults else {}, Path(folder))
        per = max(1, r["calls"])
        print(
            f"| {tool} | {r['scored']} of {r['asked']}{' (' + r['ended'] + ')' if 'ended' in r else ''} "
            f"| {r['calls'] / r['n']:.2f} | {r['tokens'] / r['n']:.0f} | {r['wall_s']:.1f} | {r['ratio']:.2f} "
            f"| {1000 * r['cpu_s'] / per:.1f} | {r['peak_mb']:.0f} |",
            flush=True,
        )
    return None


if __name__ == "__main__":
    main()
