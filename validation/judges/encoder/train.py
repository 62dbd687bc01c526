"""Trains the encoder: `python validation/judges/encoder/train.py FOLDER_WITH_LABELLED_SETS WORK [STAGE …]`.

Needs torch (a development tool, in no extra). Stages, all without STAGE: `invented` (first pass, over claims made from
passages), `A` to `E` (one fold of sets left out each), `all` (the weights that are shipped), `write`. Each leaves its
file in WORK and is not done again, so what was stopped goes on. About 15 minutes a stage on two cores.

The shipped weights and folds.npz are from the drafts of these scripts: the same steps and settings, another draw of the
made claims; fold D trained all layers, the others all but the first two.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from examples import FEATURES, RELATIVES, claims_hash, claims_of, signals_of, tables  # noqa: E402
from invented import invented  # noqa: E402
from labelled import Row  # noqa: E402
from network import Network, export, padded  # noqa: E402
from training import fit  # noqa: E402

from ragauge.judges.embedded.evidence import prepare, statement  # noqa: E402
from ragauge.judges.embedded.model import Logistic  # noqa: E402
from ragauge.judges.embedded.reading import Pair, pair_of  # noqa: E402
from ragauge.judges.embedded.support import probability_of  # noqa: E402

Array = NDArray[np.float32]
PACKAGE = HERE.parents[2] / "src" / "ragauge" / "judges" / "embedded"
#: Sets that are left out together, relatives and sets of one kind of text in one fold. `all` leaves out none.
FOLDS = {
    "A": ("attributionbench_citation", "attributionbench_grounding", "mtrag_human"),
    "B": ("begin", "faithdial_audit"),
    "C": ("ragtruth", "ragtruth_sentences"),
    "D": ("factcheckgpt_stance", "wice_oracle_chunks"),
    "E": ("summedits",),
    "all": (),
}  # fmt: skip
STAGES = ("invented", *FOLDS, "write")
EPOCHS, FROZEN, RATE, BATCH = 2, 2, 8e-5, 32
#: No example weighs more than this many others, and a set of more rows than this weighs no more.
MOST_WEIGHT, MOST_ROWS = 4.0, 1500


@dataclass(frozen=True)
class Text:
    """A labelled text: the pair of each of its claims, and the log odds of each by words alone."""

    pairs: tuple[Pair, ...]
    by_words: NDArray[np.float64]
    label: int


Made = tuple[Sequence[Pair], Array, Array]


def labelled(folder: Path) -> dict[str, list[Text]]:
    """Every grounding and citation set; by words: weights that were not trained on the set or its relatives."""
    sets = tables(folder)["support"]
    examples = {name: found for name, (_, found) in sets.items()}
    made = {}
    for name, (rows, _) in sets.items():
        weights = fit(examples, leave_out=(name, *RELATIVES.get(name, ())))
        model = Logistic(FEATURES["support"], tuple(map(float, weights[:-1])), float(weights[-1]))
        made[name] = [_text(row, model) for row in rows]
    return made


def _text(row: Row, model: Logistic) -> Text:
    evidence = prepare(row.contexts)
    found = list(zip(claims_of(row), signals_of(row), strict=True))
    kept = np.clip([probability_of(signals, model) for _, signals in found], 1e-4, 1 - 1e-4)
    pairs = tuple(pair_of(statement(claim), signals, evidence) for claim, signals in found)
    return Text(pairs, np.log(kept / (1 - kept)), row.label)


def examples_of(sets: dict[str, list[Text]], leave_out: Sequence[str], epoch: int) -> Made:
    """One claim of each text: of a supported one any (of mtrag_human's long answers two), of another the least likely.

    Both labels of a set weigh the same; sets weigh as the root of their size.
    """
    draw = np.random.default_rng(100 + epoch)
    pairs: list[Pair] = []
    labels: list[Array] = []
    weights: list[Array] = []
    for name, texts in sets.items():
        if name in leave_out:
            continue
        label: list[float] = []
        for text in texts:
            n = len(text.pairs)
            if text.label:
                chosen = draw.permutation(n)[: 2 if name == "mtrag_human" else 1]
            else:
                chosen = np.array([int((text.by_words + draw.normal(0, 0.5, n)).argmin())])
            pairs += [text.pairs[place] for place in chosen]
            label += [float(text.label)] * len(chosen)
        y = np.array(label, np.float32)
        share = float(y.mean())
        size = np.sqrt(min(len(y), MOST_ROWS)) / len(y)
        labels.append(y)
        weights.append((np.where(y == 1, 0.5 / share, 0.5 / (1 - share)) * size).astype(np.float32))
    weight = np.concatenate(weights)
    return pairs, np.concatenate(labels), np.minimum(weight / weight.mean(), MOST_WEIGHT)


def trained(network: Network, epochs: int, make: Callable[[int], Made], stage: str) -> Network:
    """AdamW, the rate rising over a tenth of the steps and falling after; the head learns five times as fast."""
    draw = np.random.default_rng(0)
    torch.manual_seed(0)
    first = make(0)
    total = epochs * -(-len(first[0]) // BATCH)
    named = [(name.split(".")[0], p) for name, p in network.named_parameters() if p.requires_grad]
    head = [p for name, p in named if name in ("pool", "out", "marks")]
    body = [p for name, p in named if name not in ("pool", "out", "marks")]
    optimiser = torch.optim.AdamW([{"params": body, "lr": RATE}, {"params": head, "lr": 5 * RATE}], weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (0.1 * total)) * max(0.02, 1 - step / total)
    )
    began, seen, step, loss_sum = time.time(), 0, 0, 0.0
    for epoch in range(epochs):
        pairs, labels, weights = first if epoch == 0 else make(epoch)
        network.train()
        for batch in _batches(pairs, BATCH, draw):
            with torch.autocast("cpu", torch.bfloat16):
                odds = network(*padded([pairs[place] for place in batch]))
            each = functional.binary_cross_entropy_with_logits(odds, torch.from_numpy(labels[batch]), reduction="none")
            loss = (each * torch.from_numpy(weights[batch])).mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(body, 1.0)
            optimiser.step()
            schedule.step()
            seen, step, loss_sum = seen + len(batch), step + 1, loss_sum + loss.item()
            if step % 50 == 0:
                rate = seen / (time.time() - began)
                print(f"{stage}: step {step} of {total}, loss {loss_sum / 50:.3f}, {rate:.0f} claims/s", flush=True)
                loss_sum = 0.0
    return network


def _batches(pairs: Sequence[Pair], size: int, draw: np.random.Generator | None) -> list[list[int]]:
    """Places of pairs of like length; with `draw` mixed a little, the batches in any order."""
    noise = draw.random(len(pairs)) * 12 if draw is not None else np.zeros(len(pairs))
    order = sorted(range(len(pairs)), key=lambda place: len(pairs[place].ids) + noise[place])
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    if draw is not None:
        draw.shuffle(batches)
    return batches


def read(network: Network, texts: Sequence[Text]) -> Array:
    """The log odds of every claim of the texts, in order."""
    pairs = [pair for text in texts for pair in text.pairs]
    found = np.zeros(len(pairs), np.float32)
    network.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for batch in _batches(pairs, 64, None):
            found[batch] = network(*padded([pairs[place] for place in batch])).numpy()
    return found


def main(folder: Path, work: Path, stages: Sequence[str]) -> None:
    """Do the stages that have not left their file yet."""
    torch.set_num_threads(2)
    torch.set_flush_denormal(True)
    work.mkdir(parents=True, exist_ok=True)
    first = work / "invented.pt"
    if "invented" in stages and not first.exists():
        found = invented(folder)
        labels = np.array([one.label for one in found], np.float32)
        made = [one.pair for one in found], labels, np.ones_like(labels)
        torch.save(trained(Network(), 1, lambda _: made, "invented").state_dict(), first)
    sets = labelled(folder)
    for stage in (stage for stage in stages if stage in FOLDS):
        _fold(stage, sets, first, work)
    if "write" in stages:
        write(folder, work)


def _fold(stage: str, sets: dict[str, list[Text]], first: Path, work: Path) -> None:
    target = work / f"{stage}.pt"
    if target.exists():
        return
    network = Network()
    network.load_state_dict(torch.load(first))
    network.freeze(FROZEN)
    trained(network, EPOCHS, lambda epoch: examples_of(sets, FOLDS[stage], epoch), stage)
    odds = {name: read(network, sets[name]) for name in FOLDS[stage]}
    np.savez(work / f"{stage}.npz", **odds)
    torch.save(network.state_dict(), target)


def write(folder: Path, work: Path) -> None:
    """The shipped weights, and the log odds of every set by weights trained without it, for `bench.py`."""
    network = Network()
    network.load_state_dict(torch.load(work / "all.pt"))
    export(network, PACKAGE / "encoder_int8.npz")
    kept: dict[str, Any] = {}
    rows = {name: found for name, (found, _) in tables(folder)["support"].items()}
    for stage in (stage for stage in FOLDS if FOLDS[stage]):
        with np.load(work / f"{stage}.npz") as stored:
            for name in stored.files:
                kept[name] = np.round(stored[name] * 1000).astype(np.int16)
                kept[f"claims:{name}"] = np.array(claims_hash(rows[name]))
    np.savez_compressed(HERE / "folds.npz", **kept)
    print("wrote encoder_int8.npz and folds.npz; now run bench.py")


if __name__ == "__main__":
    wanted = sys.argv[3:] or list(STAGES)
    if unknown := [stage for stage in wanted if stage not in STAGES]:
        raise SystemExit(f"unknown stage {', '.join(unknown)}; known: {', '.join(STAGES)}")
    main(Path(sys.argv[1]), Path(sys.argv[2]), wanted)
