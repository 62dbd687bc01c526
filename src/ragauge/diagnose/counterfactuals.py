"""`counterfactuals.jsonl` read back: what the system said under other conditions, by row and condition."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from ragauge.core.counterfactual import Counterfactual
from ragauge.errors import StoreError
from ragauge.store.jsonl import whole_lines

#: The file's name in a run directory.
FILE = "counterfactuals.jsonl"


def read_counterfactuals(run: Path) -> dict[tuple[str, int], dict[str, Counterfactual]]:
    """(item id, repeat) → condition → what came of it; the later of two lines counts. Conditions that could not be
    tried are left out. Empty without the file.
    """
    file = run / FILE
    found: dict[tuple[str, int], dict[str, Counterfactual]] = {}
    if not file.exists():
        return found
    for number, _, line in whole_lines(file):
        try:
            one = Counterfactual.model_validate_json(line)
        except ValidationError as error:
            raise StoreError(
                f"{file}:{number}: a line is damaged ({error.errors()[0]['msg']})",
                hint="Delete the file and try again.",
            ) from None
        if one.error is None:
            found.setdefault((one.id, one.repeat), {})[one.condition] = one
    return found
