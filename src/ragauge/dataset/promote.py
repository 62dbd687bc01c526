"""Reviewed items are added to a golden file; what stands there, comments included, stays as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragauge.core.sample import GoldenItem
from ragauge.dataset.duplicates import duplicates
from ragauge.dataset.golden import load_golden
from ragauge.dataset.writers import _yaml, native_record
from ragauge.errors import InputError, RagaugeError, StoreError
from ragauge.store.textfile import read_text
from ragauge.store.whole import replacing


@dataclass(frozen=True)
class Promotion:
    """What was added, replaced, and left out because it repeats a question (id → the id that it repeats)."""

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    repeated: dict[str, str]


def promote(items: Sequence[GoldenItem], path: str | os.PathLike[str], *, replace: bool = False) -> Promotion:
    """Add `items` to the golden file at `path` (YAML or JSON Lines; made when it is not there).

    An item whose id is there already replaces it only with `replace` (then the file is written anew, without its
    comments); otherwise it is an error. Items that ask what another item asks are left out. The file is read back
    before it takes the place of the old one: it is changed as a whole or not at all.
    """
    target = Path(path)
    old = load_golden(target) if target.exists() else None
    there = {item.id: item for item in old} if old is not None else {}
    clashing = [item.id for item in items if item.id in there and item != there[item.id]]
    if clashing and not replace:
        raise InputError(
            f"{len(clashing)} of the items are in the set already, with other contents: {', '.join(clashing[:5])}",
            file=str(target),
            hint="Replace them with --replace; the file is then written anew, without its comments.",
        )
    fresh = [item for item in items if item.id not in there]
    questions = [item.question for item in (*there.values(), *fresh)]
    names = [*there, *(item.id for item in fresh)]
    repeated = {names[index]: names[earlier] for index, earlier, _ in duplicates(questions) if index >= len(there)}
    added = [item for item in fresh if item.id not in repeated]
    changed = {item.id: item for item in items if item.id in clashing}
    wanted = [changed.get(name, item) for name, item in there.items()] + added
    if not added and not changed:
        return Promotion((), (), repeated)
    text = _whole(wanted, target) if changed or old is None else _appended(target, added)
    _write_checked(target, text, wanted)
    return Promotion(tuple(item.id for item in added), tuple(changed), repeated)


def _lines(items: Sequence[GoldenItem]) -> str:
    return "".join(json.dumps(native_record(item), ensure_ascii=False, allow_nan=False) + "\n" for item in items)


def _whole(items: Sequence[GoldenItem], target: Path) -> str:
    if target.suffix in (".yaml", ".yml"):
        return _yaml([native_record(item) for item in items])
    if target.suffix in (".jsonl", ".ndjson"):
        return _lines(items)
    raise InputError(
        "golden sets are written as YAML or JSON Lines", file=str(target), accepted=".yaml | .yml | .jsonl"
    )


def _appended(target: Path, items: Sequence[GoldenItem]) -> str:
    """The file's text with the new items at its end, indented as its last list is."""
    text = read_text(target)
    text = text if text.endswith("\n") or not text else text + "\n"
    if target.suffix in (".jsonl", ".ndjson"):
        return text + _lines(items)
    if target.suffix not in (".yaml", ".yml"):
        return _whole([*load_golden(target), *items], target)
    starts = [line for line in text.splitlines() if line.lstrip(" ").startswith("- ")]
    indent = len(starts[0]) - len(starts[0].lstrip(" ")) if starts else 0
    block = _yaml([native_record(item) for item in items])
    return text + "".join(" " * indent + line + "\n" if line else "\n" for line in block.splitlines())


def _write_checked(target: Path, text: str, wanted: Sequence[GoldenItem]) -> None:
    """Write beside `target`, read it back, and only then move it there."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, ending=target.suffix) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
            found = load_golden(beside).items
            if [item.fingerprint() for item in found] != [item.fingerprint() for item in wanted]:
                raise StoreError(
                    f"{target} is not laid out as one list of items at its end, so nothing was added",
                    hint="Write a new file and keep both in one folder, or use --replace to write it anew.",
                )
    except OSError as problem:
        raise StoreError(f"cannot write {target}: {problem.strerror or problem}") from problem
    except RagaugeError as problem:
        if isinstance(problem, StoreError):
            raise
        raise StoreError(
            f"{target} could not be extended: {problem.message}", hint="Nothing was changed. --replace writes it anew."
        ) from problem
