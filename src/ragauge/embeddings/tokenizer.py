"""BERT's uncased WordPiece tokeniser: text to token ids, as the weights were trained with."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

#: Longer words are one unknown token, as in the reference implementation.
MAX_WORD_CHARACTERS = 100

_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class _Characters(dict[int, str]):
    """What becomes of each character, worked out when it is first met: a table for `str.translate`."""

    def __missing__(self, code: int) -> str:
        replacement = _replacement(chr(code))
        self[code] = replacement
        return replacement


def _replacement(character: str) -> str:
    category = unicodedata.category(character)
    if character in "\t\n\r" or (category[0] == "Z" and character.isspace()):
        return " "
    if category[0] == "C" or category == "Mn" or character == "\ufffd":
        return ""
    code = ord(character)
    if category[0] == "P" or (code < 128 and not character.isalnum()):
        return f" {character} "
    if any(low <= code <= high for low, high in _CJK):
        return f" {character} "
    return character.lower()


class WordPiece:
    """Text → ids of the vocabulary: lower case, accents stripped, punctuation apart, longest known pieces first.

    The words `[CLS]`, `[SEP]` … inside a text are ordinary text, never control tokens (the reference library lets a
    text inject them).
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: index for index, piece in enumerate(vocabulary)}
        self._characters = _Characters()
        self.cls, self.sep, self.unknown = (self._ids[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self.pieces = lru_cache(maxsize=1 << 17)(self._split_word)

    def words(self, text: str) -> list[str]:
        """The words and punctuation marks of `text`, normalised, in order."""
        return unicodedata.normalize("NFD", text).translate(self._characters).split()

    def encode(self, text: str, max_tokens: int) -> tuple[list[int], bool]:
        """Ids of `text` between `[CLS]` and `[SEP]`, at most `max_tokens` of them, and whether the end was cut."""
        ids = [self.cls]
        for word in self.words(text):
            ids += self.pieces(word)
            if len(ids) >= max_tokens:
                break
        cut = len(ids) > max_tokens - 1
        return [*ids[: max_tokens - 1], self.sep], cut

    def _split_word(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD_CHARACTERS:
            return (self.unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                found = self._ids.get(("##" if start else "") + word[start:end])
                if found is not None:
                    pieces.append(found)
                    start = end
                    break
            else:
                return (self.unknown,)
        return tuple(pieces)
