"""Environment variables that libraries read while we use them, and that are as they were afterwards."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_lock = threading.Lock()
#: Name → how many are inside, and what the variable was before the first of them came.
_inside: dict[str, tuple[int, str | None]] = {}


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Inside, these variables have these values; when the last of several threads has left, those from before."""
    with _lock:
        for name, value in values.items():
            n, before = _inside.get(name, (0, os.environ.get(name)))
            _inside[name] = (n + 1, before)
            os.environ[name] = value
    try:
        yield
    finally:
        with _lock:
            for name in values:
                n, before = _inside.pop(name)
                if n > 1:
                    _inside[name] = (n - 1, before)
                elif before is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = before
