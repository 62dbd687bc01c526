"""How far judges agree: a jury's dissent, and how much of the values' variance is the judge's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from ragauge.core.judge import JudgeInfo
from ragauge.core.run import Manifest, MetricResult, Record
from ragauge.core.score import Scored
from ragauge.core.tasks import TASKS
from ragauge.core.verdict import Verdict
from ragauge.stats.judge_noise import flip_rate, variance_components, variance_saved_by_repeats

_POSITIVE = frozenset(task.labels[0] for task in TASKS.values() if task.labels)
_GRADES = {"1": 0.0, "2": 0.25, "3": 0.5, "4": 0.75, "5": 1.0, "partial": 0.5}


@dataclass
class Votes:
    """The ballots of a run, counted row by row: bounded by questions × metrics × voters."""

    n: int = 0
    n_torn: int = 0
    n_pairs: int = 0
    n_pairs_same: int = 0
    n_across: int = 0
    n_across_same: int = 0
    _rates: dict[str, list[list[float]]] = field(default_factory=dict)

    def add(self, record: Record, voters: Mapping[str, str]) -> None:
        """Count in one row. A verdict that several metrics share counts once."""
        seen: set[tuple[str, str, str, str]] = set()
        for key, score in record.scores.items():
            if not isinstance(score, Scored):
                continue
            voted = [verdict for verdict in score.verdicts if len(verdict.ballots) > 1]
            for verdict in voted:
                mark = (verdict.id, verdict.claim, verdict.label, verdict.reason)
                if mark not in seen:
                    seen.add(mark)
                    self._count(verdict, voters)
            rates = _by_voter(voted, voters)
            if rates is not None:
                self._rates.setdefault(key, []).append(rates)

    def _count(self, verdict: Verdict, voters: Mapping[str, str]) -> None:
        self.n += 1
        self.n_torn += len(set(verdict.ballots.values())) > 1
        for (a, said_a), (b, said_b) in combinations(sorted(verdict.ballots.items()), 2):
            same = said_a == said_b
            self.n_pairs += 1
            self.n_pairs_same += same
            if voters.get(a, a) != voters.get(b, b):
                self.n_across += 1
                self.n_across_same += same

    def rates(self, key: str) -> list[list[float]]:
        """For each row of a metric what each voter alone would have made of it: its share of positive labels."""
        return self._rates.get(key, [])

    def overall(self) -> dict[str, float]:
        """n_verdicts; disagreement: share on which not all said the same; pairwise: chance that two differ;
        cross_family: share of pairs from different model families that agree, n_cross_family such pairs.
        """
        if not self.n:
            return {}
        found = {
            "n_verdicts": float(self.n),
            "disagreement": self.n_torn / self.n,
            "pairwise_disagreement": 1 - self.n_pairs_same / self.n_pairs,
        }
        if self.n_across:
            found |= {"cross_family": self.n_across_same / self.n_across, "n_cross_family": float(self.n_across)}
        return found


def _by_voter(verdicts: Sequence[Verdict], voters: Mapping[str, str]) -> list[float] | None:
    """Each voter's mean over the verdicts; None unless every one of them voted on all of them."""
    if not verdicts or any(verdict.ballots.keys() != voters.keys() for verdict in verdicts):
        return None
    return [math.fsum(_worth(verdict.ballots[name]) for verdict in verdicts) / len(verdicts) for name in voters]


def _worth(label: str) -> float:
    return _GRADES.get(label, 1.0 if label in _POSITIVE else 0.0)


def is_repeated(judge: JudgeInfo) -> bool:
    """Whether a jury's voters are draws of one and the same judge."""
    names = {name.rpartition("#")[0] for name in judge.voters}
    return len(judge.voters) > 1 and len(names) == 1 and "" not in names


def noise_of(
    rates: Sequence[Sequence[float]], repeats: Sequence[Sequence[float]], manifest: Manifest
) -> dict[str, float]:
    """The split of a metric's variance into questions and judge, where it was judged more than once; else nothing.

    From a run's repeats (then the system's own variation is in the judge's part, unless recorded outputs were scored),
    else from the draws of one judge. n_questions, n_draws; flip_rate: chance that two pass/fail judgements of a
    question differ, changed: share of questions whose values are not all the same; variance_questions and
    variance_judge of one judgement, judge_share of the latter; narrower: by how much n_draws narrow the interval
    compared with one judgement; more_draws: by how much endlessly many more would.
    """
    if manifest.repeats > 1:
        rows = [row for row in repeats if len(row) == manifest.repeats]
    elif manifest.judge is not None and is_repeated(manifest.judge):
        rows = list(rates)
    else:
        return {}
    if not rows:
        return {}
    found = {
        "n_questions": float(len(rows)),
        "n_draws": float(len(rows[0])),
        "changed": sum(max(row) - min(row) > 1e-9 for row in rows) / len(rows),
    }
    if all(value in (0, 1) for row in rows for value in row):
        found["flip_rate"] = flip_rate([[int(value) for value in row] for row in rows]).pairwise
    if len(rows) < 2:
        return found
    parts = variance_components(rows)
    between, within, draws = parts.var_between, parts.var_within, parts.n_repeats
    found |= {"variance_questions": between, "variance_judge": within}
    if between + within > 0:
        left = between + within / draws
        found |= {
            "judge_share": within / (between + within),
            "narrower": 1 - math.sqrt(1 - variance_saved_by_repeats(between, within, draws)),
            "more_draws": 1 - math.sqrt(between / left),
        }
    return found


def votes_note(judge: JudgeInfo | None, overall: Mapping[str, float]) -> str | None:
    """One line on how far the judges agreed."""
    if judge is None or not overall:
        return None
    n = int(overall["n_verdicts"])
    who = f"{len(judge.voters)} draws of one judge" if is_repeated(judge) else f"Jury of {len(judge.voters)}"
    text = f"{who}: not of one mind on {overall['disagreement']:.1%} of {n} verdicts"
    if "cross_family" in overall:
        pairs = int(overall["n_cross_family"])
        text += f"; judges of different model families agree on {overall['cross_family']:.1%} of {pairs} pairs"
    return text + "."


def noise_note(manifest: Manifest, results: Mapping[str, MetricResult]) -> str | None:
    """One line on the metric whose values owe most to the judge, and what that means for its interval."""
    shares = {key: one.noise["judge_share"] for key, one in results.items() if "judge_share" in one.noise}
    if not shares or max(shares.values()) <= 0:
        return None
    key = max(shares, key=lambda name: (shares[name], name))
    noise = results[key].noise
    part = "judge's" if manifest.repeats == 1 or manifest.command != "run" else "system's and the judge's"
    return (
        f"Repeats: most noise in {key}: {noise['judge_share']:.0%} of the variance of one judgement is the {part} own, "
        f"the rest lies between questions; {int(noise['n_draws'])} draws make its interval {noise['narrower']:.0%} "
        f"narrower than one, more of them at most another {noise['more_draws']:.0%}."
    )
