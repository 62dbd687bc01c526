# ruff: noqa: E501 (tables)
from __future__ import annotations

import pytest

from ragauge.errors import UnknownName
from ragauge.text.tokens import content_words, stem, stopwords, words


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Set --max-size and -v", ["set", "--max-size", "and", "-v"]),
        ("foo_bar os.path v8.1.2 8.1", ["foo_bar", "os.path", "v8.1.2", "8.1"]),
        ("read-only, us-east-1; gpt-4", ["read", "only", "us-east-1", "gpt-4"]),
        ("1,024 files at 50%", ["1024", "files", "at", "50%"]),
        ("the server's and servers’ don’t", ["the", "server", "and", "servers", "don't"]),
        ("C++ C# .NET", ["c++", "c#", ".net"]),
        ("最大値max", ["最", "大", "値", "max"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("서버를 시작", ["서버를", "시작"]),
        ("l'eau d'accord", ["eau", "accord"]),
        ("\x00 \ud800 …", []),
        ("", []),
    ],
)
def test_words(text: str, want: list[str]) -> None:
    assert words(text) == want


def test_words_do_not_depend_on_what_stands_beside_them() -> None:
    pieces = [
        "Größe,",
        "it's",
        "us-east-1.",
        "1,024",
        "(foo_bar)",
        ".net",
        "c++",
        "ﬁne",
        "\u00a8x",
        "--flag",
        "数据",
        "x.y.",
        "-5%",
        "US$5",
    ]
    apart = [word for piece in pieces for word in words(piece)]
    assert words(" ".join(pieces)) == words("\n\t".join(pieces)) == apart


def test_content_words_leave_out_stop_words() -> None:
    assert content_words("What is the maximum size of a file?") == ["maximum", "size", "file"]
    assert content_words("Was ist die Größe der Datei?", "de") == ["grösse", "datei"]


def test_an_unknown_language_is_an_error() -> None:
    with pytest.raises(UnknownName):
        stopwords("xx")
    assert stopwords("de-AT") == stopwords("de")


# From Porter (1980), the examples of each step.
@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"),
        ("motoring", "motor"), ("hopping", "hop"), ("falling", "fall"), ("filing", "file"), ("happy", "happi"),
        ("relational", "relat"), ("conditional", "condit"), ("digitizer", "digit"), ("operator", "oper"), ("triplicate", "triplic"),
        ("hopeful", "hope"), ("revival", "reviv"), ("adjustable", "adjust"), ("replacement", "replac"), ("adoption", "adopt"),
        ("effective", "effect"), ("probate", "probat"), ("controlling", "control"), ("v8.1", "v8.1"), ("größen", "größen"),
    ],
)  # fmt: skip
def test_stem_is_porters(word: str, want: str) -> None:
    assert stem(word) == want


@pytest.mark.parametrize("forms", ["key keys", "use uses used using", "day days"])
def test_forms_of_a_word_of_three_letters_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1
