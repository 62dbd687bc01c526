# ruff: noqa: E501 (templates)
"""Answers that name a file, flag, function, option, error code or version that no chunk holds, and their faithful twins.

`python validation/judges/made_up.py` prints how many made-up names are caught and how many twins are called unsupported.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ragauge.core.sample import RetrievedChunk
from ragauge.judges.embedded.claims import split_claims
from ragauge.judges.embedded.encoder import Encoder
from ragauge.judges.embedded.support import judge_claims

SEED, N_CASES = 20261130, 200
KINDS = ("file", "flag", "function", "option", "error code", "version", "command", "variable")
TOOLS = ("tarn", "orionctl", "relay", "vaultbox", "kestrel", "mender")
VERBS = ("export", "rotate", "inspect", "drain", "promote", "restore", "seal", "trim")
NOUNS = ("snapshot", "session", "replica", "segment", "lease", "ledger", "topic", "tenant")
QUALITIES = ("interval", "depth", "window", "quota", "backoff", "priority", "retention", "ceiling")
ENDINGS = ("toml", "yaml", "json", "conf", "log", "sh", "pem")
#: kind → (text that states it, ways in which an answer may state it); {0} is the name, {a}, {b}, {n} ordinary words.
TEMPLATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "file": ("The settings of the {a} are kept in `{0}`. The file is read when the {a} starts, and again after a reload.",
             ("The settings of the {a} are kept in `{0}`.", "{0} holds the settings of the {a} and is read at the start.", "Edit `{0}`, which is read when the {a} starts.")),
    "flag": ("Pass `{0}` to limit the {b} of the {a} to {n} seconds. Without it the {b} is not limited.",
             ("Pass `{0}` to limit the {b} of the {a}.", "The {b} of the {a} can be limited with {0}.", "With `{0}` the {b} is limited to {n} seconds.")),
    "function": ("Call `{0}()` to close the {a}; it waits until the {b} is written and returns the number of entries.",
                 ("Call `{0}()` to close the {a}.", "{0}() closes the {a} and returns the number of entries.", "The function `{0}` waits until the {b} is written.")),
    "option": ("| Option | Default | Meaning |\n|---|---|---|\n| `{0}` | {n} | {b} of the {a} in seconds |\n| `other.value` | 1 | not used |",
               ("The option `{0}` sets the {b} of the {a} in seconds.", "`{0}` is {n} by default.", "The default of {0} is {n}.")),
    "error code": ("| Code | Meaning |\n|---|---|\n| `{0}` | the {a} has no {b} left |\n| `AA-1000` | not signed in |",
                   ("{0} means that the {a} has no {b} left.", "The error code `{0}` says that the {a} has no {b} left.", "When the {a} has no {b} left, {0} is returned.")),
    "version": ("Since version {0} the {a} keeps its {b} over restarts. Before, the {b} was lost.",
                ("Since version {0} the {a} keeps its {b} over restarts.", "The {a} keeps its {b} over restarts from {0} on.", "Version {0} keeps the {b} of the {a} over restarts.")),
    "command": ("To check the {a}, run:\n\n```bash\n{0}\n```\n\nIt prints the {b} and exits with 0.",
                ("Run `{0}` to check the {a}.", "`{0}` prints the {b} of the {a}.", "To check the {a}, run `{0}`.")),
    "variable": ("The environment variable `{0}` overrides the {b} of the {a}; it is read once.",
                 ("The environment variable `{0}` overrides the {b} of the {a}.", "Set {0} to override the {b} of the {a}.", "{0} overrides the {b} and is read once.")),
}  # fmt: skip
NOISE = (
    "## Limits\n\nA {c} may hold up to 500 entries. Larger ones are refused with status 413.",
    "The dashboard shows charts of traffic by hour. Administrators can invite people by mail.",
    "| Plan | Price |\n|---|---|\n| Basic | $5 |\n| Large | $49 |",
    "Backups run nightly at 02:00 UTC. Run `tool backup --now` to start one at once, see `backup.conf`.",
)


@dataclass(frozen=True)
class Case:
    """One answer against chunks; `faithful`: the chunks hold the name that it gives."""

    kind: str
    answer: str
    chunks: tuple[str, ...]
    faithful: bool


def cases(n: int = N_CASES, seed: int = SEED) -> Iterator[Case]:
    """`n` pairs: an answer with a made-up name, and its twin with the right one."""
    generator = random.Random(seed)
    for number in range(n):
        kind = KINDS[number % len(KINDS)]
        text, answers = TEMPLATES[kind]
        words = {"a": generator.choice(NOUNS), "b": generator.choice(QUALITIES), "n": str(generator.randint(2, 90))}
        true = _name(kind, generator)
        false = true
        while false == true:
            false = _name(kind, generator)
        answer = generator.choice(answers)
        noise = [one.format(c=generator.choice(NOUNS)) for one in NOISE]
        place = generator.randrange(len(noise) + 1)
        chunks = (*noise[:place], text.format(true, **words), *noise[place:])
        for name, faithful in ((false, False), (true, True)):
            yield Case(kind, answer.format(name, **words), chunks, faithful)


def _name(kind: str, generator: random.Random) -> str:
    verb, noun, quality = generator.choice(VERBS), generator.choice(NOUNS), generator.choice(QUALITIES)
    tool = generator.choice(TOOLS)
    return {
        "file": generator.choice((f"{noun}.{generator.choice(ENDINGS)}", f"/etc/{tool}/{noun}-{quality}.{generator.choice(ENDINGS)}")),
        "flag": generator.choice((f"--{noun}-{quality}", f"--{verb}", f"--no-{quality}")),
        "function": generator.choice((f"{verb}_{noun}", f"{verb}{noun.title()}", f"{noun}.{verb}")),
        "option": generator.choice((f"{noun}.{quality}", f"{noun}_{quality}", f"max_{noun}s")),
        "error code": generator.choice((f"{tool[:2].upper()}-{generator.randint(1001, 9999)}", f"E{generator.randint(1001, 9999)}", f"ERR_{noun.upper()}_{quality.upper()}")),
        "version": f"{generator.randint(1, 9)}.{generator.randint(0, 19)}" + generator.choice(("", f".{generator.randint(0, 9)}")),
        "command": f"{tool} {verb} {noun}" + generator.choice(("", f" --{quality}")),
        "variable": f"{tool.upper()}_{noun.upper()}_{quality.upper()}",
    }[kind]  # fmt: skip


def outcomes(n: int = N_CASES, seed: int = SEED, encoder: Encoder | None = None) -> list[tuple[Case, bool, str]]:
    """Each case, whether every claim of it was called supported, and the reasons."""
    found = []
    for case in cases(n, seed):
        shown = tuple(RetrievedChunk(id=f"k{i}", text=text, rank=i) for i, text in enumerate(case.chunks, start=1))
        verdicts = judge_claims(split_claims(case.answer), shown, encoder)
        supported = bool(verdicts) and all(verdict.label == "supported" for verdict in verdicts)
        found.append((case, supported, "; ".join(f"{v.label}: {v.reason}" for v in verdicts)))
    return found


def main() -> None:
    """Print the shares, by kind, and what went wrong."""
    found = outcomes()
    for kind in (*KINDS, "all"):
        mine = [one for one in found if kind in (one[0].kind, "all")]
        caught = sum(not supported for case, supported, _ in mine if not case.faithful)
        alarms = sum(not supported for case, supported, _ in mine if case.faithful)
        print(f"| {kind} | {len(mine) // 2} | {caught} | {alarms} |")
    for case, supported, why in found:
        if supported != case.faithful:
            print("  ", "ALARM" if case.faithful else "MISSED", case.kind, repr(case.answer), why[:200])


if __name__ == "__main__":
    main()
