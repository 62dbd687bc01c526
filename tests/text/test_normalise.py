from __future__ import annotations

import pytest

from ragauge.text.normalise import clean, display, normalise


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("  A\u200b b\n\tC ", "a b c"),
        ("ﬁle ２", "file 2"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("\ufeffx\u202e", "x"),
        ("", ""),
        ("a\x00b", "ab"),
    ],
)
def test_normalise_makes_spellings_equal(text: str, want: str) -> None:
    assert normalise(text) == want


def test_normalise_is_idempotent_on_every_character() -> None:
    for code in range(0x3000):
        once = normalise(f"a{chr(code)}b")
        assert normalise(once) == once


def test_clean_keeps_offsets_and_encodes() -> None:
    text = clean("a\x00\ud800b\udfff\U0001f389")
    assert text == "a\ufffd\ufffdb\ufffd\U0001f389"
    text.encode()


def test_display_lets_no_control_character_or_override_through() -> None:
    shown = display("a\x1b[31m\r\x07\x9b\u202e\u2066\ud800\n\t")
    assert shown == "a\\x1b[31m\\x0d\\x07\\x9b\\u202e\\u2066\\ud800\n\t"
