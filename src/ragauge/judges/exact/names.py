"""The exact names in a statement: identifiers, calls, flags, paths, URLs, routes, versions, keyword arguments.

A name is looked at when it stands in backticks, or when it has a shape that prose has not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ragauge.text.blocks import code_spans

Kind = Literal["name", "flag", "path", "url", "route", "version", "pair", "command", "email"]


@dataclass(frozen=True)
class Name:
    """`text` as it is looked up. `code`: it stood in backticks. `key`: the name that a value belongs to ("pair")."""

    kind: Kind
    text: str
    code: bool = False
    key: str = ""


_END = r"(?![\w-])"
URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,12}://[^\s<>\"'`|)\]}]{3,300}", re.IGNORECASE)
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,60})+")
WINDOWS = re.compile(r"(?<![\w\\])(?:[A-Za-z]:\\|\\\\|%\w+%\\|\.{1,2}\\)(?:[\w.$ -]{1,60}\\)*[\w.$-]{1,60}")
PATH = re.compile(
    r"(?<![\w.:/<-])(?:~|\.{1,2}|\$\{?\w+\}?)?/(?:[\w.@+:*-]|\{[^{}\s]{1,40}\}|<[^<>\s]{1,40}>)+"
    r"(?:/(?:[\w.@+:*-]|\{[^{}\s]{1,40}\}|<[^<>\s]{1,40}>)+){0,30}/?"
)
RELATIVE = re.compile(r"(?<![\w./\\-])(?:[\w@.-]{1,60}/){1,20}[\w-][\w.-]{0,60}\.[A-Za-z][A-Za-z0-9]{0,9}" + _END)
ROUTE = re.compile(r"\b(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\s{1,2}`?(/[^\s`\"',;)]{0,200})")
FLAG = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]{0,60})(?:=(\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|[^\s`\"',;)]{1,80}))?")
SPACED_FLAG = re.compile(r"(?<![\w-])(--[A-Za-z][\w-]{0,60})\s([^\s`\"',;)-][^\s`\"',;)]{0,80})")
PAIR = re.compile(
    r"(?<![\w.$-])(\$?[A-Za-z_][\w.]{0,60})\s?(?:=|:=)\s?"
    r"(\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|-?[\w./+-]{1,80}|\[[^\]\n]{0,80}\])(?!\s?=)"
)
VERSION = re.compile(
    r"(?<![\w./-])[vV]?(\d{1,4}(?:\.\d{1,6}){1,3}(?:[-.]?(?:a|b|rc|alpha|beta|dev|post)[-.]?\d{0,4})?)(\.[xX]\b)?(?![\w%]|\.\d)"
)
WHOLE_VERSION = re.compile(r"(?<![\w./-])(?:[vV](\d{1,4})|(?:[Vv]ersions?|[Rr]eleases?)\s+(\d{1,4}))(?![\w%]|\.\d)")
_VERSION_BEFORE = re.compile(
    r"(?:\b(?:versions?|releases?|since|until|v|as of|in|from|before|after|to|requires?|needs?|supports?|than"
    r"|or|and|with|on)"
    r"|[=<>~^@!]=?|[A-Z][\w.+#-]*)\s{0,2}[`*(]{0,3}$"
)
_MEASURED = re.compile(
    r"^\s?[`*)]{0,3}\s?(?:%|x\b|×|°|(?:ms|s|sec|seconds?|minutes?|min|hours?|h|days?|weeks?|months?|years?|[kKMGT]i?B|bytes?|"
    r"times?|percent|points?|m|km|cm|mm|kg|g|GHz|MHz|Hz|V|W|A|million|billion|thousand|USD|EUR|euros?|dollars?|tokens?|"
    r"requests?|retries|of\b)\b)"
)
IDENTIFIER = re.compile(
    r"(?<![\w.@/\\$-])(?:@|\$\{?)?"
    r"(?:[A-Za-z_][\w]*(?:(?:\.|::|->|#)[A-Za-z_][\w-]*)+"  # dotted, scoped
    r"|_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+_*|__\w+__"  # snake_case, CONSTANTS
    r"|[a-z]+[a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+"  # camelCase
    r"|(?:[A-Z][a-z0-9]+){2,}[A-Z]?|[A-Z]{2,}[a-z]+[A-Za-z0-9]*[A-Z]\w*"  # PascalCase
    r"|[A-Za-z]{1,12}-?\d{3,}[A-Za-z]?(?![\w-])"  # codes: TP-6008, E1234
    r"|[A-Za-z_]\w*(?=\(\)))"  # calls
    r"(?:\(\))?"
)
#: A name with hyphens is one where the word before says so; elsewhere it is mostly an ordinary compound.
CALLED = re.compile(
    r"\b(?:[Pp]ackage|[Mm]odule|[Ll]ibrary|[Pp]lugin|[Cc]rate|[Gg]em|[Ii]mage|[Ee]xtension|[Cc]ommand|[Ss]cript|[Ss]ervice|[Bb]inary|"
    r"pip install|npm install|cargo add)s?\s(?:called\s|named\s)?([a-z][a-z0-9]*(?:-[a-z0-9]+)+)" + _END
)
DOTFILE = re.compile(r"(?<![\w./\\-])\.[a-z][\w-]*(?:\.[a-z][\w-]*){0,3}" + _END)
FILE = re.compile(
    r"(?<![\w./\\@-])[\w-]{1,60}(?:\.[\w-]{1,40}){0,4}\.(?:py|pyi|js|mjs|ts|tsx|jsx|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|php|sh|bash|ps1|"
    r"bat|sql|md|rst|txt|toml|ya?ml|json|jsonl|ini|cfg|conf|config|env|lock|log|pem|key|crt|csv|tsv|xml|html?|css|proto|"
    r"tf|gradle|properties|service|socket|db|sqlite|parquet|whl|tar|gz|zip|jar|so|dll|exe|plist|ipynb)" + _END
)
CALL = re.compile(r"(?<![\w.@-])([A-Za-z_][\w.]*)\(([^()\n]{1,300})\)")
_INFO = re.compile(r"^(?:`{3,}|~{3,})[^\n]*\n")
_PLACEHOLDER = re.compile(r"<[^<>\n]{1,40}>|\$?\{[^{}\n]{1,40}\}|\[[A-Za-z_.-]{1,40}\]|\.{3}|…")
_SPOKEN = re.compile(
    r"(?:e\.g|i\.e|etc|vs|a\.m|p\.m|u\.s|u\.k|ph\.d|node\.js|vue\.js|next\.js|asp\.net|github|gitlab|javascript|typescript|"
    r"postgresql|mysql|graphql|youtube|linkedin|macos|ios|ipad|iphone|devops|openapi|oauth\d?|opentelemetry|numpy|pytorch|"
    r"tensorflow|nosql|websockets?|latex|powershell|readme|sqlite|mongodb|dynamodb|rabbitmq|utf-?\d+|sha-?\d+|ipv\d|http\d|"
    r"iso-?\d+|rfc-?\d+|[a-z]+(?:\.com|\.org)?'s)\.?$",
    re.IGNORECASE,
)
#: Words of shells and literals: they need not stand in the documentation to be used.
_ORDINARY = (
    "export set unset sudo cd echo cat true false null none nil undefined self this cls and or not in is if "
    "else elif for while return def class import from as with try except finally lambda new await async const "
    "let var function print len range open str int float bool dict list tuple then fi do done source env get "
    "post put patch delete head options "
)
ORDINARY = frozenset(_ORDINARY.split())
_EDGES = "\"'`,;:()[]{}=|&>!?*“”‘’"


def names(text: str) -> tuple[Name, ...]:
    """The exact names in `text`, each once, in the order of their kinds; what prose could mean is left out.

    >>> [(name.kind, name.text) for name in names("Set `--depth=3` in /etc/tarn.toml (since v2.1), then call drain().")]
    [('pair', '3'), ('flag', '--depth'), ('path', '/etc/tarn.toml'), ('name', 'drain()'), ('version', '2.1')]
    """
    found: dict[tuple[str, str, str], Name] = {}
    spans = [(start, end) for start, end in code_spans(text, 0, len(text))]
    for one in (*_spans(text, spans), *_shaped(text, spans)):
        wanted = one.text.strip()
        if wanted and not _SPOKEN.match(wanted):
            found.setdefault((one.kind, wanted, one.key), one)
    return tuple(found.values())


def _spans(text: str, spans: list[tuple[int, int]]) -> Iterator[Name]:
    for start, end in spans:
        inside = _INFO.sub("", text[start:end]).strip("`~").strip()
        yield from _code(inside)


def _code(inside: str) -> Iterator[Name]:
    """What stands in one pair of backticks."""
    bare = _PLACEHOLDER.sub(" ", inside)
    words = [word.strip(_EDGES) for word in bare.split()]
    taken = list(_patterns(inside, code=True))
    yield from taken
    held = " ".join(one.text + " " + one.key for one in taken)
    for word in (word.lstrip("@").strip("$%") for word in words):
        if len(word) < 2 or word.casefold() in ORDINARY:
            continue
        if word in held.split() or _number(word) or any(sign in word for sign in "=/\\") or word.startswith("-"):
            continue
        if not word.isascii() or not re.search(r"[A-Za-z]", word) or "(" in word:
            continue
        yield Name("name", word, code=True)
    yield from _commands(inside)


def _commands(inside: str) -> Iterator[Name]:
    """Neighbouring plain words of a command line: `tool verb noun` is ("tool verb"), ("verb noun")."""
    words = inside.lstrip("$> ").split()
    for one, other in pairwise(words):
        if all(re.fullmatch(r"[A-Za-z][\w.-]*", word) for word in (one, other)):
            if one.casefold() in ORDINARY or other.casefold() in ORDINARY:
                continue
            yield Name("command", f"{one} {other}", code=True)


def _shaped(text: str, spans: list[tuple[int, int]]) -> Iterator[Name]:
    """What has the shape of a name outside of backticks."""
    parts, position = [], 0
    for start, end in spans:
        parts.append(text[position:start])
        parts.append(" " if re.search(r"\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\s$", text[:start]) else "\n")
        position = end
    parts.append(text[position:])
    for match in ROUTE.finditer(text):  # the method may stand before the backticks
        yield Name("route", f"{match[1]} {_trimmed(match[2])}")
    yield from _patterns("".join(parts), code=False)


def _patterns(text: str, *, code: bool) -> Iterator[Name]:
    rest = text

    def cut(match: re.Match[str]) -> str:
        return " " * (match.end() - match.start())

    for match in URL.finditer(rest):
        yield Name("url", _trimmed(match.group()), code)
    rest = URL.sub(cut, rest)
    for match in EMAIL.finditer(rest):
        yield Name("email", match.group().rstrip(".-"), code)
    rest = EMAIL.sub(cut, rest)
    for match in ROUTE.finditer(rest):
        yield Name("route", f"{match[1]} {_trimmed(match[2])}", code)
    rest = ROUTE.sub(cut, rest)
    flags: list[Name] = []
    for match in FLAG.finditer(rest):
        if match[2] and not _PLACEHOLDER.search(match[2]):
            yield Name("pair", match[2].strip("\"'").rstrip(".,;:"), code, key=match[1])
        if len(match[1]) > 2 or code:
            flags.append(Name("flag", match[1].rstrip("-"), code))
    if code:
        for match in SPACED_FLAG.finditer(rest):
            if _number(match[2]) or re.search(r"[\d./]", match[2]):
                yield Name("pair", match[2].strip("\"'"), code, key=match[1])
    yield from flags
    rest = FLAG.sub(cut, rest)
    for pattern in (WINDOWS, PATH, RELATIVE):
        for match in pattern.finditer(rest):
            path = _trimmed(match.group())
            if len(path) > 2 and not re.fullmatch(r"/\w{1,3}", path):
                yield Name("path", path, code)
        rest = pattern.sub(cut, rest)
    for match in CALL.finditer(rest):
        for pair in PAIR.finditer(match[2]):
            yield Name("pair", pair[2].strip("\"'"), code, key=f"{match[1]}({pair[1]}")
        if code or "_" in match[1] or "." in match[1]:
            yield Name("name", match[1] + "()", code)
    for match in PAIR.finditer(rest):
        if code or re.search(r"[_.$]|[a-z][A-Z]", match[1]):
            yield Name("pair", match[2].strip("\"'").rstrip(".,;:"), code, key=match[1].lstrip("$"))
    for match in CALLED.finditer(rest):
        yield Name("name", match[1], code=True)
    for pattern in (FILE, DOTFILE):
        for match in pattern.finditer(rest):
            yield Name("name", match.group(), code)
        rest = pattern.sub(cut, rest)
    yield from _identifiers(rest, code)
    yield from _versions(rest, code)


def _identifiers(text: str, code: bool) -> Iterator[Name]:
    for match in IDENTIFIER.finditer(text):
        one = match.group().rstrip(".-")
        if not code and re.fullmatch(r"[a-z]{2,}\.[A-Z][a-z]+", one):
            continue  # two sentences without a space between them
        if len(one.removesuffix("()")) > 1 and one.casefold() not in ORDINARY:
            yield Name("name", one.lstrip("@").replace("${", "$").lstrip("$"), code)


def _versions(text: str, code: bool) -> Iterator[Name]:
    for match in VERSION.finditer(text):
        one, before, after = match[1], text[max(0, match.start() - 24) : match.start()], text[match.end() :][:16]
        n_dots = one.count(".")
        sure = match.group()[0] in "vV" or (n_dots >= 2 and n_dots != 3) or bool(re.search(r"[a-z]", one)) or match[2]
        if not sure and (_MEASURED.match(after) or (not code and not _VERSION_BEFORE.search(before))):
            continue
        yield Name("version", one + ("" if not match[2] else ".x"), code)
    for match in WHOLE_VERSION.finditer(text):
        yield Name("version", match[1] or match[2], code)


def _trimmed(text: str) -> str:
    return text.rstrip(".,;:!?'\"*_)")


def _number(word: str) -> bool:
    return bool(re.fullmatch(r"[vV]?[-+]?\d[\d.,:_x/-]*\w{0,3}", word))
