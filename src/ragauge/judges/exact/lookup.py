"""Whether the chunks hold an exact name."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragauge.core.sample import RetrievedChunk
from ragauge.judges.exact.names import IDENTIFIER, ORDINARY, Name
from ragauge.text.blocks import code_spans

_ESCAPED = re.compile(r"\\([_*#`~<>{}()\[\]|+.!-])")
_FENCED = re.compile(r"^[ \t]{0,12}(```+|~~~+)[^\n]*\n(.*?)^[ \t]{0,12}\1", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_DOTTED_NUMBER = re.compile(
    r"(?<![\w.])[vV]?(\d{1,4}(?:\.\d{1,6}){0,4}(?:[-.]?(?:a|b|rc|alpha|beta|dev|post)[-.]?\d{0,4})?)(?!\w|\.\d)"
)
_WHOLE_VERSION = re.compile(
    r"(?:\b[vV]|[=<>~^@]=?\s?|\b[Vv]ersions?\s+|\b[Rr]eleases?\s+|\b[A-Z][a-z]+\s)(\d{1,4})(?![\w.]\d|\w)"
)
_HOLE = re.compile(r"\{[^{}/]*\}|<[^<>/]*>|:[A-Za-z_]\w*|\*+")
_METHODS = "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS"


@dataclass(frozen=True)
class Source:
    """The texts that names are looked up in: chunks with their document, title and headings."""

    text: str

    @cached_property
    def folded(self) -> str:
        """Without case, for what has none."""
        return self.text.casefold()

    @cached_property
    def code(self) -> frozenset[str]:
        """Words that stand in code (backticks, fences) or have the shape of an identifier."""
        parts = [self.text[start:end] for start, end in code_spans(self.text, 0, len(self.text))]
        parts += [match[2] for match in _FENCED.finditer(self.text)]
        parts += [match.group() for match in IDENTIFIER.finditer(self.text)]
        return frozenset(word for part in parts for word in _WORD.findall(part))

    @cached_property
    def versions(self) -> frozenset[str]:
        """Numbers with dots, and whole ones where they are said to be versions."""
        dotted = {_plain_version(match[1]) for match in _DOTTED_NUMBER.finditer(self.text) if "." in match[1]}
        return frozenset(dotted | {match[1] for match in _WHOLE_VERSION.finditer(self.text)})

    @cached_property
    def numbers(self) -> frozenset[str]:
        """All numbers, without trailing zeros behind the point."""
        return frozenset(_plain_version(match[1]) for match in _DOTTED_NUMBER.finditer(self.text))

    def stands(self, wanted: str, *, fold: bool = False) -> bool:
        """Whether `wanted` stands there with nothing joined on that would make it another name."""
        return _stands(wanted.casefold(), self.folded) if fold else _stands(wanted, self.text)

    def holds(self, name: Name) -> bool:
        """Whether the texts hold the name, by the rules of its kind."""
        return _RULES.get(name.kind, _name)(self, name)


def source_of(chunks: Sequence[RetrievedChunk]) -> Source:
    """The source that these chunks are; the last few are remembered."""
    return _source(tuple(map(_shown, chunks)))


@lru_cache(maxsize=256)
def _source(texts: tuple[str, ...]) -> Source:
    return Source("\n".join(texts))


def _shown(chunk: RetrievedChunk) -> str:
    headings = chunk.metadata.get("headings")
    parts = [
        chunk.document or "",
        chunk.id,
        chunk.metadata.get("title") or "",
        chunk.metadata.get("table_header") or "",
    ]
    parts += headings if isinstance(headings, list | tuple) else []
    parts += [chunk.metadata[key] for key in ("path", "source", "url", "file", "file_path") if chunk.metadata.get(key)]
    text = html.unescape(chunk.text) if "&" in chunk.text else chunk.text
    return "\n".join([*map(str, parts), text, _ESCAPED.sub(r"\1", text) if "\\" in text else ""])


def _name(source: Source, name: Name) -> bool:
    bare = name.text.removesuffix("()")
    bare = bare.removesuffix("'s").removesuffix("’s")
    if any(source.stands(one) for one in _spellings(bare, name.code)):
        return True
    parts = [part for part in re.split(r"\.|::|->|#", bare) if part]
    if len(parts) > 1 and "-" not in bare:
        # `Class.method` of a documented class and method; the words of prose do not count
        return all(part in source.code for part in parts) and _related(source, parts)
    return False


def _related(source: Source, parts: Sequence[str]) -> bool:
    """Whether two parts of a dotted name are written as belonging together: imported, or defined below the other."""
    owner, last = re.escape(".".join(parts[:-1])), re.escape(parts[-1])
    near = re.escape(parts[-2])
    return bool(
        re.search(rf"from\s+{owner}\s+import[^\n]*\b{last}\b", source.text)
        or re.search(
            rf"\b(?:class|module|namespace|interface|struct|impl|object|enum)\s+{near}\b.{{0,4000}}?\b{last}\b",
            source.text, re.DOTALL,
        )
        or re.search(rf"[`'\"]{near}[`'\"]?\s+(?:class|object|module|client|section|table|namespace)", source.text)
        or re.search(rf"^\s*\[?{near}\]?\s*[:{{]?\s*\n(?:.*\n){{0,40}}?\s*{last}\s*[:=]", source.text, re.MULTILINE)
    )  # fmt: skip


def _spellings(bare: str, code: bool) -> list[str]:
    """The name, and how prose may bend it: a capital at the start of a sentence, a plural behind it."""
    found = [bare]
    if not code:
        if bare[:1].isupper() and not bare.isupper() and not bare[1:2].isupper():
            found.append(bare[:1].lower() + bare[1:])
        found += [one[:-1] for one in found if one.endswith("s") and len(one) > 3]
        # where claims are split, leading underscores are taken for emphasis
        found += [mark + one for one in found for mark in ("_", "__")]
    return found


def _flag(source: Source, name: Name) -> bool:
    return source.stands(name.text)


def _path(source: Source, name: Name) -> bool:
    wanted = name.text.rstrip("/\\") or name.text
    for one in (wanted, wanted.removeprefix("./").removeprefix(".\\"), wanted.replace("\\\\", "\\")):
        if (
            source.stands(one)
            or source.stands(one.replace("\\", "/"))
            or ("\\" in one and source.stands(one, fold=True))
        ):
            return True
    if _route_stands(source, "", wanted):
        return True
    folder, slash, file = wanted.rpartition("/")
    return bool(slash and folder and "." in file and source.stands(folder + "/") and source.stands(file))


def _url(source: Source, name: Name) -> bool:
    wanted = name.text.rstrip("/")
    return source.stands(wanted) or source.stands(wanted.split("://", 1)[1], fold=True)


def _email(source: Source, name: Name) -> bool:
    return source.stands(name.text, fold=True)


def _route(source: Source, name: Name) -> bool:
    method, _, path = name.text.partition(" ")
    return _route_stands(source, method, path.rstrip("/") or "/")


def _route_stands(source: Source, method: str, path: str) -> bool:
    """Whether the route is there, holes (`{id}`, `:id`, `<id>`) filled or not; with a method, with that one."""
    if "/" not in path:
        return False
    pieces = []
    for segment in path.split("?")[0].split("/"):
        hole = r"(?:\{[^{}/\s]*\}|<[^<>/\s]*>|:[A-Za-z_]\w*)"
        if _HOLE.fullmatch(segment):
            pieces.append(rf"(?:{hole}|[\w.-]+)")
        elif segment and (segment.isdigit() or re.fullmatch(r"[0-9a-f-]{8,}|\w+[-_]\d+\w*|abc\w*", segment)):
            pieces.append(rf"(?:{re.escape(segment)}|{hole})")
        else:
            pieces.append(re.escape(segment))
    route = "/".join(pieces) + r"(?![\w{<-]|/[\w{<:])"
    if not method:
        return bool(_HOLE.search(path)) and bool(re.search(rf"(?<![\w-]){route}", source.text))
    if re.search(rf"\b{method}\b\W{{0,6}}(?:https?://[\w.:-]+)?{route}", source.text):
        return True
    found = [match.start() for match in re.finditer(rf"(?<![\w-]){route}", source.text)]
    with_other = [at for at in found if re.search(rf"\b(?:{_METHODS})\b\W{{0,6}}$", source.text[max(0, at - 16) : at])]
    lines = [source.text[source.text.rfind("\n", 0, at) + 1 : source.text.find("\n", at) % (len(source.text) + 1)]
             for at in found if at not in with_other]  # fmt: skip
    return any(re.search(rf"\b{method}\b", line) or not re.search(rf"\b(?:{_METHODS})\b", line) for line in lines)


def _version(source: Source, name: Name) -> bool:
    wanted = name.text
    if wanted.endswith(".x"):
        return any(one == wanted[:-2] or one.startswith(wanted[:-2] + ".") for one in source.versions) or source.stands(
            wanted, fold=True
        )
    return _plain_version(wanted) in source.versions


def _plain_version(text: str) -> str:
    """Without trailing zeros: 2.0.0, 2.0 and 2 are one version.

    >>> _plain_version("2.10.0"), _plain_version("2.0")
    ('2.10', '2')
    """
    while text.endswith(".0"):
        text = text[:-2]
    return text.lower()


def _pair(source: Source, name: Name) -> bool:
    """A name with a value. The name must be there; and the value, unless the name takes any value."""
    call, _, key = name.key.rpartition("(")
    if key.casefold() not in ORDINARY and not _holds_key(source, key, call):
        return False
    value = name.text
    if not value or value.casefold() in ORDINARY or source.stands(value) or source.stands(value, fold=True):
        return True
    if re.fullmatch(r"-?\d+(?:\.\d+)?", value):
        return _plain_version(value.lstrip("-")) in source.numbers or _takes_any(source, key)
    return bool(call) or _takes_any(source, key) or not re.fullmatch(r"[A-Za-z][\w-]*", value)


def _holds_key(source: Source, key: str, call: str) -> bool:
    known = source.stands(key) if key.startswith("-") else source.stands(key) or key in source.code
    if not known or not call:
        return known
    last = re.escape(call.rpartition(".")[2])
    signatures = re.findall(rf"\b{last}\s?\(([^()]*)\)", source.text)
    listed = [one for one in signatures if "=" in one or ":" in one]
    if not listed or any("**" in one or "..." in one or "…" in one for one in listed):
        return True
    return any(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", one) for one in signatures)


def _takes_any(source: Source, key: str) -> bool:
    """Whether the texts show the name with a placeholder for its value (`--depth N`, `depth=<n>`)."""
    return bool(
        re.search(
            rf"(?<![\w-]){re.escape(key)}[ =:]{{1,2}}(?:[A-Z][A-Z_]*\b|<|\{{|\[|\.\.\.)", source.text
        )
    )  # fmt: skip


def _command(source: Source, name: Name) -> bool:
    one, _, other = name.text.partition(" ")
    hole = r"(?:<[^<>\n]*>|\{[^{}\n]*\}|\[[^\[\]\n]*\]|[A-Z][A-Z_]+\b)"
    flags = r"(?:\s+-{1,2}[\w-]+(?:[= ][^\s`-]\S*)?)*"
    return bool(
        re.search(rf"(?<![\w-]){re.escape(one)}{flags}\s+(?:{re.escape(other)}(?![\w-])|{hole})", source.text)
        or re.search(rf"{hole}{flags}\s+{re.escape(other)}(?![\w-])", source.text)
    )


_RULES = {
    "name": _name, "flag": _flag, "path": _path, "url": _url, "route": _route, "version": _version, "pair": _pair,
    "command": _command, "email": _email,
}  # fmt: skip


def _stands(wanted: str, text: str) -> bool:
    """Whether `wanted` stands in `text` as a whole: not as the beginning or end of a longer name."""
    if not wanted:
        return True
    place = text.find(wanted)
    while place >= 0:
        end = place + len(wanted)
        if not _joined_before(wanted, text[place - 1 : place] if place else "") and not _joined_after(
            wanted, text[end : end + 1], text[end + 1 : end + 2]
        ):
            return True
        place = text.find(wanted, place + 1)
    return False


def _hyphenated(wanted: str) -> bool:
    """Whether a hyphen beside the name makes it another one: so for flags, files, and names that have hyphens."""
    return "-" in wanted or re.search(r"\.\w", wanted) is not None


def _joined_before(wanted: str, before: str) -> bool:
    if wanted[0] in "/\\":
        return before != "" and (before.isalnum() or before in "_-.")
    return before.isalnum() or before == "_" or (before == "-" and _hyphenated(wanted))


def _joined_after(wanted: str, after: str, following: str) -> bool:
    if wanted[-1] in "/\\":
        return False
    if after.isalnum() or after == "_":
        return True
    if after == "-":
        return _hyphenated(wanted) and following.isalnum()
    return after == "." and "/" in wanted and following.isalnum() and following.islower()
