"""Calibrate a run with what stands in the review queue now, beside the labels that are kept with the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragauge.analysis.calibration import Calibration, changes
from ragauge.analysis.judge_checks import Family
from ragauge.analysis.labels import HumanLabel
from ragauge.core.run import Manifest
from ragauge.review.calibrating import calibrate_run, labelled_metrics, newest, read_stored_labels, stored
from ragauge.review.labels import queue_labels
from ragauge.review.queue import Queue
from ragauge.store.rundir import RunDir


@dataclass(frozen=True)
class Earlier:
    """The newest calibration of a metric by another run; `changed`: why it does not hold for this one."""

    calibration: Calibration
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """What is known of a run's judge: its own calibrations, earlier ones of the same metrics, labels not yet counted.

    `stale`: for each own calibration, what has changed since. `n_new`: labels of whole answers in the queue that no
    calibration has seen, by metric; `n_claims`: labels of single claims there.
    """

    own: tuple[Calibration, ...]
    stale: dict[str, tuple[str, ...]]
    earlier: tuple[Earlier, ...]
    n_new: dict[str, int]
    n_claims: int


def standing(run: RunDir, queue: Queue | None) -> Standing:
    """Read everything that is there; calibrates nothing. Without a queue there are no new labels."""
    own = stored(run)
    keys = {spec.key for spec in run.manifest.metrics}
    earlier = [one for metric, one in newest(run).items() if metric in keys and metric not in own]
    fresh, n_claims = _fresh(run, queue) if queue is not None else ([], 0)
    return Standing(
        own=tuple(own.values()),
        stale={metric: tuple(changes(one.binding, run.manifest)) for metric, one in own.items()},
        earlier=tuple(Earlier(one, tuple(changes(one.binding, run.manifest))) for one in earlier),
        n_new=dict(Counter(label.metric or "" for label in fresh)),
        n_claims=n_claims,
    )


def recalibrate(run: RunDir, queue: Queue, *, claims: bool = False, family: Family | None = None) -> list[Calibration]:
    """Calibrate with the queue's labels of this run and those kept with it; stored beside the run.

    `claims`: by what people said of single claims instead of whole answers. A label that was changed or taken back in
    the queue counts as it stands there now. `UsageError` when there is no label that can be used.
    """
    lower = lower_is_better(run.manifest)
    items = list(queue.items(run=run.manifest.run))
    names = {item.id for item in items}
    given = [label for label in queue.labels() if label.item_id in names]
    labels = queue_labels(given, items, lower_is_better=lower, claims=claims)
    if not claims:
        labels = [*labels, *_kept(run, queue)]
    metrics = labelled_metrics(run.manifest, labels) if labels else labelled_metrics(run.manifest, ())
    return calibrate_run(run, labels, metrics, family=family)


def lower_is_better(manifest: Manifest) -> set[str]:
    """The metrics of a run whose low values are good."""
    return {spec.key for spec in manifest.metrics if spec.info.better == "lower"}


def _kept(run: RunDir, queue: Queue) -> list[HumanLabel]:
    """Labels kept with the run that did not come from this queue, and whole answers only where the queue has those."""
    items = {item.id: item for item in queue.items(run=run.manifest.run)}
    seen = {
        (items[one.item_id].item, items[one.item_id].repeat, items[one.item_id].metric, one.reviewer)
        for one in queue.labels(undone=True)
        if one.item_id in items
    }
    return [
        label
        for label in read_stored_labels(run)
        if (label.item, label.repeat, label.metric, label.reviewer) not in seen
    ]


def _fresh(run: RunDir, queue: Queue) -> tuple[Sequence[HumanLabel], int]:
    lower = lower_is_better(run.manifest)
    items = list(queue.items(run=run.manifest.run))
    names = {item.id for item in items}
    given = [label for label in queue.labels() if label.item_id in names]
    counted = {(one.key, one.metric, one.reviewer, one.value) for one in read_stored_labels(run)}
    labels = queue_labels(given, items, lower_is_better=lower)
    fresh = [one for one in labels if (one.key, one.metric, one.reviewer, one.value) not in counted]
    return fresh, len(queue_labels(given, items, lower_is_better=lower, claims=True))
