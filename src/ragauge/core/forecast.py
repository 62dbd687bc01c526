"""What a dry run found: what a run would cost."""

from __future__ import annotations

from ragauge.core.model import Model
from ragauge.core.sample import Usage


class ForecastFigures(Model):
    """Calls that would be made, calls that the cache would answer, tokens guessed from characters, US dollars.

    `metrics`: by metric, shared work (a claim split) with the one that asks first. `system`: answers and queries;
    `index`: prefixes of chunks; `total`: all of it. `not_computed`: metric → why not. `notes` say what was guessed.
    """

    n_samples: int
    total: Usage
    metrics: dict[str, Usage]
    system: Usage
    index: Usage
    not_computed: dict[str, str]
    notes: tuple[str, ...]


class ForecastDocument(Model):
    """What `run` and `score` print with --dry-run --json; the schema in the documentation is this one."""

    forecast: ForecastFigures
