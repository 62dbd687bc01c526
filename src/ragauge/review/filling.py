"""Fill a queue from a run: a random control, and what is most worth a person's time."""

from __future__ import annotations

from ragauge.review import sources
from ragauge.review.calibrating import draw
from ragauge.review.items import Candidate
from ragauge.store.rundir import RunDir


def worth_a_look(
    run: RunDir, metric: str, budget: int, *, seed: int = 0, clusters: bool = True, wanted: int = 1
) -> list[Candidate]:
    """At most `budget` answers of a run: a random control (noted beside the run), then the interesting ones.

    What those do not use up is drawn at random as well: it serves the measurement of the judge.
    `clusters`: representatives of groups of failures too, for which failures are embedded.
    """
    n_random = max(1, round(budget * sources.SHARES["random"]))
    control = draw(run, metric, n_random, seed, by_bands=False)
    groups = sources.representatives(run, metric, seed=seed) if clusters else {}
    found = sources.candidates(run, metric, budget, random_draw=control, representatives=groups, wanted=wanted)
    if len(found) < budget:
        control = [*control, *draw(run, metric, budget - len(found), seed, by_bands=False)]
        found = sources.candidates(run, metric, budget, random_draw=control, representatives=groups, wanted=wanted)
    return found
