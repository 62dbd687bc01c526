# ruff: noqa: E501 (templates)
"""Minimal pairs: two claims that differ in one detail, one supported by the text and one not, by phenomenon.

`python validation/judges/minimal_pairs.py` prints how many pairs of each phenomenon are judged right on both sides, and
what goes wrong. Written by templates, so that a phenomenon is seen in several wordings; hand-made cases stand in the tests.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragauge.judges.embedded.encoder import Encoder
from ragauge.judges.embedded.support import judge_text

SEED, PER_PHENOMENON = 20261130, 18
THINGS = ("cache", "queue", "index", "ledger", "gateway", "scheduler", "replica", "archive", "broker", "proxy")
PEOPLE = ("Maria Chen", "Peter Novak", "Aisha Khan", "Tom Becker", "Elena Rossi", "Sam Okafor")
PLACES = ("Frankfurt", "Lisbon", "Toronto", "Mumbai", "Oslo", "Dublin")
SYSTEMS = ("Prometheus", "Kafka", "Redis", "Grafana", "Postgres", "Nomad")
MONTHS = ("January", "March", "April", "June", "August", "October")
ADVERBS = ("by default", "in every region", "after a restart", "on the free plan", "for new accounts")
NOISE = "The dashboard shows charts of traffic. Administrators can invite people by mail, see the guide."


@dataclass(frozen=True)
class Pair:
    """`right` follows from `text`, `wrong` does not."""

    phenomenon: str
    text: str
    right: str
    wrong: str


#: Phenomenon → (text, right, wrong); {t} {u} things, {n} {m} numbers, {p} {q} people, {x} {y} places, {s} {r} systems,
#: {a} {b} months, {w} an adverbial.
TEMPLATES: dict[str, Sequence[tuple[str, str, str]]] = {
    "number": (
        ("The {t} keeps {n} entries {w}.", "The {t} keeps {n} entries {w}.", "The {t} keeps {m} entries {w}."),
        ("Up to {n} clients may use the {t} at once.", "The {t} may be used by up to {n} clients at once.", "The {t} may be used by up to {m} clients at once."),
        ("The {t} listens on port {n}443.", "The port of the {t} is {n}443.", "The port of the {t} is {m}443."),
    ),
    "unit": (
        ("Entries of the {t} expire after {n} minutes.", "Entries of the {t} expire after {n} minutes.", "Entries of the {t} expire after {n} hours."),
        ("The {t} holds at most {n} GB.", "At most {n} GB are held by the {t}.", "At most {n} MB are held by the {t}."),
        ("The {t} answers within {n} ms.", "The {t} answers within {n} milliseconds.", "The {t} answers within {n} seconds."),
    ),
    "conversion": (
        ("The {t} times out after {n} minutes.", "The {t} times out after {n60} seconds.", "The {t} times out after {m60} seconds."),
        ("The {t} may use {n} GB of memory.", "The {t} may use {n}000 MB of memory.", "The {t} may use {m}000 MB of memory."),
    ),
    "date": (
        ("The {t} was released on {n2} {a} 2024.", "The {t} was released on {a} {n2}, 2024.", "The {t} was released on {b} {n2}, 2024."),
        ("Support for the {t} ends in {a} 2026.", "Support for the {t} ends in {a} 2026.", "Support for the {t} ends in {a} 2027."),
    ),
    "money": (
        ("The {t} costs ${n} a month.", "The {t} costs {n} dollars a month.", "The {t} costs {m} dollars a month."),
        ("A seat of the {t} is billed at {n} EUR.", "A seat of the {t} is billed at €{n}.", "A seat of the {t} is billed at ${n}."),
    ),
    "percent": (
        ("The {t} is full at {n2} % of its size {w}.", "The {t} is full at {n2} percent of its size {w}.", "The {t} is full at {m2} percent of its size {w}."),
        ("Availability of the {t} is 99.{n2} %.", "The {t} has an availability of 99.{n2} %.", "The {t} has an availability of 99.{m2} %."),
    ),
    "version": (
        ("Since version {n}.2 the {t} is on {w}.", "The {t} is on {w} since version {n}.2.", "The {t} is on {w} since version {m}.2."),
        ("The {t} needs Python 3.{n2} or newer.", "The {t} needs Python 3.{n2}.", "The {t} needs Python 3.{m2}."),
    ),
    "identifier": (
        ("Set `{t}.max_size` to change the {u}.", "The {u} is changed with `{t}.max_size`.", "The {u} is changed with `{t}.min_depth`."),
        ("Pass `--{t}-limit` to bound the {u}.", "`--{t}-limit` bounds the {u}.", "`--{t}-quota` bounds the {u}."),
    ),
    "negation": (
        ("The {t} is restarted {w}.", "The {t} is restarted {w}.", "The {t} is not restarted {w}."),
        ("The {t} does not support {s}.", "The {t} does not support {s}.", "The {t} supports {s}."),
        ("Entries of the {t} are never deleted.", "Entries of the {t} are never deleted.", "Entries of the {t} are deleted."),
    ),
    "opposite": (
        ("The {t} is enabled {w}.", "The {t} is enabled {w}.", "The {t} is disabled {w}."),
        ("A larger {t} increases the load.", "The load increases with a larger {t}.", "The load decreases with a larger {t}."),
        ("Writes to the {t} are synchronous.", "Writes to the {t} are synchronous.", "Writes to the {t} are asynchronous."),
    ),
    "quantifier": (
        ("Some regions have a {t}.", "Some regions have a {t}.", "All regions have a {t}."),
        ("Most users of the {t} may export entries.", "Most users of the {t} may export entries.", "Every user of the {t} may export entries."),
    ),
    "modality": (
        ("The {t} may be encrypted with {s}.", "The {t} may be encrypted with {s}.", "The {t} must be encrypted with {s}."),
        ("Clients should close the {t}.", "Clients should close the {t}.", "Clients are forbidden to close the {t}."),
    ),
    "comparative": (
        ("The {t} is faster than the {u}.", "The {t} is faster than the {u}.", "The {t} is slower than the {u}."),
        ("The {t} is faster than the {u}.", "The {t} is faster than the {u}.", "The {u} is faster than the {t}."),
    ),
    "person": (
        ("{p} designed the {t} in {x}.", "The {t} was designed by {p}.", "The {t} was designed by {q}."),
        ("The team of {p} maintains the {t}.", "The {t} is maintained by the team of {p}.", "The {t} is maintained by the team of {q}."),
    ),
    "place": (
        ("The {t} is hosted in {x} {w}.", "The {t} is hosted in {x}.", "The {t} is hosted in {y}."),
        ("Backups of the {t} are copied to {x}.", "Backups of the {t} are copied to {x}.", "Backups of the {t} are copied to {y}."),
    ),
    "swapped roles": (
        ("{p} reports to {q}.", "{p} reports to {q}.", "{q} reports to {p}."),
        ("The {t} sends its entries to the {u}.", "The {t} sends its entries to the {u}.", "The {u} sends its entries to the {t}."),
    ),
    "order of time": (
        ("Stop the {t} before you upgrade the {u}.", "Stop the {t} before you upgrade the {u}.", "Stop the {t} after you upgrade the {u}."),
        ("The {t} starts after the {u} has stopped.", "The {t} starts after the {u} has stopped.", "The {t} starts before the {u} has stopped."),
    ),
    "list, something added": (
        ("The {t} works with {s} and {r}.", "The {t} works with {s} and {r}.", "The {t} works with {s}, {r} and {v}."),
        ("Exports of the {t} are CSV or JSON files.", "Exports of the {t} are CSV or JSON files.", "Exports of the {t} are CSV, JSON or Parquet files."),
    ),
    "table, other row": (
        ("| Part | Limit |\n|---|---|\n| {t} | {n} GB |\n| {u} | {m} GB |", "The limit of the {t} is {n} GB.", "Part: {t}; Limit: {m} GB"),
        ("| Part | Owner |\n|---|---|\n| {t} | {p} |\n| {u} | {q} |", "Part: {t}; Owner: {p}", "Part: {t}; Owner: {q}"),
    ),
    "table, other column": (
        ("| Part | Free | Paid |\n|---|---|---|\n| {t} | {n} GB | {m} GB |", "Part: {t}; Paid: {m} GB", "Part: {t}; Paid: {n} GB"),
        ("| Part | Free | Paid |\n|---|---|---|\n| {t} | {n} s | {m} s |", "For the {t}, Paid is {m} s.", "For the {t}, Paid is {n} s."),
    ),
    "paraphrase": (
        ("To delete the {t}, ask {p}.", "Ask {p} to remove the {t}.", "Ask {p} to copy the {t}."),
        ("The {t} launches at boot.", "The {t} starts at boot.", "The {t} updates at boot."),
        ("The documentation of the {t} lists every error.", "The manual of the {t} shows every failure.", "The source of the {t} hides every failure."),
    ),
    "ordinary word exchanged": (
        ("The manager approves changes of the {t}.", "Changes of the {t} are approved by the manager.", "Changes of the {t} are approved by the assistant."),
        ("The {t} writes a report to the bucket.", "The {t} writes a report to the bucket.", "The {t} writes a report to the console."),
    ),
}  # fmt: skip


def pairs(n: int = PER_PHENOMENON, seed: int = SEED) -> Iterator[Pair]:
    """`n` pairs of each phenomenon."""
    generator = random.Random(seed)
    for phenomenon, templates in TEMPLATES.items():
        for number in range(n):
            text, right, wrong = templates[number % len(templates)]
            words = _words(generator)
            yield Pair(phenomenon, text.format(**words), right.format(**words), wrong.format(**words))


def _words(generator: random.Random) -> dict[str, object]:
    t, u = generator.sample(THINGS, 2)
    p, q = generator.sample(PEOPLE, 2)
    x, y = generator.sample(PLACES, 2)
    s, r, v = generator.sample(SYSTEMS, 3)
    a, b = generator.sample(MONTHS, 2)
    n, m = generator.sample(range(2, 60), 2)
    n2, m2 = generator.sample(range(10, 28), 2)
    return {
        "t": t, "u": u, "p": p, "q": q, "x": x, "y": y, "s": s, "r": r, "v": v, "a": a, "b": b, "n": n, "m": m,
        "n2": n2, "m2": m2, "n60": 60 * n, "m60": 60 * m, "w": generator.choice(ADVERBS),
    }  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """One pair as judged."""

    pair: Pair
    right: str
    wrong: str

    @property
    def correct(self) -> bool:
        """The right one supported, the wrong one not."""
        return self.right == "supported" and self.wrong != "supported"


def outcomes(n: int = PER_PHENOMENON, seed: int = SEED, encoder: Encoder | None = None) -> dict[str, list[Outcome]]:
    """Phenomenon → its pairs as judged, each beside text about something else."""
    found: dict[str, list[Outcome]] = {}
    for pair in pairs(n, seed):
        texts = (NOISE, pair.text)
        right, wrong = (judge_text(claim, texts, encoder=encoder).label for claim in (pair.right, pair.wrong))
        said = Outcome(pair, right, wrong)
        found.setdefault(pair.phenomenon, []).append(said)
    return found


def main() -> None:
    """Print the table; with -v also the pairs that went wrong."""
    for phenomenon, found in outcomes().items():
        right = sum(one.correct for one in found)
        missed = sum(one.wrong == "supported" for one in found)
        alarms = sum(one.right != "supported" for one in found)
        print(f"| {phenomenon} | {len(found)} | {right / len(found):.2f} | {missed} | {alarms} |")
        if "-v" in sys.argv:
            for one in found[:6]:
                if not one.correct:
                    print("    ", one.pair.text[:80], "|", one.pair.right, one.right, "|", one.pair.wrong, one.wrong)


if __name__ == "__main__":
    main()
