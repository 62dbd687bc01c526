"""The HTML report: other people's text is only text; it is small, readable and says everything that a run holds."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

from ragauge.analysis.compare import Source, compare
from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.errors import MissingExtra, Reason
from ragauge.report.html import LIMIT_BYTES, html_parts
from ragauge.store.rundir import RunDir
from ragauge.testing.hostile import HOSTILE
from ragauge.testing.runs import a_metric, a_run

ELEMENTS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "a",
    "header",
    "h1",
    "h2",
    "h3",
    "h4",
    "ul",
    "ol",
    "li",
    "b",
    "dl",
    "dt",
    "dd",
    "nav",
    "main",
    "section",
    "div",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "span",
    "br",
    "svg",
    "line",
    "rect",
    "p",
    "details",
    "summary",
    "article",
    "figure",
    "figcaption",
    "mark",
    "sup",
    "label",
    "select",
    "option",
    "button",
    "footer",
    "code",
    "script",
    "desc",
    "text",
    "g",
    "circle",
    "path",
}
#: Attributes that may occur, and what their values may look like.
ATTRIBUTES = {
    "class": r"[a-z0-9 ]+",
    "id": r"[a-z]+[a-z0-9-]*",
    "href": r"#[a-z0-9]+",
    "aria-labelledby": r"[a-z0-9 -]+",
    "data-outcome": r"good|bad|unknown",
    "data-tags": r"[\d ]*",
    "value": r"|bad|good|unknown|\d+",
    "lang": r"en",
    "charset": r"utf-8",
    "scope": r"col|row|rowgroup",
    "colspan": r"7",
    "role": r"img|group|status|region",
    "type": r"button",
    "viewbox": r"[\d. -]+",
    "preserveaspectratio": r"none",
    "xmlns": r"http://www\.w3\.org/2000/svg",
    "aria-hidden": r"true",
    "focusable": r"false",
    "tabindex": r"0",
    "aria-label": r"Parts of this report|Which rows to show|Metrics|Why rows fail|One metric by tag|Differences",
    "fill": r"[#a-f0-9]+",
    "d": r"[\dMLHZ. -]+",
    "stroke-width": r"[\d.]+",
    "stroke-dasharray": r"[\d. ]+",
    "opacity": r"[\d.]+",
    "text-anchor": r"middle|end",
    "font-size": r"\d+",
    "font-weight": r"\d+",
    "name": r"viewport|referrer",
    "http-equiv": r"Content-Security-Policy",
    "open": r"",
    "hidden": r"",
    **dict.fromkeys(("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "rx"), r"-?[\d.]+"),
}
VOID = {"meta", "br"}


class Page(HTMLParser):
    """A page as elements, attributes and text; complains about elements that are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.words: list[tuple[str, str]] = []
        self.comments: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> is out of order"

    def handle_data(self, data: str) -> None:
        self.words.append((self.open[-1] if self.open else "", data))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def text(self) -> str:
        return "".join(words for inside, words in self.words if inside not in ("script", "style"))


def verdict(place: int, claim: str, label: str, **more: str) -> Verdict:
    return Verdict(id=f"c{place}", claim=claim, label=label, **more)


def html(run: RunDir) -> str:
    return "".join(html_parts(run.manifest, run.records))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Page]:
    """A run whose every text is hostile, as the page and as it parses."""
    from ragauge.text.normalise import clean

    texts = [clean(text) for text in HOSTILE]
    assert len(set(texts)) >= 60
    values, items = {}, {}
    for place, text in enumerate(texts):
        name = f"{place} {text[:300]}"
        score = Scored(
            value=0.5,
            count=2,
            verdicts=(
                verdict(1, text[:2000], "contradicted", evidence=f"c {text[:200]}", quote=text, reason=text),
                verdict(2, text[:50] + "more", text[:100], reason=text),
            ),
            details={"reason": text},
        )
        values[name] = {"faithfulness": score, "recall": Reason.NO_LABELS, "correctness": 0.0}
        items[name] = {
            "question": text,
            "answer": f"Before {text} after [1].",
            "reference": text,
            "retrieved": [(f"c {text[:200]}", f"{text} and more"), (f"d{place}", text)],
            "gold": [f"c {text[:200]}"],
            "tags": (text[:60], "all"),
        }
    run = a_run(
        tmp_path_factory.mktemp("runs"),
        values,
        items=items,
        notes=tuple(texts),
        settings={"retrieval": HOSTILE[0]},
        thresholds=resolve_thresholds({}).model_dump(mode="json"),
        skipped_metrics={"x" + texts[1]: texts[2]},
    )
    page = html(run)
    return page, Page(page)


def test_no_element_and_no_attribute_comes_from_data(hostile: tuple[str, Page]) -> None:
    _, page = hostile
    assert not page.open
    assert not page.comments
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            if (tag, name) == ("meta", "content"):
                continue
            assert name in ATTRIBUTES, (tag, name)
            assert re.fullmatch(ATTRIBUTES[name], value), (tag, name, value)
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert sum(tag == "style" for tag, _ in page.elements) == 1


@pytest.mark.parametrize("text", [t for t in HOSTILE if t.isprintable() and "\u0301" not in t and len(t) < 60])
def test_hostile_text_is_shown_as_it_is(hostile: tuple[str, Page], text: str) -> None:
    assert " ".join(text.split()) in hostile[1].text


def test_control_and_direction_characters_are_written_out(hostile: tuple[str, Page]) -> None:
    raw, page = hostile
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", raw)
    assert "\\u202egnp.exe" in page.text
    assert "a\ufffdb" in page.text


def test_nothing_is_fetched_and_only_our_own_script_and_style_may_run(hostile: tuple[str, Page]) -> None:
    _, page = hostile
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        content = "".join(words for inside, words in page.words if inside == element)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
        assert "url(" not in content
        assert "@import" not in content
    assert not [a for _, a in page.elements if "src" in a or "style" in a or any(n.startswith("on") for n in a)]


def small(tmp_path: Path) -> RunDir:
    answer = "The port is 8125 [1]. It is red. It may be changed."
    score = Scored(
        value=1 / 3,
        count=3,
        verdicts=(
            verdict(1, "The port is 8125", "supported", evidence="a", quote="port is 8125", reason="word for word"),
            verdict(2, "It is red.", "contradicted", evidence="b", quote="It is blue"),
            verdict(3, "It may be changed.", "not_mentioned"),
        ),
    )
    sample = {
        "retrieved": [("a", "Here the port is 8125, always."), ("b", "It is blue. Nothing else.")],
        "gold": "a",
        "answer": answer,
        "tags": ("net", "plain"),
        "total_ms": 12.0,
        "retrieval_ms": 3.0,
    }
    values = {"q1": {"faithfulness": score, "recall": 1.0, "correctness": Reason.TIMED_OUT}}
    values |= {f"f{i}": {"faithfulness": 1.0, "recall": 1.0, "correctness": 1.0} for i in range(6)}
    specs = [a_metric("recall"), a_metric("faithfulness", half="generation"), a_metric("correctness", half="both")]
    return a_run(
        tmp_path,
        values,
        metrics=specs,
        items=dict.fromkeys(values, sample),
        thresholds=resolve_thresholds({}).model_dump(mode="json"),
    )


def test_claims_are_coloured_quotes_marked_citations_lead_to_their_passage(tmp_path: Path) -> None:
    page = html(small(tmp_path))
    row = page[page.index('id="r1"') : page.index('id="r2"')]
    assert '<mark class="yes">The port is 8125<sup>✓1</sup></mark>' in row
    assert '<mark class="no">It is red.<sup>✗2</sup></mark>' in row
    assert '<mark class="unsure">It may be changed.<sup>?3</sup></mark>' in row
    assert '<a href="#r1c1">[1]</a>' in row
    assert 'Here the <mark class="yes">port is 8125<sup>✓1</sup></mark>, always.' in row
    assert '<mark class="no">It is blue<sup>✗2</sup></mark>. Nothing else.' in row
    assert "★ gold" in row
    assert "word for word" in row
    assert "Not scored, timed out: correctness" in row
    assert 'data-outcome="bad"' in row
    assert "2 of 3 claims unsupported" in row


def test_the_head_says_what_was_scored_what_not_and_what_the_judge_is_worth(tmp_path: Path) -> None:
    text = Page(html(small(tmp_path))).text
    assert "6 of 7" in text
    assert "1 timed out" in text
    assert "agreement with people has not been measured" in text
    assert "✗ 1 failing" in " ".join(text.split())
    assert "overall 0.905" in text
    assert "within 12 ms" in text


def test_headings_labels_language_and_names_are_there(tmp_path: Path) -> None:
    page = Page(html(small(tmp_path)))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.elements[0] == ("html", {"lang": "en"})
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        assert attributes.get("href", "#")[1:] in ("", *ids)
        assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("label") == tags.count("select") == 2
    assert all(a.get("type") == "button" for tag, a in page.elements if tag == "button")
    assert all("scope" in a for tag, a in page.elements if tag == "th")
    assert {"main", "header", "nav", "footer"} <= set(tags)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_its_ground_in_both_themes(theme: int) -> None:
    css = files("ragauge.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root\{([^}]*)\}", css)
    colours = dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", blocks[theme]))
    pairs = [(ink, ground) for ink in ("ink", "soft", "link", "good", "below", "broken") for ground in ("page", "card")]
    pairs += [(ink, ground) for ink in ("ink", "link") for ground in ("yes", "no", "unsure", "seen", "gold")]
    for ink, ground in pairs:
        light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def long_rows(tmp_path: Path, n: int, word: str) -> RunDir:
    text = word * (4000 // len(word))
    score = Scored(value=0.5, verdicts=tuple(verdict(i, text[:400], "supported", reason=text[:400]) for i in range(9)))
    item = {"retrieved": [(f"c{i}", text) for i in range(10)], "gold": "c1", "answer": text, "question": text}
    values = {f"q{i}": {"faithfulness": score, "recall": 0.5} for i in range(n)}
    return a_run(tmp_path, values, items=dict.fromkeys(values, item))


WORDS = pytest.mark.parametrize("word", ["word ", "<&\"'>", "\u202e", "界"], ids=["plain", "markup", "bidi", "wide"])


@WORDS
def test_long_rows_are_shortened_to_fit_and_the_page_says_so(
    tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragauge.report.html.LIMIT_BYTES", 250_000)
    page = html(long_rows(tmp_path, 50, word))
    assert 100_000 < len(page.encode()) <= 250_000
    assert "50 of 50 rows are shortened" in page
    assert re.search(r"\[\d+ of 4000 characters shown\]", page)


@pytest.mark.slow
@WORDS
def test_a_thousand_long_rows_fit_into_five_megabytes(tmp_path: Path, word: str) -> None:
    size = len(html(long_rows(tmp_path, 1000, word)).encode())
    assert LIMIT_BYTES * 0.4 < size <= LIMIT_BYTES


def test_a_short_row_among_long_ones_is_shown_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragauge.report.html.LIMIT_BYTES", 150_000)
    items = {f"q{i}": {"answer": "long " * 4000, "question": "x " * 4000} for i in range(20)}
    items["q10"] = {"answer": "word " * 150 + "the end."}
    page = html(a_run(tmp_path, {name: {"recall": 1.0} for name in items}, items=items))
    row = page[page.index('id="r11"') : page.index('id="r12"')]
    assert "the end." in row
    assert "characters shown" not in row


def test_rows_are_streamed(tmp_path: Path) -> None:
    run = small(tmp_path)
    seen = 0

    def records():  # type: ignore[no-untyped-def]
        nonlocal seen
        for record in run.records():
            seen += 1
            yield record

    parts = html_parts(run.manifest, records)
    for part in parts:
        if 'id="r1"' in part:
            break
    before = seen
    list(parts)
    assert seen > before, "all rows were read before the first was written"


def test_a_comparison_says_what_became_worse_first(tmp_path: Path) -> None:
    name = "a <script>alert(1)</script>"
    a = a_run(tmp_path, {f"q{i}": {"recall": 0.0, "faithfulness": 1.0} for i in range(40)}, name="a")
    b = a_run(tmp_path, {f"q{i}": {"recall": 1.0, "faithfulness": float(i > 20)} for i in range(40)}, name="b")
    (found,) = compare(Source(name, a.manifest, a.records), [Source("b", b.manifest, b.records)])
    text = "".join(html_parts(b.manifest, b.records, None, found))
    page = Page(text)
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    part = page.text[page.text.index(f"Compared with {name}") :]
    assert part.index("✗ worse") < part.index("✓ better")
    assert "−0.525" in part
    assert "0 better, 21 worse" in part
    assert "over the 40 questions of both runs" in part


def test_an_empty_run_is_a_page(tmp_path: Path) -> None:
    page = Page(html(a_run(tmp_path, {}, metrics=[a_metric("recall")])))
    assert "Nothing was scored." in page.text


def test_without_jinja_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"ragauge\[report\]"):
        html(small(tmp_path))
