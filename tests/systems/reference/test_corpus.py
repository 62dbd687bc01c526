from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ragauge.errors import InputError
from ragauge.systems.reference.corpus import Document, corpus_of, load_corpus
from ragauge.systems.reference.html_text import html_to_text


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_documents_are_named_by_their_path_and_come_in_its_order(tmp_path: Path) -> None:
    write(tmp_path, {"b.md": "# B", "a/z.txt": "Z", "a/b.rst": "R", ".git/c.md": "no", ".x.md": "no", "i.png": b"\x89"})
    corpus = load_corpus(tmp_path)
    assert [(one.id, one.text) for one in corpus.documents] == [("a/b.rst", "R"), ("a/z.txt", "Z"), ("b.md", "# B")]
    assert corpus.skipped == ("i.png",)


def test_a_single_file_is_a_corpus(tmp_path: Path) -> None:
    write(tmp_path, {"only.md": "text"})
    assert [one.id for one in load_corpus(tmp_path / "only.md").documents] == ["only.md"]


def test_records_and_compressed_files_are_read(tmp_path: Path) -> None:
    rows = "".join(json.dumps(row) + "\n" for row in ({"id": "p1", "title": "T", "text": "x"}, {"id": 2, "text": "y"}))
    write(tmp_path, {"c.jsonl.gz": gzip.compress(rows.encode()), "n.md.gz": gzip.compress(b"zip")})
    found = load_corpus(tmp_path).documents
    assert found == (Document("p1", "x", "T"), Document("2", "y"), Document("n.md.gz", "zip"))


def test_newlines_byte_order_marks_and_utf16_are_understood(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": b"\xef\xbb\xbfone\r\ntwo\rthree", "b.md": "ä\nb".encode("utf-16")})
    assert [one.text for one in load_corpus(tmp_path).documents] == ["one\ntwo\nthree", "ä\nb"]


def test_the_content_hash_sees_every_part_and_not_the_place(tmp_path: Path) -> None:
    one = corpus_of([Document("a", "x", "t")], "here").fingerprint
    assert one == corpus_of([Document("a", "x", "t")], "there").fingerprint
    others = [[Document("b", "x", "t")], [Document("a", "y", "t")], [Document("a", "x", "u")], [Document("a", "xt")]]
    assert len({one, *(corpus_of(other).fingerprint for other in others)}) == 5


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "the folder is empty"),
        ({"a.pdf": b"%PDF"}, "no document to read among 1 others, e.g. a.pdf"),
        ({"a.md": b"text\x00\x01\x02"}, "a.md: is a binary file"),
        ({"a.md": b"fine\nna\xefve"}, "a.md:2: is not valid UTF-8: byte 0xef at offset 7"),
        ({"a.md": "  \n"}, "every document is blank"),
        (
            {"a.jsonl": '{"id": "1", "text": "x"}\n{"id": "1", "text": "y"}\n'},
            "a.jsonl:2: document id '1' is already that of",
        ),
        ({"a.jsonl": '{"id": "1", "body": "x"}\n'}, "a.jsonl:1: has no such text (field 'text')"),
        ({"a.jsonl": '{"id": "", "text": "x"}\n'}, "field 'id'"),
        ({"a.jsonl": '{"id": "1", "text": 5}\n'}, "found 5"),
        ({"a.jsonl": "nope\n"}, "a.jsonl:1: is not a JSON object"),
        ({"a.jsonl": "[1]\n"}, "a.jsonl:1: is not a JSON object"),
        ({"a.md.gz": b"not gzip"}, "is not a whole gzip file"),
        ({"a.md.gz": gzip.compress(b"x" * 1000)[:-9]}, "is not a whole gzip file"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, files: dict[str, str | bytes], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_corpus(write(tmp_path, files))
    assert message in str(caught.value)


def test_a_path_that_is_not_there_and_a_file_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such corpus"):
        load_corpus(tmp_path / "absent")
    write(tmp_path, {"a.docx": b"PK"})
    with pytest.raises(InputError, match=r"cannot read \.docx files"):
        load_corpus(tmp_path / "a.docx")


def test_html_becomes_markdown_without_scripts_and_navigation() -> None:
    title, text = html_to_text(
        "<html><head><title> A &amp; B </title><style>p{}</style></head><body><nav>menu</nav><h2>Keys</h2>"
        "<p>Press\n  <b>Rotate</b>.</p><ul><li>one</li><li>two</li></ul><script>alert(1)</script>"
        "<pre>a  = 1\n  b</pre><table><tr><th>k</th><th>v</th></tr><tr><td>x|y</td><td>1</td></tr></table>"
    )
    assert title == "A & B"
    assert text == (
        "## Keys\n\nPress Rotate.\n\n- one\n- two\n\n```\na  = 1\n  b\n```\n\n| k | v |\n|---|---|\n| x\\|y | 1 |\n"
    )


@pytest.mark.parametrize(
    "text", ["<" * 500_000, "<pre>" * 200_000, "<div>" * 200_000, "\x000\x00" * 1000, "<!--" * 100_000]
)
def test_broken_html_is_read_without_failing(text: str) -> None:
    html_to_text(text)
