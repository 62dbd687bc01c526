"""Speed and memory of the retrieval measures beside pytrec_eval and ranx, on the same data in the same process.

    python benchmarks/ranking.py --questions 100000            # the figures in RESULTS-ranking.md
    python benchmarks/ranking.py --questions 2000 --repeats 2  # a smoke test

Each question has 100 retrieved ids and 2 to 8 judged ones with grades 0 to 3; every id is its own `str` object. Every
implementation gets the same plain dicts or lists and must hand back the six means: whatever it needs first is part of
its time (pytrec_eval needs dicts, ranx its own objects). Repeats alternate between implementations, the smallest CPU
time counts. ranx is measured after one call on other data, so that its compiler has nothing left to do. Peak memory
above the input is measured in a process of its own for each implementation.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ragauge.ranking import evaluate

METRICS = ["ndcg@10", "recall@10", "recall@100", "precision@10", "reciprocal_rank", "average_precision"]
TREC = {"ndcg_cut.10", "recall.10,100", "P.10", "recip_rank", "map"}
TREC_NAMES = ["ndcg_cut_10", "recall_10", "recall_100", "P_10", "recip_rank", "map"]
RANX = ["ndcg@10", "recall@10", "recall@100", "precision@10", "mrr", "map"]
N_RETRIEVED = 100

Data = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]], dict[str, list[str]]]
Means = list[float]


def make_data(n_questions: int, seed: int = 0) -> Data:
    """Judgements, the run as id → score, and the same run as ranked lists (the lists hold the same id objects)."""
    rng = np.random.default_rng(seed)
    qrels, run, lists = {}, {}, {}
    for number in range(n_questions):
        drawn = dict.fromkeys(rng.integers(0, 10**8, N_RETRIEVED + 20).tolist())
        ids = [f"doc{n}" for n in drawn][: N_RETRIEVED + 8]
        retrieved, others = ids[:N_RETRIEVED], ids[N_RETRIEVED:]
        # Whole numbers below 2**24 are exact in single precision: ties mean the same to every implementation.
        scores = np.cumsum(rng.integers(1, 1000, N_RETRIEVED))[::-1].astype(float).tolist()
        n_judged = int(rng.integers(2, 9))
        places = np.minimum(rng.exponential(12.0, n_judged).astype(int), N_RETRIEVED - 1).tolist()
        chosen = [retrieved[place] if rng.random() < 0.7 else others[i] for i, place in enumerate(places)]
        grades = rng.choice([0, 1, 1, 2, 3], n_judged).tolist()
        question = f"q{number}"
        qrels[question] = {"".join(list(id)): grade for id, grade in zip(chosen, grades, strict=True)}
        run[question] = dict(zip(retrieved, scores, strict=True))
        lists[question] = retrieved
    return qrels, run, lists


def ours_dicts(data: Data) -> Means:
    return list(evaluate(data[0], data[1], METRICS, engine="numpy").means.values())


def ours_lists(data: Data) -> Means:
    return list(evaluate(data[0], data[2], METRICS, engine="numpy").means.values())


def plain_dicts(data: Data) -> Means:
    return list(evaluate(data[0], data[1], METRICS, engine="plain").means.values())


def plain_lists(data: Data) -> Means:
    return list(evaluate(data[0], data[2], METRICS, engine="plain").means.values())


def as_scores(lists: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    """What a user of pytrec_eval or ranx must do with ranked lists first (the fastest way that we know)."""
    return {question: dict(zip(ids, range(len(ids), 0, -1), strict=False)) for question, ids in lists.items()}


def as_float_scores(lists: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    scores = [float(n) for n in range(N_RETRIEVED, 0, -1)]
    return {question: dict(zip(ids, scores, strict=False)) for question, ids in lists.items()}


def trec(qrels: Any, run: Any) -> Means:
    import pytrec_eval

    found = pytrec_eval.RelevanceEvaluator(qrels, TREC).evaluate(run)
    return [sum(values[name] for values in found.values()) / len(found) for name in TREC_NAMES]


def pytrec_dicts(data: Data) -> Means:
    return trec(data[0], data[1])


def pytrec_lists(data: Data) -> Means:
    return trec(data[0], as_scores(data[2]))


def ranx_objects(qrels: Any, run: Any) -> Means:
    import ranx

    found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), RANX)
    return [float(found[name]) for name in RANX]


def ranx_dicts(data: Data) -> Means:
    return ranx_objects(data[0], data[1])


def ranx_lists(data: Data) -> Means:
    return ranx_objects(data[0], as_float_scores(data[2]))


def ranx_plain_dicts(data: Data) -> Means:
    import ranx

    found = ranx.evaluate(data[0], data[1], RANX)
    return [float(found[name]) for name in RANX]


CASES: dict[str, dict[str, tuple[str, Callable[[Data], Means]]]] = {
    "dicts": {
        "ragauge": ("", ours_dicts),
        "ragauge (plain engine)": ("", plain_dicts),
        "pytrec_eval": ("pytrec_eval", pytrec_dicts),
        "ranx, Qrels and Run objects": ("ranx", ranx_dicts),
        "ranx.evaluate(dict, dict)": ("ranx", ranx_plain_dicts),
    },
    "ranked lists": {
        "ragauge": ("", ours_lists),
        "ragauge (plain engine)": ("", plain_lists),
        "pytrec_eval": ("pytrec_eval", pytrec_lists),
        "ranx, Qrels and Run objects": ("ranx", ranx_lists),
    },
}


def installed(cases: dict[str, tuple[str, Callable[[Data], Means]]]) -> dict[str, Callable[[Data], Means]]:
    return {name: run for name, (module, run) in cases.items() if not module or find_spec(module) is not None}


def cpu_seconds(run: Callable[[Data], Means], data: Data) -> float:
    gc.collect()
    start = time.process_time()
    run(data)
    return time.process_time() - start


def measure(kind: str, data: Data, repeats: int) -> dict[str, dict[str, float]]:
    """CPU seconds of every implementation, the smallest of `repeats`; the means must agree first."""
    runs = installed(CASES[kind])
    warm = make_data(50, seed=1)
    expected = runs["ragauge"](data)
    for name, run in runs.items():
        run(warm)
        got = run(data)
        if max(abs(a - b) for a, b in zip(got, expected, strict=True)) > 1e-9:
            raise SystemExit(f"{name} on {kind} disagrees: {got} and {expected}")
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            best[name] = min(best[name], cpu_seconds(run, data))
    return {name: {"cpu_s": seconds} for name, seconds in best.items()}


def peak_above_input(kind: str, name: str, n_questions: int) -> float:
    """MB above the input at the highest, in a process of its own."""
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import ranking; ranking.print_peak(*sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent), kind, name, str(n_questions)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def print_peak(kind: str, name: str, n_questions: str) -> None:
    run = CASES[kind][name][1]
    run(make_data(50, seed=1))
    data = make_data(int(n_questions))
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = status("VmRSS")
    run(data)
    print((status("VmHWM") - before) / 1024)


def status(field: str) -> int:
    """A field of /proc/self/status, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{field}:")).split()[1])


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("numpy", "pytrec_eval-terrier", "ranx", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def as_markdown(report: dict[str, Any]) -> str:
    n = report["n_questions"]
    lines = [f"{n} questions × {N_RETRIEVED} ids, {', '.join(METRICS)}; smallest CPU time of {report['repeats']}."]
    lines += [", ".join(f"{name} {value}" for name, value in report["versions"].items()), ""]
    for kind, results in report["results"].items():
        ours = results["ragauge"]["cpu_s"]
        lines += [
            f"| from {kind} | CPU s | µs a question | ÷ ragauge | peak MB above the input |",
            "|---|---|---|---|---|",
        ]
        for name, result in results.items():
            peak = f"{result['peak_mb']:.0f}" if "peak_mb" in result else "–"
            micro = result["cpu_s"] / n * 1e6
            lines.append(f"| {name} | {result['cpu_s']:.3f} | {micro:.1f} | {result['cpu_s'] / ours:.1f} | {peak} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="also measure peak memory (Linux)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for module in ("pytrec_eval", "ranx"):
        if find_spec(module) is None:
            print(f"{module} is not installed here: its lines are left out", file=sys.stderr)
    data = make_data(options.questions)
    results = {kind: measure(kind, data, options.repeats) for kind in CASES}
    del data
    if options.memory:
        for kind, found in results.items():
            for name in found:
                found[name]["peak_mb"] = peak_above_input(kind, name, options.questions)
    report = {
        "n_questions": options.questions, "repeats": options.repeats, "versions": versions(), "results": results,
    }  # fmt: skip
    print(json.dumps(report, indent=2) if options.json else as_markdown(report))


if __name__ == "__main__":
    main()
