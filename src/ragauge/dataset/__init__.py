"""Golden sets and recorded samples: load, map other tools' names, resolve evidence, fingerprint, write.

golden = load_golden("golden.yaml")
stream = read_samples("answers.jsonl", golden=golden)
labels = resolve_labels(item, CorpusIndex.from_chunks(chunks), response)
"""

from ragauge.dataset.beir import read_chunks
from ragauge.dataset.evidence import CorpusIndex, resolve_labels
from ragauge.dataset.golden import GoldenSet, load_golden
from ragauge.dataset.recorded import SampleStream, read_samples
from ragauge.dataset.validate import check_labels
from ragauge.dataset.writers import save_golden

__all__ = [
    "CorpusIndex",
    "GoldenSet",
    "SampleStream",
    "check_labels",
    "load_golden",
    "read_chunks",
    "read_samples",
    "resolve_labels",
    "save_golden",
]
