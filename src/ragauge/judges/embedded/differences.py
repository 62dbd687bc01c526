"""Where a claim and the evidence that it aligns to say different things."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragauge.judges.embedded.evidence import Evidence, Sentence, Statement, statement
from ragauge.judges.embedded.lexicon import EXCLUSIVE, SYNONYMS
from ragauge.text.blocks import code_spans
from ragauge.text.numbers import Quantity, agree, dimension
from ragauge.text.tokens import stem, stopwords, words

#: Words on either side of a quantity that say what it is the quantity of.
_REACH = 40
_STOP = stopwords("en")
_LABELLED = re.compile(
    r"(?:^|[;,.]\s|\n)\s{0,4}[*_`\"]{0,3}([^:;\n]{1,60}?)[*_`\"]{0,3}\s{0,2}:\s{1,4}([^;\n]{1,200}?)(?=[;\n]|$)"
)
_IDENTIFIER = re.compile(
    r"(?<![\w-])--?[a-zA-Z][\w-]+"  # flags
    r"|\b[A-Za-z]\w*(?:_\w+)+\b"  # snake_case
    r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b(?:[A-Z][a-z0-9]+){2,}[A-Z]?\b"  # camelCase
    r"|(?<![\w.@/-])[\w-]+(?:\.[A-Za-z_][\w-]*)+(?:\(\))?(?![\w@])"  # dotted names, file names
    r"|(?<![\w.:/])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]+)*"  # paths
    r"|\b[A-Za-z]{1,12}-?\d{2,}[A-Za-z]?\b"  # codes: TP-6008, E1234
    r"|\b[A-Za-z_]\w+\(\)"  # calls
)
_VERSION_BEFORE = re.compile(
    r"\b(?:versions?|releases?|v|codes?|status|errors?|ports?|exit)\s*:?\s*(?:code\s*)?`?$", re.IGNORECASE
)
_ORDINARY = re.compile(r"(?:e\.g|i\.e|etc|vs|[ap]\.m|u\.s|u\.k|ph\.d)\.?$", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"<[^<>\n]{1,40}>|\$\{[^}\n]{1,40}\}|\.{3}|…")


@dataclass(frozen=True)
class Differences:
    """Pairs are (what the claim says, what the evidence says)."""

    numbers: tuple[tuple[str, str], ...] = ()
    cells: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()
    negated: tuple[str, ...] = ()
    opposites: tuple[tuple[str, str], ...] = ()
    quantifier: bool = False
    roles: tuple[str, str] | None = None
    added: tuple[str, ...] = ()


def differences(
    claim: Statement, near: Sequence[Sentence], places: Mapping[str, frozenset[int]], units: Sequence[Sentence]
) -> Differences:
    """What claim and window say differently; the first unit of the window is the one that the claim aligns to."""
    said = frozenset[str]().union(*(sentence.held for sentence in near))
    named = {one for one in places if not one.startswith("#")}
    aligned = [sentence for sentence in near if named and 2 * len(named & sentence.held) >= len(named)]
    return Differences(
        _wrong_numbers(claim, aligned or near[:1], places),
        _wrong_cells(claim, near) or _wrong_rows(claim, near, places, units),
        _wrong_names(claim, near, said),
        _negations(claim, aligned),
        _opposites(claim, near),
        claim.universal and bool(aligned) and not any(s.universal for s in near) and all(s.partial for s in aligned),
        _swapped_roles(claim, aligned),
        _added(claim, said),
    )


def same(mine: Quantity, other: Quantity) -> bool:
    """Whether evidence states the claim's quantity; rounded to its two leading digits it still does for measures."""
    return agree(mine, other) or (mine.kind == other.kind == "measure" and agree(mine, other, relative=0.02))


def _wrong_numbers(
    claim: Statement, aligned: Sequence[Sentence], places: Mapping[str, frozenset[int]]
) -> tuple[tuple[str, str], ...]:
    """(claim's, evidence's) quantity where no text has the claim's but the aligned unit another in its role.

    The same role: the only one of its unit there, or the one with the most words of the claim's around it.
    """
    conflicts = []
    for quantity in claim.quantities:
        if places[f"#{quantity.text}"]:
            continue
        mine = _around(claim.text, quantity)
        rivals = []
        for sentence in aligned:
            close = [
                other
                for other in sentence.quantities
                if _comparable(quantity, other) and not any(same(one, other) for one in claim.quantities)
            ]
            for other in close:
                shared = len(mine & _around(sentence.text, other))
                if shared or (len(close) == 1 and (dimension(other) or other.kind not in ("number", "range"))):
                    rivals.append((shared, other.text))
        if rivals:
            conflicts.append((quantity.text, max(rivals, key=lambda rival: rival[0])[1]))
    return tuple(conflicts)


def _around(text: str, quantity: Quantity) -> frozenset[str]:
    """Content stems of the three words before and behind a quantity."""
    before = words(text[max(0, quantity.start - _REACH) : quantity.start])[-4:]
    after = words(text[quantity.end : quantity.end + _REACH])[:3]
    return frozenset(stem(word) for word in (*before, *after) if word not in _STOP and not word[0].isdigit())


def _comparable(mine: Quantity, other: Quantity) -> bool:
    if {"version", "date", "time", "money"} & {mine.kind, other.kind}:
        return mine.kind == other.kind
    return dimension(mine) == dimension(other)


def _wrong_cells(claim: Statement, near: Sequence[Sentence]) -> tuple[tuple[str, str], ...]:
    """("column: claim's value", evidence's value) where a row has another value under a column that the claim names.

    The row must be the one meant: another of the claim's values stands in it under its column, or the wrong value does
    under another column.
    """
    if ":" not in claim.text:
        return ()
    said = [(label, value) for label, value in _LABELLED.findall(claim.text)]
    for row in near:
        values = {_plain(name): _plain(value) for name, value in row.cells if name and _plain(value)}
        pairs = [(label, value, values[_plain(label)]) for label, value in said if _plain(label) in values]
        wrong = [pair for pair in pairs if not _within(_plain(pair[1]), pair[2])]
        meant = len(wrong) < len(pairs) or any(_plain(value) in values.values() for _, value, _ in wrong)
        if wrong and meant:
            return tuple((f"{label}: {value}", held) for label, value, held in wrong)
    return ()


def _within(one: str, other: str) -> bool:
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "


def _wrong_rows(
    claim: Statement, near: Sequence[Sentence], places: Mapping[str, frozenset[int]], units: Sequence[Sentence]
) -> tuple[tuple[str, str], ...]:
    """(claim's, evidence's) quantity where the claim mixes the rows of a table, or takes the value of another column.

    Rows: the row holds one of the claim's quantities, the other stands only in other rows, and this row has another
    of its kind. Columns: the value stands under a column that the claim does not name, and one that it names has
    another value of the kind.
    """
    for row in near:
        if not row.cells or not claim.quantities:
            continue
        number = next(i for i, unit in enumerate(units) if unit is row)
        cells = [(statement(name).stem_set, statement(value).quantities) for name, value in row.cells]
        inside = [q for q in claim.quantities if number in places[f"#{q.text}"]]
        for quantity in claim.quantities:
            where = places[f"#{quantity.text}"]
            if quantity in inside:
                holds = [name for name, held in cells if any(same(quantity, other) for other in held)]
                named = [held for name, held in cells if name and name <= claim.stem_set]
                if not holds or any(not name or name & claim.stem_set for name in holds) or holds[0] is cells[0][0]:
                    continue
                rivals = [other for held in named for other in held if _comparable(quantity, other)]
            elif inside and where and all(units[place].cells for place in where):
                rivals = [other for other in row.quantities if _comparable(quantity, other) and dimension(other)]
            else:
                continue
            if rivals and not any(same(quantity, other) for other in rivals):
                return ((quantity.text, rivals[0].text),)
    return ()


def _plain(text: str) -> str:
    return " ".join(words(text))


def _negations(claim: Statement, aligned: Sequence[Sentence]) -> tuple[str, ...]:
    """Stems that one side negates and the other states, in a unit that shares half of the claim's words.

    When both negate something that they share, no difference: where a negation's reach ends is a matter of wording.
    """
    found: set[str] = set()
    for sentence in aligned:
        if claim.negated & sentence.negated or (
            (claim.reached or sentence.reached) and (claim.elided or sentence.elided)
        ):
            continue
        one_sided = (claim.negated - sentence.reached) | (sentence.negated - claim.reached)
        found.update(one_sided & claim.stem_set & sentence.stem_set)
    return tuple(sorted(found))


def _opposites(claim: Statement, near: Sequence[Sentence]) -> tuple[tuple[str, str], ...]:
    """(claim's word, evidence's word) where the evidence has a word that excludes the claim's."""
    spoken = frozenset[str]().union(*(sentence.all_stems | sentence.held for sentence in near))
    found = []
    for one in sorted(claim.all_stems - spoken):
        rivals = sorted((EXCLUSIVE.get(one, frozenset()) & spoken) - claim.all_stems)
        if rivals:
            found.append((one, rivals[0]))
    return tuple(found)


def _wrong_names(claim: Statement, near: Sequence[Sentence], said: frozenset[str]) -> tuple[str, ...]:
    """Names of the claim that the window lacks while it has other names in their place."""
    lacking = sorted(one for one in claim.names if one not in said)
    theirs = frozenset[str]().union(*(sentence.names for sentence in near)) - claim.stem_set
    return tuple(lacking) if lacking and theirs else ()


def _swapped_roles(claim: Statement, aligned: Sequence[Sentence]) -> tuple[str, str] | None:
    """(a, b) where the claim says "a … than b" and a unit of the same words "b … than a"; also to, from, into …

    Only the first such word of each side is looked at, and only where nothing is in the passive on one side alone.
    """
    for unit in aligned:
        if not claim.stem_set <= unit.held or ("by" in claim.tokens) != ("by" in unit.tokens):
            continue
        for relation in _RELATIONS:
            mine, theirs = _sides(claim.tokens, relation), _sides(unit.tokens, relation)
            if not mine or not theirs:
                continue
            (before, after), (their_before, their_after) = mine, theirs
            if after != their_after and after in their_before and their_after in before and after not in before:
                return (their_after, after)
    return None


_RELATIONS = ("than", "to", "from", "into", "over", "before", "after")


def _sides(tokens: Sequence[str], relation: str) -> tuple[frozenset[str], str] | None:
    """(content stems before a relation word, the first one behind it); None unless it stands there exactly once."""
    if tokens.count(relation) != 1:
        return None
    place = tokens.index(relation)
    before = frozenset(stem(word) for word in tokens[:place] if word not in _STOP)
    after = next((stem(word) for word in tokens[place + 1 :] if word not in _STOP), None)
    return (before, after) if before and after else None


def _added(claim: Statement, said: frozenset[str]) -> tuple[str, ...]:
    """Names that the claim lists beside others which the window has, while the window lacks them."""
    found = []
    for items in _LISTED.findall(claim.text):
        names = [words(item) for item in _LIST_JOINT.split(items)]
        known = [all(stem(word) in said for word in one) for one in names if one]
        if any(known):
            found += [" ".join(one) for one, held in zip([n for n in names if n], known, strict=True) if not held]
    return tuple(found)


_LISTED = re.compile(r"\b[A-Z][\w.+#-]{1,30}(?:(?:, | and | or |, and |, or )[A-Z][\w.+#-]{1,30}){1,20}")
_LIST_JOINT = re.compile(r", (?:and |or )?| and | or ")


def substituted(claim: Statement, best: Sentence) -> tuple[tuple[str, str], ...]:
    """(claim's, evidence's) stem where one word stands for another between the same two neighbours."""
    frames = {(a, c): b for a, b, c in zip(best.stems, best.stems[1:], best.stems[2:], strict=False)}
    found = []
    for a, b, c in zip(claim.stems, claim.stems[1:], claim.stems[2:], strict=False):
        other = frames.get((a, c))
        if other is None or other == b or b in best.stem_set or other in claim.stem_set:
            continue
        if other not in SYNONYMS.get(b, ()) and b[:5] != other[:5]:
            found.append((b, other))
    return tuple(found)


def unknown_identifiers(claim: Statement, evidence: Evidence) -> tuple[str, ...]:
    """Names of files, flags, functions, options, error codes and versions that the claim holds and no chunk does.

    Looked at: what stands in backticks, word by word, and what has the shape of an identifier. An identifier is known
    when it stands in a text, also as a part of a longer path, or when all of its dotted parts do.
    """
    text = claim.text
    found: dict[str, None] = {}
    code = code_spans(text, 0, len(text))
    for start, end in code:
        inside = _PLACEHOLDER.sub(" ", text[start:end].strip("`"))
        for one in inside.split():
            bare = one.strip("\"'`,;:()[]{}=")
            if len(bare) > 1 and not _knows(bare, evidence):
                found[bare] = None
    for match in _IDENTIFIER.finditer(text):
        one = match.group().rstrip(".-")
        if len(one) > 2 and not _ORDINARY.search(one) and not _knows(one, evidence):
            found[one] = None
    for quantity in claim.quantities:
        named = quantity.kind == "version" or (
            quantity.unit is None and _VERSION_BEFORE.search(text[max(0, quantity.start - 24) : quantity.start])
        )
        if (
            named
            and not any(agree(quantity, other) for other in evidence.quantities)
            and not _knows(quantity.text, evidence)
        ):
            found[quantity.text] = None
    return tuple(found)


def _knows(one: str, evidence: Evidence) -> bool:
    wanted = one.casefold().removesuffix("()")
    if _stands(wanted, evidence.raw):
        return True
    own = [word for word in words(wanted) if word not in _STOP]
    if own and all(word in evidence.tokens or stem(word) in evidence.index for word in own):
        return True
    parts = re.split(r"[./=:,@]+|\\\\", wanted)
    if len(parts) > 1 and all(not part or _stands(part, evidence.raw) for part in parts):
        return True
    return _is_number(wanted) and any(
        agree(q, other) for q in Statement(one).quantities for other in evidence.quantities
    )


def _is_number(wanted: str) -> bool:
    return wanted[:1].isdigit()


def _stands(wanted: str, text: str) -> bool:
    """Whether `wanted` stands in `text` with no letter or digit directly before or behind it."""
    place = text.find(wanted)
    while place >= 0:
        before, after = text[place - 1 : place] if place else "", text[place + len(wanted) : place + len(wanted) + 1]
        joined_before = before.isalnum() or before == "_"
        joined_after = after.isalnum() or after == "_"
        if not (joined_before and wanted[0].isalnum()) and not (joined_after and wanted[-1].isalnum()):
            return True
        place = text.find(wanted, place + 1)
    return False
