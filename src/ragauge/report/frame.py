"""Rows as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ragauge.core.run import Manifest, Record
from ragauge.core.score import Scored, Unscored
from ragauge.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd


def frame(manifest: Manifest, records: Iterable[Record]) -> pd.DataFrame:
    """One line per row. `METRIC` holds the value or None, `METRIC:unscored` why it is None; nothing is dropped."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("pandas", "pandas") from None
    lines = [_line(manifest, record) for record in records]
    return pd.DataFrame(lines)


def _line(manifest: Manifest, record: Record) -> dict[str, Any]:
    sample = record.sample
    line: dict[str, Any] = {
        "id": sample.item.id,
        "repeat": sample.repeat,
        "question": sample.item.question,
        "answer": sample.response.answer,
        "reference": sample.item.answer,
        "tags": list(sample.item.tags),
        "error": record.error,
    }
    for spec in manifest.metrics:
        score = record.scores.get(spec.key)
        line[spec.key] = score.value if isinstance(score, Scored) else None
        line[f"{spec.key}:unscored"] = score.reason.value if isinstance(score, Unscored) else None
    return line
