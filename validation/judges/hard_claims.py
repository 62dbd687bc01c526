"""Claims that words alone cannot tell: passages with claims that a language model wrote for ragauge, half supported.

Original texts of thirteen kinds (news, documentation, research, conversation, records, meetings, web search …), with
about ten claims each: near the wording, in quite other words, joined from several sentences or concluded; or one word
exchanged, a relation turned round, a detail added, overstated, not said. Unsupported claims share as many words with
their passage as supported ones do. Nothing is copied from a data set, and no text is to be taken for a fact. The labels
are the writer's: read again without them (by another session of the same model), all of 384 claims got the same answer
to whether they are supported. No person labelled them.

`python validation/judges/hard_claims.py` prints, for each kind of text, AUROC of word overlap and of both tiers of the
embedded judge, over one passage in twenty; the others are left to train on. `… --rows OUT.jsonl` writes those claims as
rows for `ragauge judge bench OUT.jsonl --judge NAME`, to measure any judge.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragauge.analysis.agreement import auroc
from ragauge.judges.embedded.encoder import Encoder, load_encoder
from ragauge.judges.embedded.support import judge_text
from ragauge.text.tokens import content_words

FILE = Path(__file__).with_suffix(".jsonl.gz")
#: Labels: the passage says so, says otherwise, says nothing of it.
SUPPORTED, *OTHERS = LABELS = ("supported", "contradicted", "not_mentioned")
#: One passage in so many is measured on.
MEASURED = 20


@dataclass(frozen=True)
class Passage:
    """A passage and its claims, (label, claim) each; `kind` one of thirteen, `domain` in the writer's words."""

    kind: str
    domain: str
    text: str
    claims: tuple[tuple[str, str], ...]

    @property
    def measured(self) -> bool:
        """Whether judges are measured on it: by its text, so that adding passages moves none."""
        return zlib.crc32(self.text.encode()) % MEASURED == 0

    @property
    def contexts(self) -> tuple[str, ...]:
        """Its paragraphs."""
        return tuple(part for part in self.text.split("\n\n") if part.strip())


@dataclass(frozen=True)
class Outcome:
    """One claim: its label, and what speaks for it by overlap, by words and with the encoder (each 0 to 1)."""

    kind: str
    label: str
    overlap: float
    by_words: float
    read: float


def passages() -> list[Passage]:
    """All of them, in the file's order; a label that is none of LABELS is a ValueError."""
    found = []
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        for number, row in enumerate(map(json.loads, lines), 1):
            claims = tuple((label, claim) for label, claim in row["claims"])
            if unknown := {label for label, _ in claims} - set(LABELS):
                raise ValueError(f"{FILE.name}, line {number}: unknown label {', '.join(sorted(unknown))}")
            found.append(Passage(row["kind"], row["domain"], row["passage"], claims))
    return found


def share_found(wanted: str, texts: Sequence[str]) -> float:
    """Word overlap: the share (0 to 1) of the distinct content words of `wanted` that the texts hold; 0 without any."""
    asked = set(content_words(wanted))
    return len(asked & set(content_words("\n".join(texts)))) / len(asked) if asked else 0.0


def outcomes(encoder: Encoder) -> list[Outcome]:
    """Every claim of the passages that judges are measured on."""
    found = []
    for passage in (one for one in passages() if one.measured):
        for label, claim in passage.claims:
            words, read = (judge_text(claim, passage.contexts, encoder=one) for one in (None, encoder))
            overlap = share_found(claim, passage.contexts)
            found.append(Outcome(passage.kind, label, overlap, words.probability, read.probability))
    return found


def table(found: Sequence[Outcome]) -> list[tuple[str, int, tuple[float, float, float]]]:
    """(which claims, how many, AUROC by overlap, by words, with the encoder): per kind, all, and per kind of fault."""
    lines = [(kind, [one for one in found if one.kind == kind]) for kind in sorted({one.kind for one in found})]
    lines.append(("all", list(found)))
    lines += [
        (f"{SUPPORTED} against {label}", [one for one in found if one.label in (SUPPORTED, label)]) for label in OTHERS
    ]
    return [(name, len(of), _aurocs(of)) for name, of in lines]


def _aurocs(found: Sequence[Outcome]) -> tuple[float, float, float]:
    labels = np.array([float(one.label == SUPPORTED) for one in found])
    values = np.array([(one.overlap, one.by_words, one.read) for one in found])
    overlap, words, read = (auroc(values[:, place], labels) for place in range(3))
    assert overlap is not None
    assert words is not None
    assert read is not None
    return overlap, words, read


def write_rows(target: Path) -> int:
    """The measured claims as rows for `ragauge judge bench`; how many."""
    rows = [
        {
            "id": f"hard-{place}-{number}", "dataset": "hard_claims", "task": "grounding", "contexts": passage.contexts,
            "text": claim, "label": int(label == SUPPORTED), "label_detail": label, "group": f"hard-{place}",
        }
        for place, passage in enumerate(passages()) if passage.measured
        for number, (label, claim) in enumerate(passage.claims)
    ]  # fmt: skip
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rows"]:
        print(f"{write_rows(Path(sys.argv[2]))} rows in {sys.argv[2]}")
    else:
        for name, n, (overlap, words, read) in table(outcomes(load_encoder())):
            print(f"{name:32s} {n:5d} claims  overlap {overlap:.3f}  words {words:.3f}  with the encoder {read:.3f}")
