"""The page with eyes, keyboard, screen reader: nothing is fetched, hostile text is text, both themes and print."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.summarise import summarise
from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.report.html import html_parts
from ragauge.testing.runs import a_metric, a_run

pytestmark = pytest.mark.slow
#: What a page shows is waited for, never looked at once: a click returns before the page is drawn anew.
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (group slow)").expect

EVIL = (
    "<script>document.title='owned'</script><img src=http://evil.example/x.png onerror=\"document.title='owned'\">"
    "<iframe src=http://evil.example></iframe> \u202e gnp.exe"
)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with everything on it: two runs, claims of each kind, hostile text everywhere."""
    base = tmp_path_factory.mktemp("page")
    labels = ("supported", "contradicted", "not_mentioned")
    verdicts = tuple(
        Verdict(id=label, claim=f"It is {label}.", label=label, evidence="d", quote="It is", reason=EVIL)
        for label in labels
    )
    values: dict[str, dict[str, Any]] = {
        f"q{i}": {"faithfulness": Scored(value=1 / 3, count=3, verdicts=verdicts), "recall": float(i % 2)}
        for i in range(24)
    }
    answer = " ".join(f"It is {label}." for label in labels) + f" [1] {EVIL}"
    items = {
        key: {"question": f"{key}? {EVIL}", "answer": answer, "retrieved": [("d", f"It is so. {EVIL}")], "gold": "d",
              "tags": ("plain",), "total_ms": 10.0 * (i + 1)}
        for i, key in enumerate(values)
    }  # fmt: skip
    metrics = [a_metric("faithfulness", needs={"judge"}, half="generation"), a_metric("recall", kind="rate")]
    runs = [
        a_run(base, values, items=items, metrics=metrics, created=f"2026-01-0{day}T10:00:00+00:00",
              thresholds=resolve_thresholds({}).model_dump(mode="json"))
        for day in (1, 2)
    ]  # fmt: skip
    course = [(run.manifest, summarise(run.manifest, run.records())) for run in runs]
    file = base / "report.html"
    file.write_text("".join(html_parts(runs[1].manifest, runs[1].records, runs=course)), encoding="utf-8")
    return file


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_fetched_and_hostile_answers_are_text(chromium: Any, page_file: Path, theme: str) -> None:
    context = chromium.new_context(color_scheme=theme, viewport={"width": 1200, "height": 900})
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(page_file.as_uri())
    page.click("#open-all")
    assert asked == [page_file.as_uri()]
    assert said == []
    assert page.title().endswith("ragauge report")
    expect(page.locator("img, iframe, script:not(:last-of-type)")).to_have_count(0)
    row = page.locator("#r1")
    row.scroll_into_view_if_needed()  # a row out of sight is not laid out, so it has no words yet
    for words in ("<script>document.title='owned'</script>", "\\u202e"):
        expect(row).to_contain_text(words, use_inner_text=True)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (theme == "dark")
    folder = os.environ.get("RAGAUGE_SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/report-{theme}.png")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    # axe's script is not the page's: it is put in past the policy, the rules are those of WCAG 2 A and AA.
    context_free = chromium.new_context(color_scheme=theme, bypass_csp=True)
    checked = context_free.new_page()
    checked.goto(page_file.as_uri())
    found = axe.Axe().run(checked, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
    assert found.response["violations"] == [], found.generate_report()
    context.close()
    context_free.close()


def test_everything_can_be_reached_with_the_keyboard(chromium: Any, page_file: Path) -> None:
    page = chromium.new_page()
    page.goto(page_file.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the rows"
    page.keyboard.press("Enter")
    page.focus("#filter-outcome")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#filter-said")).to_contain_text("of 24 rows")
    page.focus("#r1 > summary")
    page.keyboard.press("Enter")
    expect(page.locator("#r1")).to_have_attribute("open", "")
    page.close()


def test_print_is_black_on_white_also_for_those_who_prefer_dark(chromium: Any, page_file: Path) -> None:
    page = chromium.new_page(color_scheme="dark", viewport={"width": 800, "height": 1100})
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    for place in ("body", ".plot svg"):
        assert page.evaluate(f"getComputedStyle(document.querySelector({place!r})).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    expect(page.locator("#filter")).to_be_hidden()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()
