"""Who is best in a sweep, whether that is more than luck, and what should be done."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragauge.analysis.difference import Measured
from ragauge.analysis.pareto import front
from ragauge.analysis.sweep_table import Advice, CellResult, SweepTable
from ragauge.stats.multiplicity import best_of_noise
from ragauge.store.sweepdir import SweepManifest


@dataclass(frozen=True)
class Choice:
    """Who is best, who is better for certain, and what should be done."""

    manifest: SweepManifest
    cells: Sequence[CellResult]
    quality: str
    better: str
    measured: Mapping[tuple[str, str], Measured]
    shortlist: Mapping[str, tuple[float, bool]]
    alpha: float
    smallest: float

    def table(
        self, keys: tuple[str, ...], n_index_builds: int, warnings: Sequence[str], notes: Sequence[str]
    ) -> SweepTable:
        """The whole."""
        finished = sorted(
            (cell for cell in self.cells if cell.state == "complete" and self._is_ranked(cell)),
            key=lambda cell: (-self._goodness(cell), cell.id != self.manifest.base, cell.id),
        )
        ranks = {cell.id: place for place, cell in enumerate(finished, start=1)}
        dimensions, on_front = self._front(finished)
        cells = tuple(
            cell.model_copy(
                update={
                    "rank": ranks.get(cell.id),
                    "p_shortlist": self.shortlist.get(cell.id, (None, False))[0],
                    "is_shortlisted": self.shortlist.get(cell.id, (None, False))[1],
                    "is_on_front": cell.id in on_front,
                }
            )
            for cell in self.cells
        )
        best = finished[0].id if finished else None
        winner = next((cell.id for cell in finished if self._verdict(cell) == "better"), None)
        advice, advised = self._advice(finished, winner)
        by_rank = [cell.id for cell in finished]
        return SweepTable(
            sweep=self.manifest.sweep,
            quality=self.quality,
            better="lower" if self.better == "lower" else "higher",
            metrics=keys,
            knobs=self.manifest.knobs,
            base=self.manifest.base,
            part=self.manifest.part,
            n_questions=self.manifest.n_questions,
            cells=cells,
            n_complete=sum(cell.state == "complete" for cell in cells),
            n_indexes=self.manifest.n_indexes,
            n_index_builds=n_index_builds,
            noise_bar=self._noise_bar(finished),
            best=best,
            winner=winner,
            shortlist=tuple(name for name in by_rank if self.shortlist.get(name, (1.0, False))[1]),
            front=tuple(name for name in by_rank if name in on_front),
            front_by=dimensions,
            advice=advice,
            advised=advised,
            smallest=self.smallest,
            alpha=self.alpha,
            warnings=tuple(warnings),
            notes=tuple(notes),
        )

    def _is_ranked(self, cell: CellResult) -> bool:
        found = cell.metrics.get(self.quality)
        is_compared = cell.id == self.manifest.base or (cell.id, self.quality) in self.measured
        return is_compared and found is not None and found.estimate is not None

    def _goodness(self, cell: CellResult) -> float:
        """How much better than the base, on the questions that both scored: 0 for the base itself."""
        one = self.measured.get((cell.id, self.quality))
        value = one.estimate.value if one is not None else 0.0
        return -value if self.better == "lower" else value

    def _verdict(self, cell: CellResult) -> str | None:
        found = cell.metrics.get(self.quality)
        return found.difference.verdict if found is not None and found.difference is not None else None

    def _front(self, finished: Sequence[CellResult]) -> tuple[tuple[str, ...], set[str]]:
        """Cells that no other one beats in quality, cost and latency together, by what is known of all of them."""
        dimensions: list[tuple[str, Callable[[CellResult], float | None]]] = [
            (self.quality, self._goodness),
            ("cost", lambda cell: None if cell.cost_usd is None else -cell.cost_usd),
            ("tokens", lambda cell: None if cell.tokens is None else -cell.tokens),
            ("latency p95", lambda cell: None if cell.latency_p95_ms is None else -cell.latency_p95_ms),
        ]
        usable = [(name, get) for name, get in dimensions if all(get(cell) is not None for cell in finished)]
        if any(name == "cost" for name, _ in usable):
            usable = [entry for entry in usable if entry[0] != "tokens"]  # tokens stand in for a price that is unknown
        points = {cell.id: tuple(float(get(cell) or 0.0) for _, get in usable) for cell in finished}
        return tuple(name for name, _ in usable), front(points)

    def _noise_bar(self, finished: Sequence[CellResult]) -> float | None:
        """From the standard error of the best-looking cell's difference; an upper bound: they share its luck."""
        compared = [cell for cell in finished if (cell.id, self.quality) in self.measured]
        if not compared:
            return None
        differences = self.measured[compared[0].id, self.quality].pairs.differences
        return best_of_noise(len(compared), _standard_error(differences)) if len(differences) > 1 else None

    def _advice(self, finished: Sequence[CellResult], winner: str | None) -> tuple[Advice, str | None]:
        if len(finished) < 2:
            return "nothing to choose", None
        if winner is not None:
            return "switch", winner
        base = next((cell for cell in finished if cell.id == self.manifest.base), None)
        if base is not None:
            cheaper = [cell for cell in finished if self._is_cheaper(cell, base)]
            if cheaper:
                return "switch to the cheaper", min(cheaper, key=_price).id
        return "stay", self.manifest.base

    def _is_cheaper(self, cell: CellResult, base: CellResult) -> bool:
        """No measurable difference in quality, and at least a fifth less of what is paid (cost, else tokens)."""
        paid, now = _price(cell)[0], _price(base)[0]
        return (
            cell.id != base.id
            and self._verdict(cell) == "no measurable difference"
            and 0 < now < math.inf
            and paid <= 0.8 * now
        )


def _price(cell: CellResult) -> tuple[float, str]:
    price = cell.cost_usd if cell.cost_usd is not None else cell.tokens
    return (math.inf if price is None else price), cell.id


def _standard_error(differences: Sequence[float]) -> float:
    n = len(differences)
    mean = math.fsum(differences) / n
    return math.sqrt(math.fsum((x - mean) ** 2 for x in differences) / (n - 1) / n)
