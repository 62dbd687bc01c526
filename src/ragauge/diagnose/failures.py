"""The failures of a diagnosis, put into groups by what their questions are about."""

from __future__ import annotations

from ragauge.diagnose.clusters import Clusters, cluster
from ragauge.diagnose.diagnosis import Diagnosis

#: More failures than this are grouped by their words' vectors: through the model they would take minutes.
MANY_FAILURES = 3_000


def group_failures(found: Diagnosis) -> Clusters:
    """Clusters of the failing questions, each question once; embedded by the packaged model, no network."""
    from ragauge.embeddings.minilm import load_minilm

    first = {row.id: row for row in reversed(found.rows)}
    ids = sorted(first)
    texts = [first[name].question for name in ids]
    if not ids:
        return cluster([], [], [])
    minilm = load_minilm()
    vectors = minilm.encode(texts) if len(texts) <= MANY_FAILURES else minilm.word_vectors(texts)
    return cluster(ids, texts, vectors, {name: row.cause for name, row in first.items()})
