"""Markdown that other people's text cannot break out of, and that fits where it is posted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ragauge.text.normalise import display

#: A GitHub comment holds 65 536 characters; some room is left for what is put around the text.
COMMENT_LIMIT = 60_000

#: A GitHub step summary holds 1 MiB for each step; more fails the upload.
SUMMARY_LIMIT = 1_000_000

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


def text(value: str, limit: int = 200) -> str:
    """One line of somebody's text, shown as text: no markup, mentions, links or HTML; at most `limit` characters.

    >>> text("see <b>@team</b> | [x](http://y)")
    'see &lt;b&gt;@\u200bteam&lt;/b&gt; \\\\| \\\\[x\\\\]\\\\(http:\u200b//y\\\\)'
    """
    line = " ".join(display(value).split())
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    line = _SPECIAL.sub(r"\\\1", line)
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return line.replace("@", "@\u200b").replace("://", ":\u200b//")


def code(value: str, limit: int = 120) -> str:
    """A name in code type; what is in it cannot end the code or mention anybody.

    >>> code("recall@5:doc"), code("a`b|c")
    ('`recall@5:doc`', "`a'b¦c`")
    """
    line = " ".join(display(value).split()).replace("`", "'").replace("|", "¦")
    return f"`{line[:limit] or ' '}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """A table; `right` are the indexes of columns aligned right. Cells must be escaped already."""
    line = "|".join("---:" if place in right else "---" for place in range(len(head)))
    return [_row(head), f"|{line}|", *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def details(summary: str, lines: Sequence[str]) -> list[str]:
    """A part that is folded until it is clicked."""
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", ""]


def marker(suite: str) -> str:
    """The hidden line by which a later run finds its own comment and replaces it.

    >>> marker("docs --> <b>")
    '<!-- ragauge:docs-b -->'
    """
    safe = re.sub(r"[^A-Za-z0-9._]+", "-", suite).strip("-")[:60] or "gate"
    return f"<!-- ragauge:{safe} -->"


def fitted(blocks: Sequence[Sequence[str]], limit: int = COMMENT_LIMIT) -> str:
    """The blocks that fit into `limit` characters, first ones first; says so when something had to be left out."""
    left = "_More was left out: the full report is in the run directory and the job's artifacts._"
    out: list[str] = []
    size = 0
    for block in blocks:
        lines = "\n".join(block) + "\n"
        if size + len(lines) + len(left) + 2 > limit:
            out.append(left + "\n")
            break
        out.append(lines)
        size += len(lines) + 1
    return "\n".join(out)
