"""Files that are there whole or not at all: written under a name that nobody else uses, then moved into their place."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path, *, ending: str = ".part") -> Iterator[Path]:
    """A name beside `path`; what stands there at the end takes the place of `path` in one step.

    The name is another one each time: threads of one process, and processes with the same number in two containers
    that share a folder, do not take each other's file away. On an exception `path` stays as it was. Raises `OSError`.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}{ending}")
    try:
        yield beside
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
