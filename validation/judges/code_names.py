# ruff: noqa: E501 (templates)
"""Code documentation: answers with a made-up file, flag, function, version …, and faithful twins that bend the words.

    python validation/judges/code_names.py [--seed N] [--cases N]

The texts are written like a project's own documentation and were not used to write the check (`judges/exact`). A made-up
answer states something that a chunk says, with another name of the same kind; its twin states it with the right one, and
with what people do to names: backticks added or taken away, a capital at the start of a sentence, a plural, a possessive,
punctuation right behind it. Measured end to end: claims split and judged by the embedded judge, without and with the
exact names of the code profile.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass

from ragauge.core.judge import Judge
from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import SPLIT_CLAIMS, SUPPORT
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.exact.judge import ExactNames

SEED, N_CASES = 4711, 200
STEMS = (
    "heron",
    "quarry",
    "lantern",
    "piston",
    "willow",
    "anchor",
    "ember",
    "saddle",
    "turbine",
    "orchard",
    "gravel",
    "beacon",
)
ACTS = (
    "flush",
    "merge",
    "attach",
    "rewind",
    "publish",
    "collect",
    "resolve",
    "compress",
    "schedule",
    "unpack",
    "verify",
    "mount",
)
THINGS = (
    "buffer",
    "journal",
    "worker",
    "channel",
    "batch",
    "cursor",
    "manifest",
    "shard",
    "signal",
    "bundle",
    "record",
    "ticket",
)
TRAITS = (
    "limit",
    "delay",
    "budget",
    "level",
    "prefix",
    "mode",
    "timeout",
    "capacity",
    "format",
    "owner",
    "offset",
    "ratio",
)
EXTENSIONS = ("py", "ts", "go", "toml", "yaml", "json", "ini", "sql", "sh")


@dataclass(frozen=True)
class Kind:
    """A kind of name: texts that state it ({0} the name, {1} a value or second part) and answers that repeat it."""

    name: str
    texts: tuple[str, ...]
    answers: tuple[str, ...]


KINDS = (
    Kind("source file",
         ("The {a} is implemented in `{0}`, which also registers the {b} handlers at start-up.", "Open `{0}` to change how the {a} treats a {b}; nothing else has to be edited."),
         ("The {a} is implemented in {0}.", "`{0}` is where the {a} treats a {b}.", "You can change how the {a} treats a {b} by editing `{0}`, and nothing else.", "The handlers of the {b} are registered in {0}, at start-up.")),
    Kind("windows path",
         ("On Windows the {a} writes its {b} to `{0}`; the folder is created on first use.",),
         ("The {a} writes its {b} to `{0}` on Windows.", "On Windows, look in {0} for the {b} of the {a}.", "The folder {0} is created on first use (Windows).")),
    Kind("unix path",
         ("The service reads `{0}` before it opens the {a}, and refuses to start when the {b} is missing there.",),
         ("Before opening the {a}, the service reads {0}.", "The service refuses to start when the {b} is missing in `{0}`.", "`{0}` is read by the service before the {a} is opened.")),
    Kind("long flag with value",
         ("```console\n$ {tool} run --input data.bin {0}={1}\n```\n\nThe flag `{0}` sets the {b} of the {a}; here it is {1}.", "Start it with `{0}={1}` to give the {a} a {b} of {1}."),
         ("Use `{0}={1}` to set the {b} of the {a} to {1}.", "The {b} of the {a} is set with {0}.", "Start it with {0}={1}.", "With `{0} {1}`, the {a} has a {b} of {1}.")),
    Kind("switch",
         ("`{0}` makes `{tool}` skip the {a} and keep the {b} untouched.", "Options:\n\n- `{0}`: skip the {a}, keep the {b} untouched\n- `--help`: show this text"),
         ("To skip the {a}, pass {0}.", "The {b} is kept untouched and the {a} is skipped if `{0}` is given.", "`{0}` skips the {a}!", "You can skip the {a} (\"{0}\").")),
    Kind("module function",
         ("```python\nfrom {mod} import {leaf}\n\n{leaf}({a}, wait=True)\n```\n\n`{0}()` closes the {a} and hands back its {b}.", "`{0}()` closes the {a} and hands back its {b}. It may be called twice."),
         ("Call `{0}()` to close the {a}.", "{0}() closes the {a} and hands back its {b}.", "It is safe to call `{0}` twice.", "The {b} of the {a} is handed back by {0}().")),
    Kind("keyword argument",
         ("```python\nclient = connect(url, {0}={1})\n```\n\nThe argument `{0}` sets the {b} of the {a} in seconds.",),
         ("Pass `{0}={1}` to `connect` to set the {b} of the {a}.", "The argument {0} sets the {b} of the {a} in seconds.", "`connect(url, {0}={1})` sets the {b} of the {a}.", "The {b} of the {a} is set, in seconds, by the `{0}` argument.")),
    Kind("class",
         ("The class `{0}` owns the {a} and closes it when the {b} is used up.", "```ts\nexport class {0} extends Base {{\n  open(): void\n}}\n```\n\n`{0}` owns the {a} and closes it when the {b} is used up."),
         ("`{0}` owns the {a}.", "The {a} is owned by a {0}, which closes it when the {b} is used up.", "{0}s own the {a}.", "It is the {0}'s job to close the {a} when the {b} is used up.")),
    Kind("snake name",
         ("`{0}` holds the {b} of the {a}. It is read once and cannot be changed later.",),
         ("{0} holds the {b} of the {a}.", "The {b} of the {a} is held in `{0}`.", "`{0}` is read once and cannot be changed later.", "You cannot change `{0}` later: it is read once.")),
    Kind("environment variable",
         ("Set `{0}` to move the {a} elsewhere; the {b} moves with it.", "| Variable | Meaning |\n|---|---|\n| `{0}` | where the {a} and its {b} are kept |\n| `HOME` | not used |"),
         ("Set {0} to choose where the {a} is kept.", "`{0}` says where the {a} and its {b} are kept.", "Where the {a} and its {b} are kept is set by `${0}`.", "The {a} is kept where {0} says.")),
    Kind("release",
         ("### {0}\n\nThe {a} no longer loses its {b} when the disk is full.", "As of {0} the {a} no longer loses its {b} when the disk is full."),
         ("The {a} no longer loses its {b} when the disk is full, as of {0}.", "Since {0}, the {a} no longer loses its {b} when the disk is full.", "In version {0} the {a} no longer loses its {b} when the disk is full.")),
    Kind("configuration key",
         ("```yaml\n{sect}:\n  {leafkey}: {1}\n  enabled: true\n```\n\n`{0}` is the {b} that the {a} may reach.", "`{0}` (default {1}) is the {b} that the {a} may reach."),
         ("`{0}` is the {b} that the {a} may reach.", "The {b} that the {a} may reach is configured with {0}.", "Set `{0}: {1}` for the {b} that the {a} may reach.")),
    Kind("route",
         ("`{1} {0}` gives the {b} of one {a} as JSON. It needs the scope `read`.", "#### {1} {0}\n\nGives the {b} of one {a} as JSON. It needs the scope `read`."),
         ("`{1} {0}` gives the {b} of one {a}.", "The {b} of one {a} is given as JSON by {1} `{0}`.", "Send {1} {0}, which needs the scope `read`.", "Call {0} for the {b} of one {a}.")),
    Kind("url",
         ("The schema of the {a} is published at {0} and lists every {b}.",),
         ("The schema of the {a} is published at {0}.", "See <{0}>: the schema of the {a} lists every {b}.", "Every {b} is listed in the schema of the {a} ({0}).")),
    Kind("error name",
         ("When the {b} of the {a} is exceeded, `{0}` is raised and nothing is written.", "| Error | Cause |\n|---|---|\n| `{0}` | the {b} of the {a} is exceeded |"),
         ("`{0}` is raised when the {b} of the {a} is exceeded.", "Exceeding the {b} of the {a} raises {0}.", "{0} means that the {b} of the {a} is exceeded.")),
    Kind("command",
         ("```bash\n{0}\n```\n\nThis rebuilds the {a} and prints its {b}.", "Run `{0}`: it rebuilds the {a} and prints its {b}."),
         ("Run `{0}` to rebuild the {a}.", "`{0}` rebuilds the {a} and prints its {b}.", "The {a} is rebuilt with `{0}`.")),
    Kind("package version",
         ("Install it with `pip install {0}=={1}`. It brings the {a} along, {b} included.",),
         ("Install it with `pip install {0}=={1}`.", "The package `{0}` brings the {a} along.", "`{0}=={1}` brings the {a} along, {b} included.")),
)  # fmt: skip
NOISE = (
    "# Concepts\n\nA {x} belongs to exactly one {y}. Deleting the {y} deletes the {x} too; `Ctrl+C` stops at once.",
    '```python\nimport logging\n\nlogging.getLogger("{x}").setLevel("DEBUG")\n```\n\nLogs go to stderr, one JSON object a line.',
    "The team meets on Tuesdays. Ask in the channel before you change the {y}, and write a test for each {x}.",
    "| Size | {x}s | price |\n|---|---|---|\n| small | 10 | 4 EUR |\n| large | 250 | 39 EUR |",
    "Known problems: on slow disks the {x} can take up to 12 seconds; see issue 3817. Set `log.level: debug` to see more.",
)


@dataclass(frozen=True)
class Case:
    """One answer against chunks; `faithful`: the chunks hold the name that it gives."""

    kind: str
    answer: str
    chunks: tuple[str, ...]
    faithful: bool


def cases(n: int = N_CASES, seed: int = SEED, *, near: bool = False) -> Iterator[Case]:
    """`n` pairs, the kinds in turn: an answer with a made-up name, and its twin with the right one.

    `near`: the made-up name is a slip of the right one, not another one of its kind.
    """
    draw = random.Random(seed)
    for number in range(n):
        kind = KINDS[number % len(KINDS)]
        words = {
            "a": f"{draw.choice(STEMS)} {draw.choice(THINGS)}",
            "b": draw.choice(TRAITS),
            "tool": draw.choice(STEMS),
        }
        true, value = _name(kind.name, draw)
        false = _slip(true, draw) if near else _name(kind.name, draw)[0]
        noise = [one.format(x=draw.choice(THINGS), y=draw.choice(THINGS)) for one in NOISE]
        text = _filled(draw.choice(kind.texts), true, value, words)
        place = draw.randrange(len(noise) + 1)
        chunks = (*noise[:place], text, *noise[place:])
        while any(false in chunk for chunk in chunks):
            false = _slip(true, draw) if near else _name(kind.name, draw)[0]
        template = draw.choice(kind.answers)
        bend = draw.random()
        for name, faithful in ((false, False), (true, True)):
            yield Case(kind.name, _bent(_filled(template, name, value, words), name, bend), chunks, faithful)


def _filled(template: str, name: str, value: str, words: dict[str, str]) -> str:
    mod, _, leaf = name.rpartition(".")
    filled = (
        template.replace("{0}", "\0").replace("{1}", "\1").format(**words, mod=mod, leaf=leaf, sect=mod, leafkey=leaf)
    )
    return filled.replace("\0", name).replace("\1", value)


def _slip(name: str, draw: random.Random) -> str:
    """`name` with one word of it exchanged or added, two letters exchanged, or another number."""
    words = [word for word in (*STEMS, *ACTS, *THINGS, *TRAITS) if word in name.lower()]
    way = draw.random()
    digits = [place for place, letter in enumerate(name) if letter.isdigit()]
    if digits and (not words or way < 0.3):
        place = draw.choice(digits)
        return name[:place] + str((int(name[place]) + draw.randint(1, 9)) % 10 or 7) + name[place + 1 :]
    word = draw.choice(words)
    start = name.lower().find(word)
    mine = name[start : start + len(word)]
    if way < 0.6:
        other = draw.choice([one for one in (*THINGS, *TRAITS) if one != word])
    elif way < 0.8:
        other = word[:-2] + word[-1] + word[-2]
    else:
        other = (
            word + draw.choice(("_", "-", "") if not name[:1].isupper() else ("",)) + draw.choice(("new", "all", "ex"))
        )
    other = other.upper() if mine.isupper() else other.title() if mine[0].isupper() else other
    return name[:start] + other + name[start + len(word) :]


def _bent(answer: str, name: str, bend: float) -> str:
    """What people do: backticks added where there are none or taken away, a capital in front, a full stop behind."""
    if bend < 0.25 and f"`{name}`" not in answer and answer.count("`") == 0 and not name.startswith("http"):
        answer = (
            answer.replace(f"{name}()", f"`{name}()`")
            if f"{name}()" in answer
            else answer.replace(name, f"`{name}`", 1)
        )
    elif bend < 0.4 and f"`{name}`" in answer and " " not in name:
        answer = answer.replace(f"`{name}`", name, 1)
    if answer[0].islower() and not answer.startswith(("http", "--")) and 0.4 < bend < 0.6:
        answer = answer[0].upper() + answer[1:]
    return (
        f"According to the documentation, {answer[0].lower() + answer[1:]}"
        if bend > 0.85 and answer[:2] in ("Th", "It", "Yo", "On", "Be")
        else answer
    )


def _name(kind: str, draw: random.Random) -> tuple[str, str]:
    stem, act, thing, trait = draw.choice(STEMS), draw.choice(ACTS), draw.choice(THINGS), draw.choice(TRAITS)
    other, extension = draw.choice(THINGS), draw.choice(EXTENSIONS)
    number = str(draw.randint(2, 98))
    version = f"{draw.randint(0, 12)}.{draw.randint(0, 30)}"
    made = {
        "source file": draw.choice((f"src/{stem}/{thing}_{trait}.{extension}", f"{stem}/{thing}.{extension}", f"{act}_{thing}.{extension}", f"{thing}-{trait}.{extension}")),
        "windows path": draw.choice((f"C:\\ProgramData\\{stem.title()}\\{thing}.log", f"%LOCALAPPDATA%\\{stem}\\{thing}s", f"C:\\{stem}\\{thing}\\{trait}.{extension}")),
        "unix path": draw.choice((f"/etc/{stem}/{thing}.{extension}", f"/var/lib/{stem}/{thing}s", f"~/.config/{stem}/{trait}.{extension}", f"/opt/{stem}/bin/{act}")),
        "long flag with value": f"--{draw.choice((thing, act))}-{trait}",
        "switch": draw.choice((f"--no-{thing}", f"--{act}-{thing}", f"--skip-{trait}", f"--{stem}")),
        "module function": draw.choice((f"{stem}.{thing}.{act}", f"{stem}.{act}_{thing}", f"{stem}.{thing}.{act}{other.title()}")),
        "keyword argument": draw.choice((f"{thing}_{trait}", f"max_{thing}s", f"{act}_{trait}")),
        "class": draw.choice((f"{stem.title()}{thing.title()}", f"{thing.title()}{act.title()}er", f"{act.title()}{thing.title()}{trait.title()}")),
        "snake name": draw.choice((f"{thing}_{trait}", f"{stem}_{thing}_{trait}", f"default_{trait}", f"_{act}_{thing}")),
        "environment variable": draw.choice((f"{stem.upper()}_{thing.upper()}_DIR", f"{stem.upper()}_HOME", f"{thing.upper()}_{trait.upper()}")),
        "release": draw.choice((f"v{version}.{draw.randint(0, 9)}", version, f"v{version}", f"{version}.0-rc{draw.randint(1, 4)}", f"{version}.{draw.randint(1, 9)}")),
        "configuration key": draw.choice((f"{thing}.{trait}", f"{stem}.{act}_{trait}", f"{thing}.max_{other}s")),
        "route": draw.choice((f"/v{draw.randint(1, 3)}/{thing}s/{{id}}/{trait}", f"/api/{stem}/{thing}s", f"/{stem}/{{name}}/{act}", f"/{thing}s/:id")),
        "url": draw.choice((f"https://schemas.{stem}.dev/{thing}/v{draw.randint(1, 9)}.json", f"https://{stem}.example.org/docs/{act}-{thing}", f"http://localhost:{draw.randint(3000, 9999)}/{stem}")),
        "error name": draw.choice((f"{stem.title()}{trait.title()}Error", f"E_{thing.upper()}_{trait.upper()}", f"ERR-{draw.randint(1000, 9999)}", f"{thing.title()}{trait.title()}Exceeded")),
        "command": draw.choice((f"{stem} {act} {thing}", f"{stem} {thing} {act} --all", f"make {act}-{thing}", f"npx {stem} {act}")),
        "package version": draw.choice((f"{stem}-{thing}", f"{stem}_{act}", f"lib{stem}-{thing}")),
    }[kind]  # fmt: skip
    value = {"route": draw.choice(("GET", "POST", "DELETE")), "package version": f"{version}.{draw.randint(0, 9)}"}.get(
        kind, number
    )
    return made, value


async def supported(judge: Judge, case: Case) -> tuple[bool, str]:
    """Whether every claim of the answer is called supported, and the reasons."""
    chunks = tuple(RetrievedChunk(id=f"k{i}", text=text, rank=i) for i, text in enumerate(case.chunks, start=1))
    claims = (await judge.ask(SPLIT_CLAIMS, text=case.answer)).claims
    verdicts = (await judge.ask(SUPPORT, claims=claims, chunks=chunks)).verdicts if claims else ()
    return bool(verdicts) and all(one.label == "supported" for one in verdicts), "; ".join(
        f"{one.label}: {one.reason}" for one in verdicts
    )


async def outcomes(
    judge: Judge, n: int = N_CASES, seed: int = SEED, *, near: bool = False
) -> list[tuple[Case, bool, str]]:
    """Each case, whether it was called supported, and why."""
    return [(case, *await supported(judge, case)) for case in cases(n, seed, near=near)]


async def main() -> None:
    """Print the shares by kind, for the embedded judge without and with exact names, and what went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--cases", type=int, default=N_CASES)
    parser.add_argument("--near", action="store_true", help="made-up names are slips of the right ones")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    plain = await outcomes(EmbeddedJudge(), arguments.cases, arguments.seed, near=arguments.near)
    exact = await outcomes(ExactNames(EmbeddedJudge()), arguments.cases, arguments.seed, near=arguments.near)
    print("| kind | pairs | caught, embedded | caught, exact | false alarms, embedded | false alarms, exact |")
    print("|---|---|---|---|---|---|")
    for kind in (*(one.name for one in KINDS), "all"):
        cells = []
        for faithful in (False, True):
            for found in (plain, exact):
                mine = [one for one in found if kind in (one[0].kind, "all") and one[0].faithful == faithful]
                cells.append(sum(not one[1] for one in mine))
        print(f"| {kind} | {len(mine)} | {' | '.join(map(str, cells))} |")
    for case, good, why in exact:
        if good != case.faithful and not arguments.quiet:
            print("  ", "ALARM" if case.faithful else "MISSED", case.kind, repr(case.answer), why[:260])


if __name__ == "__main__":
    asyncio.run(main())
