from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragauge.systems.reference.pipeline import ReferenceSystem, build

DOCS = {
    "guide/limits.md": (
        "# Limits\n\nPlans differ in their request limits.\n\n"
        "| Plan | Requests per minute | Storage |\n|---|---|---|\n"
        "| Free | 60 | 1 GB |\n| Pro | 600 | 50 GB |\n| Team | 6000 | 500 GB |\n\n"
        "## Errors\n\nWhen the limit is exceeded the API answers 429. Wait for the time given in `Retry-After`.\n"
    ),
    "cli.md": (
        "# Command line\n\n## deploy\n\nTo deploy the current folder, run:\n\n"
        "```bash\nacme deploy --region eu-west-1 --wait\n```\n\n"
        "The flag `--wait` blocks until the deployment is healthy. The default time-out is 300 seconds.\n\n"
        "## login\n\nOpens a browser and stores a token in `~/.acme/token`.\n"
    ),
    "keys.md": (
        "# API keys\n\nTo rotate a key, open Settings > Keys and press Rotate. The old key works for 24 hours.\n\n"
        "- Keys never expire on their own.\n- Only owners can create keys.\n"
    ),
}


class CountingEmbedder:
    """Hashed words: no model, and it says how many texts it was given."""

    name = "counting"
    max_tokens = 50
    fingerprint = "counting-1"

    def __init__(self, dimension: int = 16) -> None:
        self.dimension = dimension
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> Any:
        import zlib

        self.texts += texts
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.casefold().split():
                row[zlib.crc32(word.encode("utf-8", "replace")) % self.dimension] += 1
            row[0] += 0.01
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [len(text.split()) > self.max_tokens for text in texts]


@pytest.fixture(scope="session")
def counting() -> type[CountingEmbedder]:
    return CountingEmbedder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    for name, text in DOCS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vectors")


@pytest.fixture
def make(docs: Path, cache: Path) -> Callable[..., ReferenceSystem]:
    def made(**settings: Any) -> ReferenceSystem:
        return build({"corpus": str(docs), "chunk_size": 400, "embedding_cache": str(cache), **settings})

    return made
