from __future__ import annotations

import pytest

from ragauge.systems.reference.chunk import MOST_CODE, ChunkSettings, chunk_document
from ragauge.systems.reference.corpus import Document

KEEP = ChunkSettings(size=200, overlap=20, keep_code=True)
CODE = "```python\n" + "\n".join(f"step_{n} = make(step_{n - 1}, depth={n})" for n in range(1, 40)) + "\n```"


def document(text: str) -> Document:
    return Document(id="a.md", text=text, title="")


@pytest.mark.parametrize("indent", ["", "   "])
def test_code_is_never_cut_and_stays_under_its_heading(indent: str) -> None:
    code = "\n".join(indent + line for line in CODE.split("\n"))
    lead = "1. First do this. " + "Then do that. " * 20 + "\n\n" if indent else "Some words before.\n\n"
    text = f"# Top\n\n## Example\n\n{lead}{code}\n\nMore words. " + "And more. " * 40
    chunks = chunk_document(document(text), KEEP)
    assert sum(code.strip() in chunk.text for chunk in chunks) == 1
    holding = next(chunk for chunk in chunks if code.strip() in chunk.text)
    assert holding.metadata["headings"] == ["Top", "Example"]
    plain = chunk_document(document(text), ChunkSettings(size=200, overlap=20))
    assert not any(code.strip() in chunk.text for chunk in plain)
    assert "lines" not in plain[0].metadata


def test_code_right_under_a_heading_is_not_parted_from_it() -> None:
    chunks = chunk_document(document(f"# Top\n\n{CODE}\n"), KEEP)
    assert [chunk.text for chunk in chunks] == [f"# Top\n\n{CODE}"]


def test_chunks_say_the_lines_that_they_are() -> None:
    text = f"# Top\n\nWords.\n\n{CODE}\n\n## Next\n\n" + "A sentence that is there. " * 30
    lines = text.split("\n")
    for chunk in chunk_document(document(text), KEEP):
        first, last = chunk.metadata["lines"]
        assert chunk.text in "\n".join(lines[first - 1 : last])
        assert lines[first - 1].endswith(chunk.text.split("\n")[0]) or chunk.text.split("\n")[0] in lines[first - 1]


def test_every_character_is_kept_and_monsters_are_cut() -> None:
    monster = "```\n" + "x = 1\n" * MOST_CODE + "```"
    chunks = chunk_document(document(f"# Top\n\n{monster}\n"), KEEP)
    assert max(len(chunk.text) for chunk in chunks) <= 200
    kept = "".join(chunk.text for chunk in chunks)
    assert len("".join(kept.split())) >= len("".join(monster.split()))
