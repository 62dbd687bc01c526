"""What a sweep file asks for, as cells: each one whole settings, checked before anything is spent."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ragauge.core.metric import parse_metric_key
from ragauge.core.model import fingerprint
from ragauge.engine.plan import default_metrics, known_metrics
from ragauge.engine.settings import Settings, load_settings, read_mapping
from ragauge.errors import SettingsError, UnknownName, nearest
from ragauge.store.sweepdir import Part, short_names, shown_value

Executor = Literal["auto", "processes", "tasks"]

#: What a sweep file, or the section `sweep:` of a settings file, may hold.
KEYS = (
    "base", "name", "grid", "cells", "set", "base_cell", "metrics", "judge", "run", "quality", "split",
    "confirm_split", "workers", "executor",
)  # fmt: skip
#: More cells than this are taken for a slip.
MAX_CELLS = 5000


@dataclass(frozen=True)
class Cell:
    """One combination. `knobs` holds every key that varies in the sweep, with the value that it has here."""

    id: str
    label: str
    knobs: dict[str, Any]
    settings: Settings


@dataclass(frozen=True)
class SweepPlan:
    """A sweep, read and checked. `base` is the id of the cell that the others are compared with."""

    name: str
    file: Path
    knobs: tuple[str, ...]
    cells: tuple[Cell, ...]
    base: str
    quality: str | None = None
    metrics: tuple[str, ...] = ()
    part: Part | None = None
    confirm: Part | None = None
    workers: int | None = None
    executor: Executor = "auto"
    notes: tuple[str, ...] = ()


def plan_sweep(file: Path, overrides: Mapping[str, Any] | None = None, **flags: Any) -> SweepPlan:
    """Read a sweep file. `overrides` are dotted settings for every cell; `flags` win over the file's own keys.

    Raises `InputError`, `SettingsError` or `UnknownName` for the first thing that cannot be.
    """
    section, base_file = _section(file)
    section |= {key: value for key, value in flags.items() if value is not None}
    _check_keys(section, file)
    fixed = _fixed(section) | dict(overrides or {})
    combinations, notes = _combinations(section)
    knobs = tuple(dict.fromkeys(key for one in combinations for key in one))
    if not knobs:
        raise SettingsError("a sweep needs a grid, or cells", hint="grid: {system.reference.k: [3, 5, 10]}")
    settings = [_settings(base_file, file, fixed | one) for one in combinations]
    named = tuple(_named_metrics(settings))
    settings = _with_metrics(settings, knobs)
    kept, same = _without_doubles(combinations, settings)
    names = short_names(knobs)
    width = max(2, len(str(len(kept))))
    untouched = _settings(base_file, file, fixed)
    cells = tuple(
        Cell(f"c{place:0{width}d}", _label(one, names), _values(one, knobs, untouched), made)
        for place, (one, made) in enumerate(kept, start=1)
    )
    notes += [f"{same} combinations came twice and are run once"] if same else []
    base, said = _base_cell(section.get("base_cell"), cells, knobs, untouched)
    return SweepPlan(
        name=str(section.get("name", file.stem)),
        file=file,
        knobs=knobs,
        cells=cells,
        base=base,
        quality=_metric(section.get("quality")),
        metrics=named,
        part=_part(section),
        confirm=_choice("confirm_split", section.get("confirm_split"), get_args(Part)),
        workers=_workers(section.get("workers")),
        executor=_choice("executor", section.get("executor", "auto"), get_args(Executor)),
        notes=(*notes, *([said] if said else [])),
    )


def _section(file: Path) -> tuple[dict[str, Any], Path | None]:
    """The sweep's own keys, and the settings file that the cells start from."""
    data = read_mapping(file)
    if "sweep" in data:
        section = data["sweep"]
        if not isinstance(section, Mapping):
            raise SettingsError(f"{file}: `sweep` must be a mapping, found {section!r}")
        own: Path | None = file
    else:
        section, own = data, None
    section = {str(key): value for key, value in section.items()}
    if section.get("base") is not None:
        return section, file.resolve().parent / str(section["base"])
    return section, own


def _check_keys(section: Mapping[str, Any], file: Path) -> None:
    for key in section:
        if key not in KEYS:
            near = nearest(key, KEYS)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(KEYS)}."
            if "grid" not in section and "cells" not in section:
                hint = "A sweep file has `base: ragauge.yaml` and `grid:`; a settings file has them under `sweep:`."
            raise SettingsError(f"{file}: a sweep has no key {key!r}", hint=hint)


def _fixed(section: Mapping[str, Any]) -> dict[str, Any]:
    """What is the same in every cell, as dotted keys."""
    fixed = section.get("set") or {}
    if not isinstance(fixed, Mapping):
        raise SettingsError(f"sweep.set must be a mapping of settings, found {fixed!r}")
    fixed = {str(key): value for key, value in fixed.items()}
    for key in ("metrics", "judge"):
        if key in section:
            fixed[key] = section[key]
    run = section.get("run") or {}
    if not isinstance(run, Mapping):
        raise SettingsError(f"sweep.run must be a mapping, found {run!r}")
    return fixed | {f"run.{key}": value for key, value in run.items()}


def _combinations(section: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    combinations: list[dict[str, Any]] = []
    grid = section.get("grid")
    if grid is not None:
        if not isinstance(grid, Mapping) or not grid:
            raise SettingsError("sweep.grid must map settings to lists of values", hint="{system.reference.k: [3, 5]}")
        for key, values in grid.items():
            if not isinstance(values, list) or not values:
                raise SettingsError(f"sweep.grid.{key}: give a list of values, found {values!r}")
        n_cells = 1
        for values in grid.values():
            n_cells *= len(values)
        if n_cells > MAX_CELLS:
            raise SettingsError(
                f"the grid has {n_cells} cells; at most {MAX_CELLS} are run", hint="Sweep in two steps."
            )
        keys = [str(key) for key in grid]
        combinations += [dict(zip(keys, values, strict=True)) for values in itertools.product(*grid.values())]
    cells = section.get("cells")
    if cells is not None:
        if not isinstance(cells, list) or not all(isinstance(cell, Mapping) for cell in cells):
            raise SettingsError("sweep.cells must be a list of mappings", hint="cells: [{system.reference.k: 5}]")
        combinations += [{str(key): value for key, value in cell.items()} for cell in cells]
    return combinations, []


def _settings(base_file: Path | None, file: Path, overrides: Mapping[str, Any]) -> Settings:
    # A copy: a knob inside of a mapping that all cells share must not change it for the others.
    made = load_settings(base_file, copy.deepcopy({**overrides, "sweep": {}}))
    if base_file is None:
        made = made.model_copy(update={"base": file.resolve().parent})
    made.system_kind()
    if made.golden is None:
        raise SettingsError("no golden set", hint="Set `golden:` in the base settings, or `set: {golden: FILE}`.")
    _check_names(made)
    return made


def _check_names(settings: Settings) -> None:
    known = known_metrics()
    for request in settings.metrics or ():
        key = request if isinstance(request, str) else next(iter(request), "")
        try:
            name, _, _ = parse_metric_key(key.strip())
        except ValueError as error:
            raise SettingsError(f"metrics: {error}") from None
        if name not in known:
            raise UnknownName("metric", name, known)


def _with_metrics(settings: list[Settings], knobs: Sequence[str]) -> list[Settings]:
    """Where cells retrieve different numbers of chunks, all get the same default metrics: those at the largest k.

    A cell that retrieves fewer is then scored on all that it retrieved. Precision is divided by what came back.
    """
    if not any(key.rpartition(".")[2] == "k" for key in knobs) or any(one.metrics is not None for one in settings):
        return settings
    found = [one.system_kind()[1].get("k", 5) for one in settings]
    largest = max((k for k in found if isinstance(k, int)), default=5)
    made = []
    for one in settings:
        names = default_metrics(one.judge not in (None, "none", "None"), largest)
        fair = [name.replace("precision@", "precision_retrieved@") for name in names]
        made.append(one.model_copy(update={"metrics": fair}))
    return made


def _without_doubles(
    combinations: Sequence[dict[str, Any]], settings: Sequence[Settings]
) -> tuple[list[tuple[dict[str, Any], Settings]], int]:
    kept: dict[str, tuple[dict[str, Any], Settings]] = {}
    for one, made in zip(combinations, settings, strict=True):
        kept.setdefault(fingerprint(made.model_dump(mode="json")), (one, made))
    return list(kept.values()), len(settings) - len(kept)


def _label(one: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return ", ".join(f"{names[key]}={shown_value(value)}" for key, value in one.items()) or "base settings"


def _values(one: Mapping[str, Any], knobs: Sequence[str], untouched: Settings) -> dict[str, Any]:
    return {key: one[key] if key in one else _value_of(untouched, key) for key in knobs}


def _value_of(settings: Settings, key: str) -> Any:
    """What a dotted key is in some settings; where they say nothing, the default."""
    data = settings.model_dump(mode="json")
    kind, values = settings.system_kind()
    data["system"] = {kind: values}
    value: Any = data
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None and key.startswith("system.reference."):
        from ragauge.systems.reference.settings import ReferenceSettings

        return getattr(ReferenceSettings(corpus=""), key.rpartition(".")[2], None)
    return value


def _base_cell(asked: Any, cells: Sequence[Cell], knobs: Sequence[str], untouched: Settings) -> tuple[str, str | None]:
    if isinstance(asked, str):
        if asked not in {cell.id for cell in cells}:
            raise UnknownName("cell", asked, (cell.id for cell in cells))
        return asked, None
    if asked is not None and not isinstance(asked, Mapping):
        raise SettingsError(f"sweep.base_cell must be a mapping of knobs, or a cell's id, found {asked!r}")
    if asked is not None:
        for key in asked:
            if key not in knobs:
                raise UnknownName("knob in base_cell", str(key), knobs)
        hits = [cell.id for cell in cells if all(cell.knobs[key] == value for key, value in asked.items())]
        if len(hits) != 1:
            raise SettingsError(
                f"sweep.base_cell fits {len(hits)} cells",
                hint=f"Give a value of the grid for each of {', '.join(knobs)}.",
            )
        return hits[0], None
    now = {key: _value_of(untouched, key) for key in knobs}
    for cell in cells:
        if cell.knobs == now:
            return cell.id, None
    return cells[0].id, (
        "no cell has the knobs of the base settings, so the first cell is the base (choose one with `base_cell:`)"
    )


def _part(section: Mapping[str, Any]) -> Part | None:
    part: Part | None = _choice("split", section.get("split"), get_args(Part))
    confirm = section.get("confirm_split")
    if confirm is None:
        return part
    other: Part = "dev" if confirm == "test" else "test"
    if part is not None and part == confirm:
        raise SettingsError(
            f"split and confirm_split are both {confirm!r}",
            hint="A winner is confirmed on questions that did not choose it.",
        )
    return part or other


def _choice(key: str, value: Any, accepted: Sequence[str]) -> Any:
    if value is not None and value not in accepted:
        near = nearest(str(value), accepted)
        raise SettingsError(
            f"sweep.{key} must be one of {', '.join(accepted)}, not {value!r}",
            hint=f"Did you mean {near[0]!r}?" if near else "",
        )
    return value


def _workers(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 256):
        raise SettingsError(f"sweep.workers must be a whole number from 1 to 256, not {value!r}")
    return value


def _metric(value: Any) -> str | None:
    if value is None:
        return None
    try:
        name, _, _ = parse_metric_key(str(value))
    except ValueError as error:
        raise SettingsError(f"sweep.quality: {error}") from None
    if name not in known_metrics():
        raise UnknownName("metric in sweep.quality", name, known_metrics())
    return str(value)


def _named_metrics(settings: Sequence[Settings]) -> Iterator[str]:
    """The metrics that somebody named: the columns of the table."""
    named = dict.fromkeys(
        request if isinstance(request, str) else next(iter(request), "")
        for one in settings
        for request in one.metrics or ()
    )
    yield from (key.strip() for key in named)


def restore_settings(stored: Mapping[str, Any]) -> Settings:
    """A cell's settings as they stand in sweep.json. Raises `SettingsError` for a secret that was struck out."""
    values = dict(stored)
    base = values.pop("base", ".")
    if "***" in json.dumps(values, default=str):
        raise SettingsError(
            "a secret was struck out of that sweep's settings",
            hint="Write secrets as ${NAME} in ragauge.yaml to resume a sweep.",
        )
    return Settings(**values, base=Path(base))
