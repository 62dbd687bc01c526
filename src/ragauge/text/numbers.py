"""Quantities in text: numbers with their units, money, dates, durations, versions, ranges; and whether two agree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ragauge.text.quantity import Kind, Quantity, agree, dimension, unit_entry
from ragauge.text.remembered import Remembered
from ragauge.text.units import (
    CURRENCIES,
    EXACT_UNITS,
    MAGNITUDES,
    MONTHS,
    NUMBER_WORDS,
    ORDINAL_WORDS,
    PERCENT,
    SCALE_WORDS,
    UNITS,
)  # fmt: skip

__all__ = ["Kind", "Quantity", "agree", "dimension", "quantities"]


def _any_of(names: Iterable[str]) -> str:
    """A pattern for any of these words, by first letter, so that other words are passed over quickly."""
    ends: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: (-len(name), name)):
        ends.setdefault(name[0], []).append(name[1:])
    words = "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in ends.items())
    return f"(?=[{''.join(ends)}])(?:{words})"


_MONTH = _any_of(MONTHS)
_NUMBER_PATTERN = (
    r"(?:\d{1,3}(?:[  \u202f'’]\d{3})+(?:[.,]\d{1,9})?|\d{1,3}(?:,\d{3})+(?:\.\d{1,9})?|\d{1,3}(?:\.\d{3})+,\d{1,9}|"
    r"\d{1,3}(?:\.000){2,5}|\d{1,30}(?:[.,]\d{1,12})?|\.\d{1,9})"
)
_WORD_NUMBER = _any_of({*NUMBER_WORDS, *SCALE_WORDS})
_CURRENCY_SIGN = r"(?:US\$|[$€£¥₹₩₽])"
_CURRENCY_CODE = r"(?:USD|EUR|GBP|JPY|CHF|INR|CAD|AUD|CNY|KRW)"
_SCAN = re.compile(
    # Two guards, by the first character, keep ordinary prose fast.
    r"(?=[-−.$€£¥₹₩₽\dUEGJCIAV])(?:"
    rf"(?P<iso>(?<![\w.-])(?P<iy>\d{{4}})-(?P<im>\d{{2}})(?:-(?P<id>\d{{2}}))?(?![\w-]|\.\d))"
    rf"|(?P<dmy>(?<![\w.])(?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s|de\s)?(?P<m1>{_MONTH})\b\.?(?:,?\s(?:de\s)?(?P<y1>\d{{4}}))?(?![\w]))"
    r"|(?P<numdate>(?<![\w./-])(?P<n1>\d{1,2})(?P<sep>[./-])(?P<n2>\d{1,2})(?P=sep)(?P<n3>\d{4})(?![\w/-]|\.\d))"
    r"|(?P<time>(?<![\w:.])(?:(?P<h24>[01]?\d|2[0-3]):(?P<min>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<ap1>[ap])\.?m\b\.?)?|(?P<h12>1[0-2]|0?[1-9])\s?(?P<ap2>[ap])\.?m\b\.?)(?![\w:]))"
    r"|(?P<version>(?<![\w.])(?!\d{1,3}(?:\.000){2,5}(?!\d))(?:v\.?\s?\d{1,9}(?:\.[\dx]{1,9}){0,5}|\d{1,9}(?:\.[\dx]{1,9}){2,5})(?:[-+][a-z]\w{0,20}(?:\.\w{1,20}){0,3})?(?![\w]|\.\d))"
    rf"|(?P<product>(?<=[A-Za-z+#]\s)\d{{1,4}}\.\d{{1,4}}(?![\w%]|\.\d|,\d|\s?(?:%|percent|times|{_CURRENCY_CODE})))"
    r"|(?P<ordinal>(?<![\w.])\d{1,6}(?:st|nd|rd|th)\b)"
    rf"|(?P<figure>(?P<cur1>{_CURRENCY_SIGN}\s?|\b{_CURRENCY_CODE}\s)?(?<![\w])(?<!\d[.,])(?P<minus>(?<![\w)\]%])[-−])?(?P<number>{_NUMBER_PATTERN}))"
    r")|(?<!\w)(?=[a-z])(?:"
    rf"(?P<mdy>\b(?P<m2>{_MONTH})\b\.?\s(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]|[.,]\d)(?:,?\s(?P<y2>\d{{4}}))?(?!\w))"
    rf"|(?P<my>\b(?P<m3>{_MONTH})\b\.?,?\s(?:of\s|de\s)?(?P<y3>\d{{4}})(?!\w))"
    rf"|(?P<words>\b(?:half\s(?:a|an)\s(?=[a-z])|(?:a|an)\s(?=(?:hundred|thousand|million|billion|dozen)\b)|(?=(?:{_WORD_NUMBER})\b))"
    rf"(?:(?:{_WORD_NUMBER})\b(?:(?:\s|-|\sand\s)(?=(?:{_WORD_NUMBER})\b))?){{0,12}})"
    rf"|(?P<ordword>\b(?:{'|'.join(ORDINAL_WORDS)})\b))",
    re.IGNORECASE,
)


def _openings() -> str:
    """A pattern of the words that can open a quantity, by first letter, so that other words are passed over quickly."""
    codes = _CURRENCY_CODE.strip("(?:)").lower().split("|")
    rest: dict[str, list[str]] = {}
    for word in sorted({*MONTHS, *NUMBER_WORDS, *SCALE_WORDS, *ORDINAL_WORDS, *codes, "half"}):
        rest.setdefault(word[0], []).append(word[1:])
    odd = {"k": "\u212a", "s": "\u017f"}  # the Kelvin sign and the long s are letters too, whatever the case
    return "|".join(
        f"[{letter}{letter.upper()}{odd.get(letter, '')}](?:{'|'.join(ends)})(?!\\w)" for letter, ends in rest.items()
    )


#: Where `_SCAN` can match at all: a sign, digit or word that may open a quantity.
_PLACE = re.compile(
    rf"[$€£¥₹₩₽]|[Uu](?i:S)\$|(?<!\w)(?:[-−](?=[\d.])|\.(?=\d)|\d|(?i:{_openings()})|[vV](?=[.\s\d]|\Z))"
)
_ARTICLE = re.compile(r"(?<!\w)an?\s(?=(?:hundred|thousand|million|billion|dozen)\b)", re.IGNORECASE)
#: A number before another short one ("1 1 1"): nothing but itself, and quick in the worst of inputs.
_PLAIN = re.compile(r"(?<![\w.,-])\d{1,30}(?= \d{1,2}(?!\w))")
_UNIT = re.compile(
    r"(?P<space>[  \u202f-]?)(?P<unit>[%$€£¥₹₩₽]|°?[^\W\d_]{1,20}(?:/[a-z]{1,5})?)"
    r"(?:\s(?P<rest>cent|ciento|points))?(?!\w)"
)
_UNIT_SIGN = re.compile("[A-Za-z%$\x80-\U0010ffff]")
_MAGNITUDE = re.compile(
    r"(?:(?P<short>[kKM]|bn|mn|B)|\s?-?(?P<long>thousands?|hundred|millions?|billions?|trillions?|bn|mio|millionen|"
    r"milliarden|tausend|dozen))(?!\w)"
)
_GROUPING = re.compile(r"[  \u202f'’]")
_GERMAN = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+")
_DOTTED_THOUSANDS = re.compile(r"\d{1,3}(?:\.000){2,}")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_RANGE_JOIN = re.compile(r"\s?(?:[-–—]|\bto\b|\bbis\b|\band\b|\bor\b)\s?")
_LONE = frozenset({"one", "hundred", "thousand", "million", "billion", "trillion", "dozen", "zero"})
_NO_PRODUCT_WORDS = """
about above across after almost an and approximately are around at average before below between by costs cost
equals exactly for from has have in is least limit maximum minimum most nearly of on only or over per plus rate
roughly score scores set size than the times to total under until up value was were with within reached reaches
a be
"""
_NO_PRODUCT = frozenset(_NO_PRODUCT_WORDS.split())


def quantities(text: str) -> list[Quantity]:
    """The quantities in `text`, in order of their place; overlapping none.

    Understood: `1,000` `1 000` `1.000,5` `2,5` `1'000`; `twelve`, `twenty-one`, `half an hour`; `12 %`; `$5`, `5 EUR`;
    `2024-03-14`, `14 March 2024`, `March 14, 2024`, `14.03.2024`, `3/14/2024` (month first unless it cannot be);
    `02:00`, `5 p.m.`; `1.5 GB`, `512 MiB`; `30 min`; `2k`, `3 million`; `10-20 MB`, `between 5 and 10`; `v8.1.2`,
    `Python 3.10` (versions are compared as such, not as numbers); `3rd`. Digits inside identifiers are not quantities.

    >>> [(q.value, q.unit, q.kind) for q in quantities("Keeps 1,000 files of 1.5 GB for thirty days.")]
    [(1000.0, None, 'number'), (1.5, 'GB', 'bytes'), (30.0, 'days', 'duration')]
    """
    pieces = text.replace("\n", " ").split(" ")
    opened = list(map(_OPENINGS.__getitem__, pieces))
    if not any(opened):
        return []
    found: list[Quantity] = []
    scanned = 0
    for start in _places(text, pieces, opened):
        if start < scanned:
            continue
        plain = _PLAIN.match(text, start)
        if plain:
            scanned = plain.end()
            if not found or start >= found[-1].end:
                found.append(Quantity(float(plain[0]), None, "number", start, scanned, plain[0]))
            continue
        match = _SCAN.match(text, start)
        if match is None:
            continue
        scanned = match.end()
        if not found or start >= found[-1].end:
            quantity = _read(text, match)
            if quantity is not None:
                found.append(quantity)
    return list(_ranges(text, found)) if len(found) > 1 else found


def _openings_in(piece: str) -> tuple[int, ...]:
    """Where `_SCAN` can match at all in a piece of text that spaces bound: most begin no quantity."""
    return tuple([place.start() for place in _PLACE.finditer(piece)])


_OPENINGS = Remembered(_openings_in, most=16384)


def _places(text: str, pieces: list[str], opened: list[tuple[int, ...]]) -> Iterator[int]:
    """The openings as places of `text`; that of `a hundred` is its article, which opens nothing on its own."""
    start = known = 0
    for number, offsets in enumerate(opened):
        if offsets:
            start += sum(map(len, pieces[known:number])) + number - known
            known = number
            for offset in offsets:
                place = start + offset
                article = _article_before(text, place) if text[place].isalpha() else None
                yield article.start() if article else place


def _article_before(text: str, place: int) -> re.Match[str] | None:
    return _ARTICLE.match(text, max(place - 3, 0)) or _ARTICLE.match(text, max(place - 2, 0))


def _read(text: str, match: re.Match[str]) -> Quantity | None:
    if match["figure"] is not None:
        return _figure(text, match)
    if match["words"] is not None:
        return _words(text, match)
    if match["time"] is not None:
        hour = int(match["h24"] or match["h12"])
        half = (match["ap1"] or match["ap2"] or "").lower()
        hour = hour % 12 + (12 if half == "p" else 0) if half else hour
        return _quantity(match, float(hour * 60 + int(match["min"] or 0)), None, "time")
    if match["version"] is not None:
        return _quantity(match, float(re.findall(r"\d+", match.group())[0]), None, "version")
    if match["product"] is not None:
        return _product(text, match)
    if match["ordinal"] is not None:
        return _quantity(match, float(re.findall(r"\d+", match.group())[0]), None, "ordinal")
    if match["ordword"] is not None:
        return _quantity(match, float(ORDINAL_WORDS[match.group().lower()]), None, "ordinal")
    return _date(match)


def _date(match: re.Match[str]) -> Quantity | None:
    if match["iso"]:
        year, month, day = int(match["iy"]), int(match["im"]), int(match["id"] or 0)
    elif match["numdate"]:
        first, second, year = int(match["n1"]), int(match["n2"]), int(match["n3"])
        day_first = match["sep"] == "." or first > 12
        day, month = (first, second) if day_first else (second, first)
    else:
        name = match["m1"] or match["m2"] or match["m3"]
        month, day = MONTHS[name.lower()], int(match["d1"] or match["d2"] or 0)
        year = int(match["y1"] or match["y2"] or match["y3"] or 0)
        if name == "may" and not year:  # "you may 5 times" is no date
            return None
    if month > 12 or day > 31:
        return None
    return _quantity(match, float(year * 10000 + month * 100 + day), None, "date")


def _product(text: str, match: re.Match[str]) -> Quantity | None:
    """`Python 3.10` is a version when a name stands before it and no unit behind it."""
    word = re.search(r"[A-Za-z+#.-]+\s$", text[max(0, match.start() - 30) : match.start()])
    name = word.group().strip() if word else ""
    named = (name[:1].isupper() and name.lower() not in _NO_PRODUCT) or name.lower() in (
        "version",
        "release",
        "versions",
    )
    if named and not _unit_at(text, match.end()) and not _MAGNITUDE.match(text, match.end()):
        return _quantity(match, float(match.group().split(".")[0]), None, "version")
    return _with_unit(text, match.start(), match.end(), _value(match.group()), None)


def _figure(text: str, match: re.Match[str]) -> Quantity | None:
    end = match.end()
    after = text[end : end + 3]
    bare = not _UNIT_SIGN.search(after)  # neither a unit nor a magnitude can begin in these characters
    if not bare and after[:1].isalpha() and not (_unit_at(text, end) or _MAGNITUDE.match(text, end)):
        return None  # 3x4abc, 1st-party identifiers
    before = text[max(0, match.start() - 2) : match.start()]
    if after[:1] == "_" or (len(before) == 2 and before[1] == "-" and before[0].isalpha()):
        return None  # AES-256, us-east-1
    value = _value(match["number"])
    currency = CURRENCIES[match["cur1"].strip().lower()] if match["cur1"] else None
    if bare:
        start, value = match.start(), -value if match["minus"] else value
        return Quantity(value, currency, "money" if currency else "number", start, end, text[start:end])
    return _with_unit(text, match.start(), end, -value if match["minus"] else value, currency)


def _words(text: str, match: re.Match[str]) -> Quantity | None:
    words = re.findall(r"[a-z]+", match.group().lower())
    end = match.start() + len(match.group().rstrip(" -\n\t"))
    if words[:1] == ["half"]:
        scale = _spelled(words[2:]) or 1.0
        if len(words) > 2 or _unit_at(text, end):
            return _with_unit(text, match.start(), end, 0.5 * scale, None)
        return None
    value = _spelled(words)
    if len(words) == 1 and words[0] in _LONE:
        unit = _unit_at(text, end)
        if words[0] != "one" or unit is None or unit[2] == "":
            return None
    return _with_unit(text, match.start(), end, value, None)


def _spelled(words: list[str]) -> float:
    total = current = 0.0
    for word in words:
        if word in SCALE_WORDS:
            scale = SCALE_WORDS[word]
            if scale == 100:
                current = max(current, 1.0) * 100
            else:
                total, current = total + max(current, 1.0) * scale, 0.0
        elif word == "dozen":
            current = max(current, 1.0) * 12
        elif word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
    return total + current


def _with_unit(text: str, start: int, end: int, value: float, currency: str | None) -> Quantity | None:
    unit: str | None = currency
    kind: Kind = "money" if currency else "number"
    magnitude = _MAGNITUDE.match(text, end)
    if magnitude and not (
        magnitude["short"] and _UNIT.match(text, end) and magnitude["short"] not in ("k", "K", "M", "B")
    ):
        value *= MAGNITUDES[(magnitude["short"] or magnitude["long"]).lower()]
        end = magnitude.end()
    found = None if currency else _unit_at(text, end)
    if found and _fits(found[0], found[2]):
        end = found[1]
        kind, unit = _kind_of(found[0])
    return Quantity(value, unit, kind, start, end, text[start:end]) if abs(value) < 1e300 else None


def _fits(unit: str, space: str) -> bool:
    """Whether letters behind a number are its unit: a lone letter set apart may be a word ("5 a day")."""
    return not (len(unit) == 1 and space and unit.isalpha() and unit not in "BshdmgWVlL")


def _unit_at(text: str, place: int) -> tuple[str, int, str] | None:
    """The unit that stands at `place` (spelling, where it ends, what separates it), or None."""
    match = _UNIT.match(text, place)
    if match is None:
        return None
    spelling, end = match["unit"], match.end("unit")
    if match["rest"] and f"{spelling} {match['rest']}".lower() in PERCENT:
        spelling, end = f"{spelling} {match['rest']}", match.end()
    low = spelling.lower()
    if low not in UNITS and spelling not in EXACT_UNITS and low not in PERCENT and low not in CURRENCIES:
        return None
    return spelling, end, match["space"]


def _kind_of(spelling: str) -> tuple[Kind, str]:
    low = spelling.lower()
    if low in PERCENT:
        return "percent", "%"
    if low in CURRENCIES:
        return "money", CURRENCIES[low]
    entry = unit_entry(spelling)
    if entry and entry[0] in ("bytes", "duration"):
        return ("bytes" if entry[0] == "bytes" else "duration"), spelling
    return "measure", spelling


def _value(written: str) -> float:
    """A number as written → its value. A comma before one or two digits is a decimal comma."""
    if written.isdecimal():
        return float(written)
    plain = _GROUPING.sub("", written)
    if _GERMAN.fullmatch(plain):
        return float(plain.replace(".", "").replace(",", "."))
    if _DOTTED_THOUSANDS.fullmatch(plain):
        return float(plain.replace(".", ""))
    if _THOUSANDS.fullmatch(plain):
        return float(plain.replace(",", ""))
    return float(plain.replace(",", "."))


def _quantity(match: re.Match[str], value: float, unit: str | None, kind: Kind) -> Quantity:
    return Quantity(value, unit, kind, match.start(), match.end(), match.group())


def _ranges(text: str, found: list[Quantity]) -> Iterator[Quantity]:
    """Neighbours joined by a dash, "to" (or "and" after "between") become one range."""
    index = 0
    while index < len(found):
        first = found[index]
        second = found[index + 1] if index + 1 < len(found) else None
        if second is not None and _is_range(text, first, second):
            unit = second.unit or first.unit
            low = first.value
            whole = text[first.start : second.end]
            yield replace(
                second, value=low, high=abs(second.value), unit=unit, kind="range", start=first.start, text=whole
            )
            index += 2
        else:
            yield first
            index += 1


def _is_range(text: str, first: Quantity, second: Quantity) -> bool:
    between = text[first.end : second.start]
    if len(between) > 6 or between.isspace():
        return False
    if second.kind in ("date", "version", "ordinal", "time") or first.kind in ("date", "version", "ordinal", "time"):
        return False
    if first.unit and second.unit and dimension(first) != dimension(second):
        return False
    if first.unit and second.unit and first.unit.lower() != second.unit.lower():
        return False
    dash_in_second = between.strip() == "" and second.value < 0 and second.text[:1] in "-−" and not between
    joined = _RANGE_JOIN.fullmatch(between)
    if not joined and not dash_in_second:
        return False
    word = between.strip().lower()
    before = text[max(0, first.start - 9) : first.start].lower()
    if word == "and":
        return before.rstrip().endswith("between")
    if word == "or":
        return False
    return abs(second.value) > first.value or word == "to"
