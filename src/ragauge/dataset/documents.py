"""What verbs of `ragauge golden` print with --json, as the schemas in the documentation say."""

from __future__ import annotations

from ragauge.core.model import Model
from ragauge.dataset.from_logs import Why
from ragauge.dataset.label_chunks import Proposal, Unlabelled


class GenerateDocument(Model):
    """Of `golden generate`. `golden`: the file; `added`: ids of its new items; `dropped`: why → how many questions."""

    golden: str
    added: tuple[str, ...]
    n_asked: int
    dropped: dict[str, int]


class CandidatesDocument(Model):
    """Of `golden from-logs` and `monitor candidates`. `to`: the queue or file that `added` of them are new in;
    `reasons`: why they are worth a look → how many.
    """

    log: str
    to: str
    added: int
    reasons: dict[Why, int]


class PromoteDocument(Model):
    """Of `golden promote`: ids that are new in the file `golden`, ids that were replaced, and those left out because
    they ask what another item asks (id → that item's).
    """

    golden: str
    added: tuple[str, ...]
    replaced: tuple[str, ...]
    repeated: dict[str, str]


class LabelChunksDocument(Model):
    """Of `golden label-chunks`. `retrieval` (with --run, else null): at the levels `doc` and `chunk` the mean of each
    measure (fraction, 0 to 1), and under `n` over how many questions. `written`: the labelled set, with --write.
    """

    proposals: tuple[Proposal, ...]
    unlabelled: tuple[Unlabelled, ...]
    retrieval: dict[str, dict[str, float]] | None
    written: str | None
