"""Which questions and which metrics of two runs may be compared, and what a reader must be warned of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragauge.core.judge import JudgeInfo
from ragauge.core.metric import MetricSpec, Need
from ragauge.core.run import Manifest


@dataclass(frozen=True)
class Pairing:
    """Ids in the first run's order. `changed`: the id is in both, but the item is not the same any more."""

    shared: tuple[str, ...]
    changed: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def pair_items(a: Mapping[str, str], b: Mapping[str, str], *, include_changed: bool = False) -> Pairing:
    """Match items by id and content fingerprint. Changed items are left out unless `include_changed`.

    >>> pair_items({"q1": "x", "q2": "y", "q3": "z"}, {"q2": "y", "q3": "other", "q4": "w"})
    Pairing(shared=('q2',), changed=('q3',), only_a=('q1',), only_b=('q4',))
    """
    changed = tuple(item for item in a if item in b and a[item] != b[item])
    left_out = set() if include_changed else set(changed)
    return Pairing(
        shared=tuple(item for item in a if item in b and item not in left_out),
        changed=changed,
        only_a=tuple(item for item in a if item not in b),
        only_b=tuple(item for item in b if item not in a),
    )


def why_not_comparable(a: MetricSpec, b: MetricSpec) -> str | None:
    """Why two metrics of one name must not be compared: another version, other parameters, another scale."""
    if a.info.name != b.info.name:
        return f"it is {a.info.name!r} in one and {b.info.name!r} in the other"
    if a.info.version != b.info.version:
        return f"its definition changed (version {a.info.version} against {b.info.version})"
    if a.params != b.params:
        names = sorted(name for name in {*a.params, *b.params} if a.params.get(name) != b.params.get(name))
        return f"its parameters differ ({', '.join(names)})"
    if (a.info.better, a.info.low, a.info.high) != (b.info.better, b.info.low, b.info.high):
        return "its range or direction differs"
    return None


def asks_a_judge(spec: MetricSpec) -> bool:
    """Whether a judge decides this metric's value."""
    return Need.JUDGE in spec.info.needs


def judge_change(a: JudgeInfo | None, b: JudgeInfo | None) -> str | None:
    """In words, how the judges differ; None when they are the same."""
    if (a.fingerprint if a else None) == (b.fingerprint if b else None):
        return None
    if a is None or b is None:
        return f"{a.name if a else 'no judge'} against {b.name if b else 'no judge'}"
    prompts = sorted(task for task in {*a.prompts, *b.prompts} if a.prompts.get(task) != b.prompts.get(task))
    parts = [
        f"{name} {before} against {after}"
        for name, before, after in (
            ("judge", a.name, b.name),
            ("version", a.version, b.version),
            ("model", a.model, b.model),
        )
        if before != after
    ]
    if prompts:
        parts.append(f"prompts of {', '.join(prompts)}")
    return "; ".join(parts) or "its settings"


def warnings(a: Manifest, b: Manifest, pairing: Pairing) -> Iterator[str]:
    """What makes the two runs less comparable than they look."""
    change = judge_change(a.judge, b.judge)
    if change:
        yield f"The judge differs ({change}): differences of judged metrics may come from the judge."
    if a.dataset.fingerprint != b.dataset.fingerprint:
        parts = [f"{len(pairing.shared)} questions compared"]
        if pairing.changed:
            parts.append(f"{len(pairing.changed)} changed ({_some(pairing.changed)})")
        if pairing.only_a:
            parts.append(f"{len(pairing.only_a)} only in the first")
        if pairing.only_b:
            parts.append(f"{len(pairing.only_b)} only in the second")
        yield f"The golden sets differ: {', '.join(parts)}."
    if a.seed != b.seed:
        yield f"The seeds differ ({a.seed} against {b.seed})."
    if a.repeats != b.repeats:
        yield f"The number of repeats differs ({a.repeats} against {b.repeats}): compare runs with the same."
    if a.ragauge != b.ragauge:
        yield f"They were made by different versions of ragauge ({a.ragauge} against {b.ragauge})."


def changed_settings(a: Manifest, b: Manifest) -> list[str]:
    """What is different about the systems, as `k: 5 → 10`: usually the point of the comparison."""
    before, after = _flat(a.system.settings), _flat(b.system.settings)
    lines = []
    if a.system.kind != b.system.kind or a.system.name != b.system.name:
        lines.append(f"system: {a.system.name} ({a.system.kind}) → {b.system.name} ({b.system.kind})")
    if a.system.model != b.system.model:
        lines.append(f"model: {a.system.model} → {b.system.model}")
    lines += [
        f"{name}: {before.get(name, 'not set')} → {after.get(name, 'not set')}"
        for name in [*before, *(name for name in after if name not in before)]
        if before.get(name) != after.get(name)
    ]
    if not lines and a.system.fingerprint != b.system.fingerprint:
        lines.append("the system's fingerprint (its settings are the same)")
    return lines


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _some(ids: tuple[str, ...], n: int = 5) -> str:
    return ", ".join(ids[:n]) + (" …" if len(ids) > n else "")
