"""An embedder by its name."""

from __future__ import annotations

from ragauge.embeddings.base import Embedder
from ragauge.errors import UnknownName

#: The packaged model.
DEFAULT = "minilm"
KNOWN = ("minilm", "wordllama", "sentence-transformers:NAME")


def load(name: str = DEFAULT) -> Embedder:
    """The embedder called `name`, loaded once per process.

    `minilm` (packaged, the default), `wordllama` (extra), `sentence-transformers:NAME_OR_FOLDER` (extra). `UnknownName`
    for anything else, `MissingExtra` for an extra that is not installed.
    """
    kind, _, rest = name.partition(":")
    if kind == "sentence-transformers" and rest.strip():
        from ragauge.embeddings.sentence_transformer import load_sentence_transformer

        return load_sentence_transformer(rest.strip())
    if name == "minilm":
        from ragauge.embeddings.minilm import load_minilm

        return load_minilm()
    if name == "wordllama":
        from ragauge.embeddings.wordllama import load_wordllama

        return load_wordllama()
    raise UnknownName("embedder", name, KNOWN)
