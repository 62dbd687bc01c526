"""Development script: fit when the extractive generator declines.

    python validation/retrieval/fit_abstention.py [--features FILE.npz]

For each question of the three sets the pipeline retrieves 5 passages (hybrid). Four kinds of case, weighted equally
within a set:

- `answerable`: a gold passage is among the five                                → holds the answer
- `unanswerable`: annotators found no answer in the passage that it was asked of  → does not
- `gold removed`: an answerable question, its gold passages taken out of the index → does not (the document is missing)
- `elsewhere`: a question asked of another set's corpus                          → does not (off-topic)

Even groups (article, passage or conversation, by SHA-256) fit a logistic model, odd ones measure it.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
from pathlib import Path

import numpy as np
import sets

from ragauge.core.sample import RetrievedContext
from ragauge.systems.reference.evidence import SIGNALS
from ragauge.systems.reference.pipeline import ReferenceSystem, build

CASES = ("answerable", "unanswerable", "gold removed", "elsewhere")
MOST_PER_SET = 1200


def is_test(group: str) -> bool:
    return hashlib.sha256(group.encode()).digest()[0] % 2 == 1


def context_without(context: RetrievedContext, ids: tuple[str, ...], k: int = 5) -> RetrievedContext:
    kept = [chunk for chunk in context if chunk.id not in ids][:k]
    return RetrievedContext(chunks=tuple(c.model_copy(update={"rank": n}) for n, c in enumerate(kept, start=1)))


async def features() -> dict[str, np.ndarray]:
    systems = {
        name: build(sets.settings(name, retrieval="hybrid", k=12, candidates=20, generator="extractive"))
        for name in sets.NAMES
    }
    rows: list[tuple[str, str, bool, list[float]]] = []
    for number, name in enumerate(sets.NAMES):
        asked = [one for one in sets.read(name) if one.standalone]
        asked.sort(key=lambda one: hashlib.sha256(one.question.id.encode()).digest())
        asked = asked[:MOST_PER_SET]
        other = systems[sets.NAMES[(number + 1) % len(sets.NAMES)]]
        for system in (systems[name], other):
            await system.build_index()
            await system.prepare([one.question for one in asked])
        for index, one in enumerate(asked):
            contexts = {}
            found = await retrieved(systems[name], one)
            if one.answerable:
                first = context_without(found, ())
                if set(first.ids) & set(one.relevant):
                    contexts["answerable"] = first
                contexts["gold removed"] = context_without(found, one.relevant)
            else:
                contexts["unanswerable"] = context_without(found, ())
            if index % 3 == 0:
                contexts["elsewhere"] = context_without(await retrieved(other, one), ())
            for case, context in contexts.items():
                system = other if case == "elsewhere" else systems[name]
                evidence, _ = system._generator.evidence(one.question.text, context)  # type: ignore[union-attr]
                rows.append((name, case, is_test(one.group), [evidence.signals[signal] for signal in SIGNALS]))
            if index % 100 == 0:
                print(name, index, "of", len(asked), flush=True)
    return {
        "set": np.array([row[0] for row in rows]),
        "case": np.array([row[1] for row in rows]),
        "test": np.array([row[2] for row in rows]),
        "x": np.array([row[3] for row in rows]),
    }


async def retrieved(system: ReferenceSystem, one: sets.Asked) -> RetrievedContext:
    response = await system._retrieved(one.question)
    assert response.context is not None
    return response.context


def fit(x: np.ndarray, y: np.ndarray, weight: np.ndarray, ridge: float = 1.0) -> np.ndarray:
    """Logistic regression by Newton's method, intercept first, a small ridge on the others."""
    x = np.hstack([np.ones((len(x), 1)), x])
    penalty = np.diag([0.0, *[ridge] * (x.shape[1] - 1)])
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        gradient = x.T @ (weight * (y - p)) - penalty @ beta
        step = np.linalg.solve(x.T @ (x * (weight * p * (1 - p))[:, None]) + penalty, gradient)
        beta += step
        if np.abs(step).max() < 1e-10:
            break
    return beta


def auroc(positive: np.ndarray, negative: np.ndarray) -> float:
    """Probability that a positive scores above a negative, ties half."""
    ranks = np.searchsorted(np.sort(negative), positive, "left") + np.searchsorted(np.sort(negative), positive, "right")
    return float(ranks.mean() / 2 / len(negative))


def weights(data: dict[str, np.ndarray]) -> np.ndarray:
    """Each set equally; within it the answerable cases half, the three others a sixth each."""
    weight = np.zeros(len(data["x"]))
    for name in sets.NAMES:
        for case in CASES:
            rows = (data["set"] == name) & (data["case"] == case)
            if rows.any():
                weight[rows] = (3 if case == "answerable" else 1) / rows.sum()
    return weight * len(weight) / weight.sum()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", type=Path, help="where the signals are kept between runs")
    path = parser.parse_args().features
    if path is not None and path.exists():
        data = dict(np.load(path))
    else:
        data = asyncio.run(features())
        if path is not None:
            np.savez(path, **data)
    y = (data["case"] == "answerable").astype(float)
    train = ~data["test"]
    weight = weights({key: value[train] for key, value in data.items()})
    beta = fit(data["x"][train], y[train], weight)
    print("HOLDS_ANSWER =", {n: round(float(b), 3) for n, b in zip(("intercept", *SIGNALS), beta, strict=True)})
    p = 1 / (1 + np.exp(-(np.hstack([np.ones((len(y), 1)), data["x"]]) @ beta)))
    for name in sets.NAMES:
        held = data["test"] & (data["set"] == name)
        positive = p[held & (y == 1)]
        for case in CASES[1:]:
            negative = p[held & (data["case"] == case)]
            if len(negative):
                print(f"{name:15} {case:13} AUROC {auroc(positive, negative):.3f}  n {len(positive)} / {len(negative)}")
    print("threshold: answered of answerable | answered of the others")
    for threshold in np.arange(0.1, 0.95, 0.05):
        parts = [f"{threshold:.2f}"]
        for case in CASES:
            shares = [
                np.mean(p[data["test"] & (data["set"] == name) & (data["case"] == case)] >= threshold)
                for name in sets.NAMES
                if (data["test"] & (data["set"] == name) & (data["case"] == case)).any()
            ]
            parts.append(f"{case} {np.mean(shares):.3f}")
        print("  ".join(parts))


if __name__ == "__main__":
    main()
