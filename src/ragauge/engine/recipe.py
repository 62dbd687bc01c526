"""Everything that decides what a row says, as data: with it another process makes the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragauge.core.judge import Judge
from ragauge.core.sample import GoldenItem, Labels, Response
from ragauge.core.system import System
from ragauge.dataset.evidence import CorpusIndex, resolve_labels
from ragauge.engine.execute import Execution
from ragauge.engine.plan import MetricPlan, Supply, plan_metrics
from ragauge.engine.settings import Settings
from ragauge.judges.judge_settings import EMBEDDED, ENCODER
from ragauge.judges.surroundings import split_spec


@dataclass(frozen=True)
class Own:
    """Objects of the caller's that stand in place of what the settings name."""

    judge: Judge | None = None
    system: System | None = None


@dataclass(frozen=True)
class Recipe:
    """What a row is made with. `asks`: a system is asked; otherwise recorded outputs are scored."""

    settings: Settings
    supply: Supply
    asks: bool
    k: int = 5
    own: Own = Own()

    def execution(
        self, judge: Judge | None, system: System | None = None, corpus: CorpusIndex | None = None
    ) -> Execution:
        """The recipe with a judge and a system that are at hand. Errors as `plan_metrics`."""

        def labels(item: GoldenItem, response: Response) -> Labels:
            return resolve_labels(item, corpus, response)

        run = self.settings.run
        plan = plan_metrics(self.settings.metrics, self.supply, judge, self.k)
        redrawn = redrawn_plans(self.settings, judge, self.supply, self.k)
        if not self.asks:
            return Execution(plan, concurrency=run.concurrency, redrawn=redrawn)
        return Execution(plan, system, labels, run.concurrency, run.timeout_s, redrawn)


def redrawn_plans(settings: Settings, judge: Judge | None, supply: Supply, k: int = 5) -> dict[int, MetricPlan]:
    """The metrics once more for each repeat after the first, with a judge that draws anew where it can.

    Without this, a repeat would be given the very replies of the first round, and no judge would ever show noise.
    """
    draw = getattr(judge, "with_sample", None)
    if draw is None:
        return {}
    repeats: Iterable[int] = range(1, settings.run.repeats)
    return {repeat: plan_metrics(settings.metrics, supply, draw(repeat), k) for repeat in repeats}


def computes_here(settings: Settings) -> bool:
    """Whether neither the judge nor the reference pipeline asks a language model behind an API."""
    who, _ = split_spec(settings.judge)
    judge = who.get("name") if isinstance(who, Mapping) else who
    jury = isinstance(who, Mapping) and "jury" in who
    kind, values = settings.system_kind()
    asks = kind == "reference" and (
        values.get("generator") not in (None, False, "extractive", "none")
        or values.get("expand") not in (None, False, "none")
        or values.get("prefix") == "contextual"
    )
    return not isinstance(judge, list) and judge in (None, "none", EMBEDDED, ENCODER) and not jury and not asks
