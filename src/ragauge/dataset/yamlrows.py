"""YAML with line numbers, with the words as they were written, and without YAML's traps.

Scalars without quotes follow the YAML 1.2 core schema and remember their text (`Written`): `no`, `on`, `1e3`, `0123`
and dates are what the author typed wherever text is asked for. Duplicate keys are errors. Tags that would build
objects are refused. Aliases may repeat at most `MAX_REPEATED` nodes in all, so that a small file cannot grow without
bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ragauge.dataset.rows import Written
from ragauge.errors import InputError
from ragauge.store.textfile import read_text

#: How many nodes aliases (`*name`) may repeat in one file.
MAX_REPEATED = 100_000
MAX_DEPTH = 100

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,30})\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,4})?\Z")
_PLAIN_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_QUOTED = ('"', "'", "|", ">")
_SCALAR_TAGS = tuple(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge")
)
_SCALAR_TAGS = (*_SCALAR_TAGS, "!")


class Lined(dict[str, Any]):
    """A mapping that knows its line and its keys' lines."""

    line: int = 0
    lines: dict[str, int]


def read_yaml(path: Path) -> list[Any]:
    """The documents of a YAML file as plain values, mappings as `Lined`, scalars without quotes as `Written`."""
    text = read_text(path)
    name = str(path)
    try:
        if not text.strip():
            raise InputError("the file holds only white space", file=name)
        nodes = list(yaml.compose_all(_readable(text), Loader=_LOADER))
        return [_Builder(name).value(node, 0) for node in nodes if node is not None]
    except yaml.MarkedYAMLError as error:
        marks = [mark.line + 1 for mark in (error.context_mark, error.problem_mark) if mark is not None]
        text = ", ".join(part for part in (error.context, error.problem) if part)
        ends = f" (noticed on line {marks[-1]})" if marks and marks[0] != marks[-1] else ""
        raise InputError(
            f"not readable as YAML: {text}{ends}", file=name, line=min(marks, default=None), hint=_advice(text)
        ) from error
    except yaml.YAMLError as error:
        raise InputError(f"not readable as YAML: {error}", file=name) from error
    except RecursionError as error:
        raise InputError("nested too deeply", file=name, accepted=f"at most {MAX_DEPTH} levels") from error


def _advice(problem: str) -> str:
    """What people mostly did, where a parser's words do not say it."""
    if "mapping values are not allowed" in problem:
        return 'A text with a colon and a space in it needs quotes: "…: …".'
    if any(one in problem for one in ("cannot start any token", "expected <block end>", "expected key")):
        return "A text that begins with a sign like ` @ * & % or has quotes inside needs quotes around it."
    return ""


def _readable(text: str) -> str:
    """YAML allows no control characters; they become U+FFFD instead of making the file unreadable."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


class _Builder:
    """Makes values of nodes. Nodes reached a second time (through an alias) are counted."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.seen: set[int] = set()
        self.open: set[int] = set()
        self.n_repeated = 0

    def value(self, node: Node, depth: int) -> Any:
        line = node.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise InputError("nested too deeply", file=self.file, line=line, accepted=f"at most {MAX_DEPTH} levels")
        if isinstance(node, ScalarNode):
            self._count(node, line)
            return self._scalar(node, line)
        if id(node) in self.open:
            raise InputError("an alias that contains itself", file=self.file, line=line)
        self._count(node, line)
        if node.tag not in _PLAIN_TAGS and node.tag != "!":
            raise self._tag(node, line)
        self.open.add(id(node))
        try:
            if isinstance(node, SequenceNode):
                return [self.value(child, depth + 1) for child in node.value]
            return self._mapping(node, depth)
        finally:
            self.open.discard(id(node))

    def _count(self, node: Node, line: int) -> None:
        if id(node) in self.seen:
            self.n_repeated += 1
            if self.n_repeated > MAX_REPEATED:
                raise InputError(
                    "aliases repeat too much",
                    file=self.file,
                    line=line,
                    accepted=f"at most {MAX_REPEATED} repeated nodes",
                )
        self.seen.add(id(node))

    def _mapping(self, node: Node, depth: int) -> Lined:
        found = Lined()
        found.line, found.lines = node.start_mark.line + 1, {}
        merged: list[Lined] = []
        assert isinstance(node, MappingNode)
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                raise InputError("a key that is no text", file=self.file, line=line, accepted="text")
            key = str(key_node.value)
            if key == "<<" and key_node.style not in _QUOTED:
                merged += self._merged(value_node, depth, line)
                continue
            if key in found:
                first = found.lines[key]
                raise InputError(
                    f"the key {key!r} stands twice, on lines {first} and {line}", file=self.file, line=line
                )
            found[key] = self.value(value_node, depth + 1)
            found.lines[key] = line
        for defaults in merged:
            for key, value in defaults.items():
                if key not in found:
                    found[key], found.lines[key] = value, defaults.lines.get(key, found.line)
        return found

    def _merged(self, node: Node, depth: int, line: int) -> Iterator[Lined] | list[Lined]:
        value = self.value(node, depth + 1)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, Lined) for part in parts):
            raise InputError("`<<` merges mappings only", file=self.file, line=line)
        return parts

    def _scalar(self, node: ScalarNode, line: int) -> Any:
        text = str(node.value)
        if node.tag not in _SCALAR_TAGS:
            raise self._tag(node, line)
        if node.style in _QUOTED or node.tag == "!":
            return text
        if text in ("", "~", "null", "Null", "NULL"):
            return None
        if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
            return Written(text, text[0] in "tT")
        if _INT.match(text):
            return Written(text, int(text))
        if _FLOAT.match(text):
            return Written(text, float(text))
        if text.lower() in (".nan", ".inf", "-.inf", "+.inf"):
            raise InputError(
                f"{text} is not a value", file=self.file, line=line, accepted="a finite number, or nothing"
            )
        return text

    def _tag(self, node: Node, line: int) -> InputError:
        return InputError(f"the tag {node.tag!r} is refused: files hold data only", file=self.file, line=line)
