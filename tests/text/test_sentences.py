# ruff: noqa: E501 (tables)
"""Sentence splitting: tricky text of technical documentation and chat answers."""

from __future__ import annotations

import random
import time

import pytest

from ragauge.text.sentences import split_sentences

# Each case is a list of sentences; the text is these joined by one space.
RUNNING = [
    ["Set it to 3.5 GB.", "It restarts."],
    ["Upgrade to v8.1.2.", "Then restart."],
    ["See https://example.com/a.b?c=d&e=f.", "Then go."],
    ["Visit www.example.com.", "It is free."],
    ["It runs at 5 p.m. UTC every day.", "It stops later."],
    ["We meet at 5 p.m.", "The door is open."],
    ["Use e.g. a cache, i.e. memory.", "Fine."],
    ["Dr. Smith met J. R. R. Tolkien.", "They talked."],
    ["The U.S. Government agreed.", "It passed."],
    ["She lives in the U.S.", "He does not."],
    ["Run `foo. Bar` now.", "It works."],
    ["Call `a.b()`.", "It returns ``x ` y. Z``."],
    ["Yahoo! was sold.", "It is gone."],
    ['"Stop!" he said.', "Then he left."],
    ["Wait... what?", "Yes."],
    ["It failed…", "Then it worked."],
    ["Is it on?", "No.", "Why not?"],
    ["See Fig. 3 and No. 5 in Sec. 2.", "Good."],
    ["It costs $5.00.", "Taxes are extra."],
    ["The answer is 3.", "It was 4."],
    ["Do this. 1. Open the file."[:8], "1. Open the file.", "2. Close it."],
    ["Steps: 1. Open the file.", "2. Close it."],
    ["Acme Inc. makes pumps.", "Acme Inc.", "Another one."],
    ["It was fixed on Jan. 12 in the evening.", "Good."],
    ["It is fast (see Sec. 2).", "It is small."],
    ["(It is fast.)", "It is small."],
    ["He said “go.”", "She went."],
    ["Edit config.yaml and app.py.", "Save."],
    ["kubectl applies it.", "kubectl then waits."],
    ["Use Node.js or ASP.NET.", "Both work."],
    ["A Ph.D. student wrote it.", "It was good."],
    ["**Note.** Restart it."[:9], "Restart it."],
    ["Choose plan B.", "It is cheaper."],
    ["Requires approx. 5 MB, min. 2 cores, max. 4.", "Done."],
    ["Done! 🎉", "Next step."],
    ["今日は晴れ。"],
    ["Das gilt z.B. für Server, d.h. für alle.", "Ende."],
    ["Es kostet ca. 5 Euro.", "Das ist gut."],
    ["Voir p. ex. la page.", "C'est tout."],
    ["¿Qué es?", "¡Sí!", "Vale."],
    ["Это работает, т.е. быстро.", "Хорошо."],
    ["مرحبا بك.", "كيف حالك؟", "أنا بخير."],
    ["यह काम करता है।", "ठीक है।"],
    ["Port 8080 is used.", "Port 80 is not."],
    ["It uses 50%.", "That is a lot."],
    ["The file is at /etc/app.conf.", "Edit it."],
    ["Version 2.", "The next one is 3."],
    ["He works at Example Ltd.", "It is small."],
    ["The limit is 1,000.50 per day.", "It resets."],
    ["It is [documented](https://a.b/c.d).", "Read it."],
    ["I tried vs. the old one.", "It won."],
    ["Use --max-size=5. ", "Then run."],
    ["The model etc. are stored.", "They stay."],
    ["It returns 404 Not Found.", "Retry later."],
    ["Contact a@b.com.", "They reply."],
    ["See RFC 2119.", "It defines MUST."],
]


@pytest.mark.parametrize("sentences", RUNNING, ids=lambda s: s[0][:30])
def test_running_text_is_split_where_a_reader_would(sentences: list[str]) -> None:
    sentences = [sentence.strip() for sentence in sentences]
    assert [span.text for span in split_sentences(" ".join(sentences))] == sentences


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("It is on. [1] It is off. [2]", ["It is on. [1]", "It is off. [2]"]),
        ("It is on.[1][2] It is off [3].", ["It is on.[1][2]", "It is off [3]."]),
        ("It is on. [1, 2] [3-5] Next.", ["It is on. [1, 2] [3-5]", "Next."]),
        ("It is on.¹ It is off.¹² End.", ["It is on.¹", "It is off.¹²", "End."]),
        ("It is on.[^1] It is off.", ["It is on.[^1]", "It is off."]),
        ("It is on. [doc:a-1] It is off.", ["It is on. [doc:a-1]", "It is off."]),
        ("It is on.(1) It is off.", ["It is on.(1)", "It is off."]),
        ("It is on. (1)", ["It is on. (1)"]),
        ("It is on.\n[1]", ["It is on.\n[1]"]),
        ("It is on.\n\n[1] [2]", ["It is on.\n\n[1] [2]"]),
        ("- It is on. [1]\n- It is off. [2]", ["It is on. [1]", "It is off. [2]"]),
        ("It is on [1]. [1] says that it is off.", ["It is on [1].", "[1] says that it is off."]),
        ("これはテストです [1]。次の文。[2]", ["これはテストです [1]。", "次の文。[2]"]),
        ("[1]", []),
        ("[1] [2]\n\n[^3]", []),
    ],
)
def test_a_trailing_marker_belongs_to_the_sentence_before_it(text: str, want: list[str]) -> None:
    assert [span.text for span in split_sentences(text)] == want


def test_markdown_blocks_are_kept_apart_and_lose_their_markers() -> None:
    text = (
        "# Title\nThe first line goes\non here. Second.\n\n> quoted text.\n\n- item one\n* item two. More of it.\n"
        "1. step one\n2) step two\n\nSetext\n======\n\n| a | b |\n|---|:-:|\n| 1. x | 2 |\n\n---\n\n"
        "```py\nx = 1. Y\n```\nEnd."
    )
    got = [(span.kind, span.text) for span in split_sentences(text)]
    assert got == [
        ("heading", "Title"), ("prose", "The first line goes\non here."), ("prose", "Second."), ("prose", "quoted text."),
        ("item", "item one"), ("item", "item two."), ("item", "More of it."), ("item", "step one"), ("item", "step two"),
        ("heading", "Setext"), ("row", "| a | b |"), ("row", "| 1. x | 2 |"), ("code", "```py\nx = 1. Y\n```"),
        ("prose", "End."),
    ]  # fmt: skip


def test_definitions_and_lists_of_sources_are_no_sentences() -> None:
    text = "It is on.[^1]\n\n[^1]: See the manual.\n    And more.\n[name]: http://a.b\n\nSources:\n[1] Manual. Page 3.\n- [2] Guide."
    assert [(s.kind, s.text) for s in split_sentences(text)] == [("prose", "It is on.[^1]"), ("heading", "Sources:")]


def test_a_broken_line_ends_a_sentence_only_where_it_was_broken_on_purpose() -> None:
    wrapped = (
        "The cache was written in 2020 by a group that was led by\nAda Lovelace and it is used in all of our products."
    )
    assert len(split_sentences(wrapped)) == 1
    assert [s.text for s in split_sentences("Name: Orion\nVersion: 3\nOwner: Ada")] == [
        "Name: Orion",
        "Version: 3",
        "Owner: Ada",
    ]


def test_an_unclosed_fence_runs_to_the_end() -> None:
    assert [s.kind for s in split_sentences("Run:\n```\na. B\nc. D")] == ["prose", "code"]


def test_offsets_point_at_the_text_for_any_input() -> None:
    generator = random.Random(7)
    pieces = [
        *"ab.A!?…。 \n\t`*_-#|>[](1)¹0,;:\"'”\x00\u202e\ud800🎉",
        "[1]",
        "```",
        "\r\n",
        "e.g.",
        "- ",
        "1. ",
        "[^1]: ",
        "| a |",
        "p.m.",
    ]
    for _ in range(400):
        text = "".join(generator.choice(pieces) for _ in range(generator.randint(0, 60)))
        last = 0
        for span in split_sentences(text):
            assert text[span.start : span.end] == span.text
            assert span.text == span.text.strip()
            assert span.text
            assert span.start >= last
            last = span.end


@pytest.mark.parametrize(
    "text",
    ["x" * 10**6, "A sentence here. " * 60000, "[1]" * 330000, "`" * 10**6, "> " * 500000, "a.[1 " * 200000, "|" * 10**6, "foo\n" * 250000,
     "a. " + " " * 10**6 + "b", "中。" * 300000, "- " * 500000, "#" * 10**6, "[^" + "b" * 10**6],
    ids=lambda t: repr(t[:6]),
)  # fmt: skip
def test_a_megabyte_is_split_in_seconds(text: str) -> None:
    start = time.process_time()
    split_sentences(text)
    assert time.process_time() - start < 20  # well under a second for prose on a quiet machine; linear for all


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It takes 2.5 hours [2] Restoring runs at 50 MB/s. [3]", ["It takes 2.5 hours [2]", "Restoring runs at 50 MB/s. [3]"]),
        ("Credit: 10 % [1]\nCredit: 25 % [1]", ["Credit: 10 % [1]", "Credit: 25 % [1]"]),
        ("As shown in [1] The pump works.", ["As shown in [1] The pump works."]),
        ("It uses Redis [1], Kafka [2] and a cache.", ["It uses Redis [1], Kafka [2] and a cache."]),
        ("Size: 5 GB; Time: 2 h\nSize: 9 GB; Time: 4 h [1]", ["Size: 5 GB; Time: 2 h", "Size: 9 GB; Time: 4 h [1]"]),
        ("Call `x[1] Then` now.", ["Call `x[1] Then` now."]),
    ],
)  # fmt: skip
def test_a_marker_or_a_line_with_a_value_ends_a_statement_that_has_no_full_stop(text: str, expected: list[str]) -> None:
    assert [span.text for span in split_sentences(text)] == expected
