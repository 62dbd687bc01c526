"""HTML reduced to its text, in Markdown's shape so that the same splitter serves."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_SILENT = frozenset(("script", "style", "template", "noscript", "svg", "head", "nav"))
_BREAKS = frozenset(
    "p div section article main header footer aside ul ol table blockquote figure figcaption dl dt dd form hr".split()  # noqa: SIM905
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\n\f\v]+")
_PLACE = re.compile("\x00(\\d{1,9})\x00")
_EMPTY_LINES = re.compile(r"\n[ \t]*\n\s*")


def html_to_text(source: str) -> tuple[str, str]:
    """(title, text). Scripts, styles and navigation are left out; headings, lists, tables and `pre` keep their shape.

    >>> html_to_text("<title>T</title><h1>A</h1><p>x <b>y</b></p><table><tr><th>k</th></tr><tr><td>1</td></tr></table>")
    ('T', '# A\\n\\nx y\\n\\n| k |\\n|---|\\n| 1 |\\n')
    """
    reader = _Reader()
    reader.feed(source)
    reader.close()
    text = _EMPTY_LINES.sub("\n\n", "".join(reader.parts)).strip("\n ")
    text = _PLACE.sub(lambda match: f"```\n{reader.preformatted[int(match[1])].strip(chr(10))}\n```", text)
    return _SPACE.sub(" ", "".join(reader.title)).strip(), text + "\n" if text else ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self.preformatted: list[str] = []
        self._silent: list[str] = []
        self._in_title = False
        self._pre: list[str] | None = None
        self._row: list[list[str]] | None = None
        self._n_rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag == "body":
            self._silent.clear()  # a <head> that was never closed
        elif tag in _SILENT:
            self._silent.append(tag)
        elif tag == "pre" and self._pre is None:
            self._pre = []
        elif tag == "tr":
            self._row = []
        elif tag in ("td", "th") and self._row is not None:
            self._row.append([])
        elif tag == "br":
            self._put(" " if self._row is not None else "\n")
        elif tag == "li":
            self._put("\n- ")
        elif tag in _HEADINGS:
            self._put("\n\n" + _HEADINGS[tag])
        elif tag in _BREAKS and self._row is None:
            self._n_rows = 0 if tag == "table" else self._n_rows
            self._put("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif tag == "pre" and self._pre is not None:
            self.preformatted.append("".join(self._pre).replace("\x00", "\ufffd"))
            self._pre = None
            self._put(f"\n\n\x00{len(self.preformatted) - 1}\x00\n\n")
        elif tag == "tr" and self._row is not None:
            self._end_row()
        elif (tag in _HEADINGS or tag in _BREAKS) and self._row is None:
            self._put("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif self._pre is not None:
            self._pre.append(data)
        else:
            self._put(_SPACE.sub(" ", data.replace("\x00", "\ufffd")))

    def _put(self, text: str) -> None:
        if self._silent:
            return
        if self._row is not None:
            if self._row:
                self._row[-1].append(text)
        elif not (text == " " and (not self.parts or self.parts[-1].endswith(("\n", " ")))):
            self.parts.append(text)

    def _end_row(self) -> None:
        cells = [_SPACE.sub(" ", "".join(cell)).strip().replace("|", "\\|") for cell in self._row or []]
        self._row = None
        if cells:
            self._n_rows += 1
            self._put("| " + " | ".join(cells) + " |\n" + ("|---" * len(cells) + "|\n" if self._n_rows == 1 else ""))
