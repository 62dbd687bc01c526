"""Several opinions on the same things made into one, with what they disagreed on kept in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from ragauge.core.verdict import Verdict

Rule = Literal["majority", "mean"]


@dataclass(frozen=True)
class Ballot:
    """The labels that each voter gave to one thing."""

    task: str
    labels: Mapping[str, str]

    @property
    def unanimous(self) -> bool:
        """Whether all said the same."""
        return len(set(self.labels.values())) == 1


@dataclass
class Tally:
    """The ballots on one task, counted."""

    n: int = 0
    n_torn: int = 0
    both: Counter[tuple[str, str]] = field(default_factory=Counter)
    same: Counter[tuple[str, str]] = field(default_factory=Counter)


class Ledger:
    """The ballots of a process, counted by task; the single ones stand in the verdicts (`Verdict.ballots`)."""

    def __init__(self, ballots: Iterable[Ballot] = ()) -> None:
        self._tallies: dict[str, Tally] = {}
        for ballot in ballots:
            self.add(ballot)

    def add(self, ballot: Ballot) -> None:
        """Count one in."""
        if len(ballot.labels) < 2:
            return
        tally = self._tallies.setdefault(ballot.task, Tally())
        tally.n += 1
        tally.n_torn += not ballot.unanimous
        for a, b in combinations(sorted(ballot.labels), 2):
            tally.both[a, b] += 1
            tally.same[a, b] += ballot.labels[a] == ballot.labels[b]

    def _of(self, task: str | None) -> list[Tally]:
        return [tally for name, tally in self._tallies.items() if task is None or name == task]

    def flip_rate(self, task: str | None = None) -> float | None:
        """Share of things (0 to 1) on which the voters did not all say the same; None before the first ballot.

        >>> Ledger([Ballot("t", {"x": "1", "y": "2"}), Ballot("t", {"x": "1", "y": "1"})]).flip_rate()
        0.5
        """
        n = sum(tally.n for tally in self._of(task))
        return sum(tally.n_torn for tally in self._of(task)) / n if n else None

    def agreement(self, task: str | None = None) -> dict[tuple[str, str], tuple[float, int]]:
        """For each pair of voters the share of things on which they agree, and how many both judged."""
        same: Counter[tuple[str, str]] = Counter()
        both: Counter[tuple[str, str]] = Counter()
        for tally in self._of(task):
            both.update(tally.both)
            same.update(tally.same)
        return {pair: (same[pair] / n, n) for pair, n in sorted(both.items())}

    def cross_family(self, families: Mapping[str, str]) -> tuple[float, int] | None:
        """Agreement between voters of different model families, and how many pairs of verdicts it rests on."""
        apart = [(share, n) for (a, b), (share, n) in self.agreement().items() if families.get(a) != families.get(b)]
        n_all = sum(n for _, n in apart)
        return (sum(share * n for share, n in apart) / n_all, n_all) if n_all else None


def decide(menu: tuple[str, ...], votes: Sequence[Verdict], rule: Rule) -> str:
    """The label that the votes come to.

    majority: the label with most votes; of tied ones the one further down the menu, which is never the positive one.
    mean: for graded menus (rubrics) and yes/no ones alike, the label at the mean place, halves going down the menu.

    >>> said = [Verdict(id="c", label=label) for label in ("supported", "not_mentioned")]
    >>> decide(("supported", "contradicted", "not_mentioned"), said, "majority")
    'not_mentioned'
    """
    places = [menu.index(vote.label) for vote in votes]
    if rule == "mean":
        return menu[int(sum(places) / len(places) + 0.5)]
    counts = Counter(places)
    return menu[max(counts, key=lambda place: (counts[place], place))]


def combined(menu: tuple[str, ...], by_voter: Mapping[str, Verdict], rule: Rule, n_voters: int) -> Verdict:
    """One verdict out of several on the same thing. Its probability is the share of voters for the positive label.

    Evidence, quote and reason are those of the first voter that said what was decided; dissent stands behind them.
    """
    votes = list(by_voter.values())
    label = decide(menu, votes, rule)
    speaker = next((vote for vote in votes if vote.label == label), votes[0])
    agreeing = sum(vote.label == label for vote in votes)
    told = f"{agreeing} of {len(votes)} say {label}"
    if dissent := [f"{name}: {vote.label}" for name, vote in by_voter.items() if vote.label != label]:
        told += f"; {', '.join(dissent)}"
    if len(votes) < n_voters:
        told += f"; {n_voters - len(votes)} gave no verdict"
    own = speaker.label == label
    return speaker.model_copy(
        update={
            "label": label,
            "evidence": speaker.evidence if own else None,
            "quote": speaker.quote if own else None,
            "reason": f"{speaker.reason} [{told}]".strip() if own else f"[{told}]",
            "probability": sum(vote.label == menu[0] for vote in votes) / len(votes),
            "ballots": {name: vote.label for name, vote in by_voter.items()},
        }
    )


def things(by_voter: Mapping[str, Sequence[Verdict]]) -> Iterator[dict[str, Verdict]]:
    """For each thing that was asked about, in order, the verdicts on it by voter."""
    order = dict.fromkeys(verdict.id for verdicts in by_voter.values() for verdict in verdicts)
    by_id = {voter: {verdict.id: verdict for verdict in verdicts} for voter, verdicts in by_voter.items()}
    for thing in order:
        yield {voter: found[thing] for voter, found in by_id.items() if thing in found}
