"""Words as they are compared: casefolded, identifiers kept whole, stop words and stems by language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from ragauge.errors import UnknownName
from ragauge.text.normalise import normalise
from ragauge.text.remembered import Remembered
from ragauge.text.stopwords import STOPWORDS

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f"
)
_LETTER = rf"[\w{_MARKS}]"
#: Scripts written without spaces: one word per character.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003134f"
)
_TOKEN = re.compile(
    rf"[{_UNSPACED}]"
    r"|(?<![\w-])--?[a-z][\w]*(?:-[\w]+)*"  # flags: -v, --max-size
    r"|[a-z]\+\+|(?<![\w])[cfj]\#|(?<![\w])\.(?:net|env)(?![\w])"
    r"|(?<![\w-])[a-z][\w.]{0,80}(?:-\w+){0,4}?-(?=\w*\d)\w+(?![\w-])"  # us-east-1, gpt-4
    r"|\d+(?:,\d{3})+(?:\.\d+)?(?!\w)"  # 1,000
    rf"|(?:(?![{_UNSPACED}]){_LETTER})+(?:[.’'](?:(?![{_UNSPACED}]){_LETTER})+)*%?"
)
#: The same for ASCII text, ordinary words first: several times as fast.
_ASCII_TOKEN = re.compile(
    r"[a-z]\w*+(?![-.'+#])%?|\d++(?![\w.,'+#-])%?"
    r"|(?<![\w-])--?[a-z][\w]*(?:-[\w]+)*"
    r"|[a-z]\+\+|(?<![\w])[cfj]\#|(?<![\w])\.(?:net|env)(?![\w])"
    r"|(?<![\w-])[a-z][\w.]{0,80}(?:-\w+){0,4}?-(?=\w*\d)\w+(?![\w-])"
    r"|\d+(?:,\d{3})+(?:\.\d+)?(?!\w)"
    r"|\w+(?:[.']\w+)*%?"
)
_ELISION = re.compile(r"(?:l|d|j|qu|n|s|t|m|c|un|dell|nell|all|sull)'(?=\w{3})")


def words(text: str) -> list[str]:
    """The words of `text`, casefolded, in order.

    Kept whole: identifiers (`foo_bar`, `os.path`), flags (`--max-size`), versions (`8.1.2`), numbers with separators
    (as plain digits), percentages, names with a number (`us-east-1`). Hyphenated words are two words; a possessive
    `'s` is dropped. Chinese, Japanese, Thai … give one word per character.

    >>> words("Set --max-size to 1,024 in foo_bar's read-only v8.1.2")
    ['set', '--max-size', 'to', '1024', 'in', 'foo_bar', 'read', 'only', 'v8.1.2']
    """
    return list(chain.from_iterable(map(_WORDS.__getitem__, text.split())))


def _words_in(piece: str) -> tuple[str, ...]:
    """The words of a piece of text without spaces: no word reaches over one, nor does what is looked at around it."""
    core = piece.lstrip('("').rstrip('.,;:!?)"')
    if core.isascii() and core.isalnum():  # an ordinary word or number, as most are
        return (core.lower(),)
    tokens = [
        token
        for part in normalise(piece).split()  # a character may stand for several words
        for token in (_ASCII_TOKEN if part.isascii() else _TOKEN).findall(part)
    ]
    plain = [token if len(token) <= 2 or token.isalnum() else _plain(token) for token in tokens]
    return tuple([word for word in plain if word])


_WORDS = Remembered(_words_in, most=32768)


def _plain(word: str) -> str:
    """A token without possessives, elided articles, underscores around it and thousands separators."""
    word = word.replace("’", "'").strip("_") if not word.startswith("-") else word
    if "'" in word:
        word = word.removesuffix("'s")
        elided = _ELISION.match(word)
        return word[elided.end() :] if elided else word
    return word.replace(",", "")


def content_words(text: str, language: str = "en") -> list[str]:
    """The words of `text` without stop words, in order, duplicates kept.

    >>> content_words("What is the maximum size of a file?")
    ['maximum', 'size', 'file']
    """
    stop = stopwords(language)
    return [word for word in words(text) if word not in stop]


def stopwords(language: str = "en") -> frozenset[str]:
    """The stop words of a language, by its ISO 639-1 code (`de-AT` counts as `de`); an unknown one is an error.

    >>> "the" in stopwords() and "das" in stopwords("de")
    True
    """
    code = language.casefold().replace("_", "-").split("-")[0]
    if code not in STOPWORDS:
        raise UnknownName("stop word language", language, STOPWORDS)
    return STOPWORDS[code]


def stems(words: Sequence[str]) -> list[str]:
    """The stems of the English content words among `words`, in order.

    >>> stems(["the", "pumps", "are", "running"])
    ['pump', 'run']
    """
    return list(filter(None, map(_CONTENT_STEMS.__getitem__, words)))


def _content_stem(word: str) -> str:
    return "" if word in STOPWORDS["en"] else _porter(word)


_CONTENT_STEMS = Remembered(_content_stem, most=32768)


def stem(word: str) -> str:
    """The stem of an English word (Porter, 1980, An algorithm for suffix stripping); other words come back as given.

    Words with a digit, an underscore, a dot or a letter outside a–z, and those of up to two letters, stay whole.

    >>> [stem(w) for w in ("connections", "configured", "running", "8.1.2", "foo_bar")]
    ['connect', 'configur', 'run', '8.1.2', 'foo_bar']
    """
    return _STEMS[word]


def _porter(word: str) -> str:
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    word = _step_1(word)
    word = _replace(word, _STEP_2, 0)
    word = _replace(word, _STEP_3, 0)
    word = _step_4(word)
    return _step_5(word)


_STEMS = Remembered(_porter, most=32768)
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion",
    "al", "er", "ic", "ou",
)  # fmt: skip

#: Table → its suffixes: most words have none of them, which one look tells.
_ENDINGS: dict[tuple[tuple[str, str], ...], tuple[str, ...]] = {
    table: tuple(suffix for suffix, _ in table) for table in (_STEP_2, _STEP_3)
}


def _is_consonant(word: str, index: int) -> bool:
    letter = word[index]
    if letter in "aeiou":
        return False
    return not (letter == "y" and index > 0 and _is_consonant(word, index - 1))


def _measure(stem_: str) -> int:
    """How many times a vowel is followed by a consonant."""
    count, was_vowel, consonant = 0, False, True
    for index, letter in enumerate(stem_):
        consonant = letter not in "aeiou" and not (letter == "y" and index > 0 and consonant)
        count += was_vowel and consonant
        was_vowel = not consonant
    return count


def _has_vowel(stem_: str) -> bool:
    return any(not _is_consonant(stem_, index) for index in range(len(stem_)))


def _ends_cvc(word: str) -> bool:
    n = len(word)
    return (
        n >= 3
        and word[-1] not in "wxy"
        and _is_consonant(word, n - 1)
        and not _is_consonant(word, n - 2)
        and _is_consonant(word, n - 3)
    )


def _step_1(word: str) -> str:
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        for suffix in ("ed", "ing"):
            if word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
                word = _restore(word[: -len(suffix)])
                break
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    return word


def _restore(word: str) -> str:
    """What is left without -ed or -ing, with the letter that the ending took."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and word[-1] not in "lszaeiou":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_cvc(word) else word


def _replace(word: str, table: tuple[tuple[str, str], ...], least: int) -> str:
    if not word.endswith(_ENDINGS[table]):
        return word
    for suffix, new in table:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + new if _measure(rest) > least else word
    return word


def _step_4(word: str) -> str:
    if not word.endswith(_STEP_4):
        return word
    for suffix in _STEP_4:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            fits = _measure(rest) > 1 and (suffix != "ion" or rest.endswith(("s", "t")))
            return rest if fits else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_cvc(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
