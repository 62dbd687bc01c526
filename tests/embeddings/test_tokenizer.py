from __future__ import annotations

import time

import pytest

from ragauge.embeddings.minilm import load_minilm
from ragauge.embeddings.tokenizer import WordPiece

TINY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "run", "##ning", "a", "the", ",", "[", "]", "sep", "cafe", "東", "京", "σ"]


@pytest.fixture
def tiny() -> WordPiece:
    return WordPiece(TINY)


def pieces(tokenizer: WordPiece, text: str) -> list[str]:
    return [TINY[index] for index in tokenizer.encode(text, 100)[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running, the", ["run", "##ning", ",", "the"]),
        ("CAFÉ", ["cafe"]),
        ("東京", ["東", "京"]),
        ("Σ", ["σ"]),
        ("runzzz", ["[UNK]"]),
        ("a\u200ba\x00\ufffd", ["[UNK]"]),
        ("", []),
        ("   \n\t ", []),
    ],
)
def test_splits_as_the_reference_tokeniser_does(tiny: WordPiece, text: str, expected: list[str]) -> None:
    assert pieces(tiny, text) == ["[CLS]", *expected, "[SEP]"]


def test_control_tokens_in_a_text_are_ordinary_text(tiny: WordPiece) -> None:
    assert pieces(tiny, "[SEP]") == ["[CLS]", "[", "sep", "]", "[SEP]"]


def test_says_whether_the_end_was_cut(tiny: WordPiece) -> None:
    assert tiny.encode("a " * 8, 10) == ([2, *[6] * 8, 3], False)
    assert tiny.encode("a " * 9, 10) == ([2, *[6] * 8, 3], True)


def test_a_word_of_over_100_characters_is_unknown(tiny: WordPiece) -> None:
    assert pieces(tiny, "a" * 101) == ["[CLS]", "[UNK]", "[SEP]"]


@pytest.mark.parametrize("text", ["a" * 1_000_000, "! " * 500_000, "\ud800" * 1_000_000, "é" * 1_000_000])
def test_a_megabyte_of_anything_is_read_in_a_moment(tiny: WordPiece, text: str) -> None:
    started = time.perf_counter()
    assert len(tiny.encode(text, 256)[0]) <= 256
    assert time.perf_counter() - started < 20


def test_known_ids_of_the_packaged_vocabulary() -> None:
    # ids from the tokenizers library (0.23.3) with bert-base-uncased's vocabulary
    expected = [101, 2054, 2003, 1996, 4555, 5371, 2946, 1029, 1011, 1011, 4098, 1011, 2946, 2423, 14905, 102]
    assert load_minilm().tokenizer.encode("What is the maximum file size? --max-size 25mb", 256)[0] == expected
