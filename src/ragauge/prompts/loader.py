"""Prompts are files: `name.vN.md` with a `# System` and a `# User` part and `{{placeholders}}`.

A project overrides one by putting a file of the same name into a folder of its own. Its placeholders are checked
against the built-in one's: a missing one is an error, as is one that nobody fills.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from ragauge.errors import InputError, SettingsError, UnknownName, nearest
from ragauge.prompts.fences import Fenced, defused, fence_code, fenced

_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
_FILE = re.compile(r"([a-z_]+)\.v([1-9][0-9]*)\.md")


@dataclass(frozen=True)
class Rendered:
    """What is sent: the system and the user part, and the fence code that holds what we did not write."""

    system: str
    user: str
    fence: str


@dataclass(frozen=True)
class Prompt:
    """A prompt file, read and checked. `sha256` is over its text with Unix line ends; `source` says where it stands."""

    name: str
    version: int
    system: str
    user: str
    sha256: str
    source: str

    @property
    def placeholders(self) -> frozenset[str]:
        """The names that have to be filled."""
        return frozenset(_PLACEHOLDER.findall(self.system + self.user))

    def render(self, **values: str | Fenced) -> Rendered:
        """Fill every placeholder. `Fenced` values are delimited, plain strings must be ours.

        Values are put in once and never read again for placeholders. An empty `Fenced` leaves no empty line.
        """
        wanted = self.placeholders - {"fence"}
        if wanted != values.keys():
            raise ValueError(f"{self.name}: takes {sorted(wanted)}, got {sorted(values)}")
        inside = [p.text for v in values.values() if isinstance(v, Fenced) for p in v.pieces]
        code = fence_code((defused(text) for text in inside), self.sha256)
        filled = {n: fenced(v.pieces, code) if isinstance(v, Fenced) else v for n, v in values.items()}
        filled["fence"] = code
        return Rendered(_fill(self.system, filled), _fill(self.user, filled), code)


def _fill(template: str, values: Mapping[str, str]) -> str:
    lines = []
    for line in template.split("\n"):
        alone = _PLACEHOLDER.fullmatch(line)
        if alone and not values[alone[1]]:
            continue
        lines.append(_PLACEHOLDER.sub(lambda match: values[match[1]], line))
    return "\n".join(lines)


def names() -> dict[str, int]:
    """The built-in prompts: name → newest version."""
    found: dict[str, int] = {}
    for entry in resources.files("ragauge.prompts").iterdir():
        if match := _FILE.fullmatch(entry.name):
            found[match[1]] = max(found.get(match[1], 0), int(match[2]))
    return dict(sorted(found.items()))


def load(name: str, version: int = 1, *, folder: Path | str | None = None) -> Prompt:
    """The prompt `name` in `version`: the project's own from `folder` where it has one, else the built-in one."""
    built_in = _built_in(name, version)
    own = Path(folder) / f"{name}.v{version}.md" if folder is not None else None
    if own is None or not own.exists():
        return built_in
    try:
        text = own.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise InputError("the prompt is not UTF-8 text", file=str(own), found=problem.reason) from None
    except OSError as problem:
        raise InputError(f"the prompt cannot be read: {problem.strerror}", file=str(own)) from None
    mine = _parsed(name, version, text, str(own))
    missing = built_in.placeholders - mine.placeholders
    unknown = mine.placeholders - built_in.placeholders
    if missing:
        listed = ", ".join(f"{{{{{m}}}}}" for m in sorted(missing))
        raise InputError("the prompt lacks placeholders", file=str(own), accepted=listed)
    if unknown:
        stray = min(unknown)
        near = nearest(stray, sorted(built_in.placeholders)) or sorted(built_in.placeholders)
        raise InputError("unknown placeholder", file=str(own), found=stray, accepted=", ".join(near))
    return mine


def check_folder(folder: Path | str) -> None:
    """Refuse a folder of overrides that does not exist or holds a prompt file that nothing would ever read."""
    path = Path(folder)
    if not path.is_dir():
        raise SettingsError(f"the folder of prompts {str(path)!r} does not exist")
    known = names()
    for entry in sorted(path.glob("*.md")):
        match = _FILE.fullmatch(entry.name)
        stem = match[1] if match else entry.name.split(".")[0]
        if match is None or match[1] not in known:
            near = nearest(stem, sorted(known)) or sorted(known)
            accepted = ", ".join(f"{n}.v{known[n]}.md" for n in near)
            raise InputError("no prompt has this name", file=str(entry), accepted=accepted)
        load(match[1], int(match[2]), folder=path)


@lru_cache(maxsize=64)
def _built_in(name: str, version: int) -> Prompt:
    entry = resources.files("ragauge.prompts").joinpath(f"{name}.v{version}.md")
    if not _FILE.fullmatch(entry.name) or not entry.is_file():
        raise UnknownName("prompt", f"{name}.v{version}", (f"{n}.v{v}" for n, v in names().items()))
    return _parsed(name, version, entry.read_text(encoding="utf-8"), f"ragauge/prompts/{entry.name}")


def _parsed(name: str, version: int, text: str, source: str) -> Prompt:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    digest = hashlib.sha256(text.encode()).hexdigest()
    head, system, rest = text.partition("# System\n")
    middle, user, tail = rest.partition("\n# User\n")
    if head.strip() or not system or not user or not middle.strip() or not tail.strip():
        raise InputError("a prompt has a part '# System' and below it a part '# User'", file=source)
    return Prompt(name, version, middle.strip(), tail.strip(), digest, source)
