"""Single values: text, lists, numbers, truth values, grades. Each either fits or is a problem with its place."""

from __future__ import annotations

import ast
import datetime
import io
import json
import math
import tokenize
from collections.abc import Mapping
from typing import Any

from ragauge.core.sample import is_blank
from ragauge.dataset.mapping import Given
from ragauge.dataset.problems import Problems, Warnings
from ragauge.dataset.rows import Row, Written
from ragauge.errors import InputError
from ragauge.text.normalise import clean

_TRUE = frozenset(("true", "yes", "y", "1", "on"))
_FALSE = frozenset(("false", "no", "n", "0", "off"))


class Wrong(ValueError):
    """A value that does not fit: what was expected of it."""

    def __init__(self, problem: str, accepted: str = "", found: Any = None) -> None:
        super().__init__(problem)
        self.problem, self.accepted, self.found = problem, accepted, found


class Values:
    """Reads the fields of one row; what does not fit goes to `problems` and is None."""

    def __init__(self, row: Row, fields: Mapping[str, Given], problems: Problems, warnings: Warnings) -> None:
        self.row, self.fields, self.problems, self.warnings = row, fields, problems, warnings

    def given(self, name: str) -> Any:
        """The raw value of a field; None when it is absent."""
        found = self.fields.get(name)
        return None if found is None else found.value

    def problem(self, name: str, problem: str, accepted: str = "", found: Any = None, hint: str = "") -> None:
        """Note what is wrong with a field."""
        given = self.fields.get(name)
        spelled = given.name if given else name
        line = self.row.lines.get(spelled.partition(".")[0], self.row.line)
        self.problems.add(
            InputError(
                problem,
                file=self.row.file or self.problems.file,
                line=line,
                field=spelled,
                found=found,
                accepted=accepted,
                hint=hint,
            )
        )

    def read(self, name: str, reader: Any, *args: Any) -> Any:
        """`reader(value, *args)` of the field; None when it is absent, null, or does not fit."""
        value = self.given(name)
        if value is None:
            return None
        try:
            return reader(value, *args)
        except Wrong as wrong:
            graded = name in ("sources", "chunks") and isinstance(value, Mapping)
            accepted = "a list of ids; with grades: relevance: {ID: 0 to 3}" if graded else wrong.accepted
            self.problem(name, wrong.problem, accepted, value if wrong.found is None else wrong.found)
            return None

    def text(self, name: str) -> str | None:
        """A text, cleaned; None when absent or blank."""
        value: str | None = self.read(name, as_text)
        return None if is_blank(value) else self.clean(value, name)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of texts; blank ones are left out, an empty list is None."""
        values = self.read(name, as_texts, self.row.cells)
        if values is None:
            return None
        kept = tuple(dict.fromkeys(self.clean(v, name).strip() for v in values if not is_blank(v)))
        return kept or None

    def clean(self, text: str | None, name: str) -> str:
        """`text` without NULs and lone surrogates, which nothing can store; said when it happens."""
        cleaned = clean(text or "")
        if cleaned != text:
            self.warnings.add(f"NULs or lone surrogates in {name!r} were replaced by U+FFFD", self.row.line)
        return cleaned


def as_text(value: Any) -> str:
    """Text, or a whole or decimal number as text (ids are often numbers)."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"{_kind(value)} where text belongs", "text")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Wrong(f"{value} is not a value", "text")
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def as_list(value: Any, cells: bool) -> list[Any]:
    """A list; a text cell of a table may hold one as JSON, as a Python list, or separated by `|` or else `;`."""
    if isinstance(value, list | tuple):
        return list(value)
    if hasattr(value, "tolist") and not isinstance(value, str):
        return as_list(value.tolist(), cells)
    if isinstance(value, str) and cells:
        listed = listed_in_text(value)
        if listed is not None:
            return listed
        separator = "|" if "|" in value else ";"
        return [part.strip() for part in value.split(separator)]
    if isinstance(value, Mapping) or value is None:
        raise Wrong(f"{_kind(value)} where a list belongs", "a list of texts")
    return [value]


def as_texts(value: Any, cells: bool = False) -> list[str]:
    """A list of texts (a single one is a list of one)."""
    return [as_text(part) for part in as_list(value, cells) if part is not None]


def listed_in_text(text: str) -> list[Any] | None:
    """The list that `text` writes out, as JSON or as Python prints one; None if it is no list at all."""
    stripped = text.strip()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return None
    try:
        parsed = json.loads(stripped, strict=False, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        parsed = _python_list(stripped)
    return parsed if isinstance(parsed, list) else None


def _python_list(text: str) -> list[Any] | None:
    """A list as `str(list)` writes it (pandas does so in CSV). A printed numpy array has no commas: refused."""
    if len(text) > 2**22 or text.count("[") + text.count("{") + text.count("(") > 20_000:
        return None
    try:
        parsed = python_value(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    if not isinstance(parsed, list):
        return None
    if joins_texts(text):
        raise Wrong("two texts without a comma between them (a printed numpy array?)", "a list as JSON")
    return parsed


def joins_texts(text: str) -> bool:
    """Whether Python would make one text of two in `text`, because no comma stands between them."""
    previous = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING == previous:
            return True
        if token.type not in (tokenize.NL, tokenize.NEWLINE):
            previous = token.type
    return False


class _Nothing(ast.NodeTransformer):
    """`nan`, as pandas prints that there is nothing, as None."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Constant(None), node) if node.id in ("nan", "NaN", "NaT", "null") else node


def python_value(text: str) -> Any:
    """The value that Python printed as `text`; raises what `ast.literal_eval` raises for anything but literals."""
    return ast.literal_eval(_Nothing().visit(ast.parse(text.strip(), mode="eval")))


def as_flag(value: Any) -> bool:
    """True or false, also yes/no, 1/0."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold() if isinstance(value, str | int | float) else ""
    word = word.removesuffix(".0")
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise Wrong("not a truth value", "true | false (also yes | no, 1 | 0)")


def as_number(value: Any, low: float | None = None, high: float | None = None) -> float:
    """A finite number, within bounds."""
    number = value.value if isinstance(value, Written) else value
    if isinstance(number, str):
        try:
            number = float(number.strip())
        except ValueError:
            number = None
    wanted = (
        "a number" if low is None else f"a number of at least {low}" if high is None else f"a number {low} to {high}"
    )
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise Wrong("not a number", wanted)
    try:
        number = float(number)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Wrong(f"{number} is not a finite number", wanted)
    if (low is not None and number < low) or (high is not None and number > high):
        raise Wrong("the number is out of range", wanted)
    return number


def as_count(value: Any) -> int:
    """A whole number from 0."""
    number = as_number(value, 0)
    if not number.is_integer():
        raise Wrong("not a whole number", "a whole number from 0")
    return int(number)


def as_grade(value: Any) -> int:
    """A relevance grade: 0 (judged and not relevant) to 3; true is 1, false 0."""
    if isinstance(value, bool):
        return int(value)
    accepted = "a whole grade 0 to 3 (0 = judged and not relevant)"
    try:
        number = as_number(value)
    except Wrong as wrong:
        raise Wrong(f"the grade is {wrong.problem}", accepted, found=value) from wrong
    if not number.is_integer() or not 0 <= number <= 3:
        raise Wrong("the grade is outside 0 to 3", accepted, found=value)
    return int(number)


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON can hold it: dates as ISO text, arrays as lists, NaN as None, unknown objects as their text."""
    if isinstance(value, Written):
        value = value.value
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > 50:
        return clean(str(value)[:1000])
    if isinstance(value, Mapping):
        return {clean(str(key)): plain(child, depth + 1) for key, child in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        children = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [plain(child, depth + 1) for child in children]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return plain(value.tolist(), depth + 1)
    return clean(str(value))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a truth value"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return "a number" if isinstance(value, int | float) else f"a {type(value).__name__}"
