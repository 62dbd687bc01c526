"""The screens where somebody works, in real Chromium: by keyboard, in light, dark and on a phone, with hostile text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.web.test_more_screens import a_sweep, golden
from tests.web.workbench import an_inspection, copied, inspecting, queued, settings_of

from ragauge.analysis.gate_settings import GateSettings
from ragauge.core.inspection import Inspection
from ragauge.core.sample import GoldenItem
from ragauge.review import open_queue
from ragauge.review.calibrating import draw, stored
from ragauge.review.items import Candidate
from ragauge.review.recalibrating import recalibrate
from ragauge.review.sources import drawn_candidates
from ragauge.store.rundir import RunDir
from ragauge.testing.hostile import HOSTILE, LONG_LINE, storable
from ragauge.web.settings import Services

pytestmark = pytest.mark.slow
#: What a page shows is waited for, never looked at once: a click returns before the page is drawn anew.
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (group slow)").expect


@pytest.fixture(scope="module")
def bench(two: Any, tmp_path_factory: pytest.TempPathFactory, serve: Any) -> Iterator[tuple[str, Path, RunDir]]:
    """A server over two runs, a queue with labels of two people, a calibration, a sweep, a golden set with faults."""
    folder = tmp_path_factory.mktemp("bench")
    _, run = copied(two, folder)
    with open_queue(str(folder / "queue.sqlite")) as queue:
        queue.add(drawn_candidates(run, draw(run, "faithfulness", 50, 0, by_bands=False), wanted=2))
        for place, item in enumerate(list(queue.items())[:42]):
            good = (item.payload["verdict"]["value"] == 1.0) != (place < 5)
            queue.label(item.id, "zoe", "faithful" if good else "unfaithful", note="seen" if place < 5 else "")
            if place < 8:
                queue.label(item.id, "yan", "faithful", systematic="opening hours")
        recalibrate(run, queue)
    a_sweep(folder / "runs")
    settings = settings_of(folder, golden=golden(folder))
    with serve(settings, inspecting(an_inspection())) as address:
        yield address, folder, run


def screens(run: RunDir) -> dict[str, str]:
    return {
        "debugger": "/debug?q=Which+port%3F&gold=doc%231",
        "progress": "/review/progress",
        "calibrations": "/calibration",
        "calibration": f"/runs/{run.path.name}/calibration",
        "clusters": f"/runs/{run.path.name}/clusters",
        "sweeps": "/sweeps",
        "sweep": "/sweeps/2026-03-01T10-00-00-k-0001",
        "golden": "/golden",
        "monitor": "/monitor",
    }


def ready(made: Any, path: str) -> Any:
    """Open a page, waiting for what it works out in the background."""
    page = made.go(path)
    for _ in range(120):
        if page.locator("[data-again]").count() == 0:
            break
        page.wait_for_timeout(500)
        page = made.go(path)
    return page


def enter(page: Any, name: str) -> None:
    """Say who we are, by keyboard: the field has the focus."""
    page.locator("input[name=name]").wait_for()
    page.wait_for_load_state()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.locator("#label").wait_for()
    page.wait_for_load_state()  # keys work once the scripts have run


@pytest.mark.parametrize("shape", ["light", "dark", "phone"])
def test_every_screen_is_accessible_and_fits(bench: Any, visit: Any, shot: Any, shape: str) -> None:
    address, _, run = bench
    made = visit(address, shape)
    for name, path in screens(run).items():
        page = ready(made, path)
        if name == "debugger":
            page.get_by_role("button", name="Look into it").click()
            page.get_by_role("heading", name="The lists side by side").wait_for()
        expect(page.locator("h1")).to_be_visible()
        assert made.fits(), f"{name} is wider than the window"
        assert made.axe() == [], name
        shot(made, f"{name}-{shape}")
    page = made.go("/review")
    assert made.axe() == []
    page.get_by_label("Who are you?").fill(f"{shape} person")
    page.get_by_role("button", name="Begin").click()
    page.locator("#label").wait_for()
    assert made.fits(), "review is wider than the window"
    assert made.axe() == [], "review"
    shot(made, f"review-{shape}")


def test_a_coffee_of_review_by_keyboard_alone(bench: Any, visit: Any) -> None:
    address, folder, _ = bench
    made = visit(address)
    page = made.go("/review")
    enter(page, "kim")
    item = page.locator("#label").get_attribute("data-item")
    assert "contradicted" not in page.content()
    page.keyboard.press("j")  # the first claim
    page.keyboard.press("1")  # supported; on to the next
    page.keyboard.press("2")  # not supported
    expect(page.locator(".claims input:checked")).to_have_count(2)
    page.keyboard.press("n")
    page.keyboard.type("shut, not open")
    page.keyboard.press("Escape")
    page.get_by_text("Kept as a draft in this browser.").wait_for()
    page.reload()
    page.get_by_text("Your draft is back.").wait_for()
    expect(page.locator("textarea[name=note]")).to_have_value("shut, not open")
    expect(page.locator(".claims input:checked")).to_have_count(2)
    page.keyboard.press("2")  # no claim is chosen: the whole answer
    page.get_by_text("you said unfaithful").wait_for()
    page.wait_for_load_state()
    with open_queue(str(folder / "queue.sqlite")) as queue:
        (mine,) = [one for one in queue.labels(item_id=item) if one.reviewer == "kim"]
    assert (mine.label, mine.note) == ("unfaithful", "shut, not open")
    assert mine.edits == {"claim_labels": {"c1": "supported", "c2": "unsupported"}}
    assert page.evaluate("Object.keys(localStorage)") == []
    page.keyboard.press("u")
    page.get_by_text("Taken back").wait_for()
    page.wait_for_load_state()
    expect(page.locator("#label")).to_have_attribute("data-item", item)
    page.keyboard.press("s")
    page.get_by_text("Skipped: it goes to others.").wait_for()
    expect(page.locator("#label")).not_to_have_attribute("data-item", item)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    for said in ("faithful", "unfaithful", "Skip: leave it to others", "Undo your last label or skip", "Next one"):
        expect(keys.get_by_text(said, exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    keys.wait_for(state="detached")
    page.locator("input[name=systematic]").focus()
    page.keyboard.type("opening hours")
    page.keyboard.press("Enter")  # in a text field: must not choose a label
    page.wait_for_timeout(300)
    with open_queue(str(folder / "queue.sqlite")) as queue:
        assert [one for one in queue.labels() if one.reviewer == "kim"] == []
        queue.release("kim")


def test_a_refused_label_loses_nothing(bench: Any, visit: Any) -> None:
    address, folder, _ = bench
    made = visit(address)
    page = made.go("/review")
    enter(page, "lee")
    item = page.locator("#label").get_attribute("data-item")
    page.get_by_label("Note").fill("a long thought")
    page.get_by_text("Mend the golden item").click()
    page.get_by_label("Words of a passage that hold the answer").fill("words that nobody wrote")
    page.get_by_role("button", name="1 faithful").click()
    page.get_by_text("those words stand in none of the passages shown").wait_for()
    page.go_back()
    page.reload()
    expect(page.locator("#label")).to_have_attribute("data-item", item)
    expect(page.get_by_label("Note")).to_have_value("a long thought")
    page.get_by_label("Words of a passage that hold the answer").fill("It is closed on Sundays.")
    page.get_by_role("button", name="1 faithful").click()
    page.get_by_text("you said faithful").wait_for()
    made.problems[:] = [problem for problem in made.problems if "400" not in problem]  # the refusal
    with open_queue(str(folder / "queue.sqlite")) as queue:
        assert queue.undo("lee") is not None
        queue.release("lee")


def test_review_works_without_scripts_and_with_a_thumb(bench: Any, visit: Any) -> None:
    address, folder, _ = bench
    made = visit(address, "phone", java_script_enabled=False)
    page = made.go("/review")
    page.get_by_label("Who are you?").fill("pat")
    page.get_by_role("button", name="Begin").tap()
    page.locator("#label").wait_for()
    button = page.get_by_role("button", name="unsure")
    box = button.bounding_box()
    assert box is not None
    assert box["height"] >= 40
    button.tap()
    page.get_by_text("you said unsure").wait_for()
    page.get_by_role("button", name="Undo", exact=True).tap()
    page.get_by_text("Taken back").wait_for()
    with open_queue(str(folder / "queue.sqlite")) as queue:
        queue.release("pat")


def test_from_the_failing_gate_to_an_updated_calibration(
    two: Any, visit: Any, serve: Any, tmp_path: Path, shot: Any
) -> None:
    """The whole path: gate, comparison, row, evidence, review, label, calibration."""
    old, new = copied(two, tmp_path)
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        queue.add(drawn_candidates(new, draw(new, "faithfulness", 40, 1, by_bands=False)))
        for place, item in enumerate(list(queue.items())[:35]):
            good = (item.payload["verdict"]["value"] == 1.0) != (place == 0)  # one on which they differ
            queue.label(item.id, "zoe", "faithful" if good else "unfaithful")
        before = recalibrate(new, queue)[0]
    gate = GateSettings(floors={"correctness": 0.7}, max_error_share=0.5)
    with serve(settings_of(tmp_path, gate=gate)) as address:
        made = visit(address)
        page = made.go("/runs")
        page.get_by_role("link", name="new", exact=True).first.click()
        page.wait_for_url(f"**/runs/{new.path.name}")
        expect(page.get_by_text("✗ fail").first).to_be_visible()
        page.get_by_role("link", name="Compare with").first.click()
        page.wait_for_url("**/compare?**")
        expect(page.get_by_text(old.path.name).first).to_be_attached()
        page.locator("main a[href*='/compare/row'][href*='id=q2']").first.click()
        page.wait_for_url("**/compare/row?**")
        page.locator(f"main a[href*='/runs/{new.path.name}/row']").first.click()
        page.wait_for_url(f"**/runs/{new.path.name}/row?**")
        page.locator("button.claim").last.click()
        expect(page.locator("article mark.lit").first).to_be_attached()  # the evidence, in its chunk
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        page.get_by_text("review queue").first.wait_for()
        page.get_by_role("link", name="Review", exact=True).click()
        enter(page, "ann")
        page.keyboard.press("2")
        page.get_by_text("you said unfaithful").wait_for()
        page.wait_for_load_state()
        page.keyboard.press("1")
        page.get_by_text("you said faithful").wait_for()
        page.get_by_role("link", name="Calibration", exact=True).click()
        page.get_by_role("link", name=new.path.name).first.click()
        page.wait_for_url("**/calibration")
        expect(page.get_by_text("not counted here yet")).to_be_visible()
        page.get_by_role("button", name="Calibrate with the queue’s labels").click()
        page.get_by_text("Calibrated with the labels as they are now.").wait_for()
        expect(page.get_by_text("not counted here yet")).to_have_count(0)
        shot(made, "calibrated")
        now = stored(new)["faithfulness"]
        assert now.n_labels > before.n_labels
        expect(page.get_by_text(f"{now.n_labels} of {now.n_units} judged answers")).to_be_visible()
        page.locator("h3:has-text('Where they disagree') + .wide a").first.click()
        page.wait_for_url(f"**/runs/{new.path.name}/row?**")


def test_the_debugger_asks_the_real_pipeline(visit: Any, serve: Any, tmp_path: Path, shot: Any) -> None:
    """The shipped example, its own corpus, embedder and re-ranker: as `ragauge serve` wires it."""
    from ragauge.cli.serve import _inspector

    example = Path(__file__).resolve().parents[2] / "src" / "ragauge" / "examples_data"
    shutil.copytree(example, tmp_path / "example")
    services = Services(inspector=_inspector(tmp_path / "example" / "ragauge.yaml"))
    with serve(settings_of(tmp_path), services) as address:
        made = visit(address)
        made.page.set_default_timeout(90_000)
        page = made.go("/debug")
        page.keyboard.press("/")
        page.keyboard.type("How many days are snapshots kept?")
        page.get_by_text("What should be found").click()
        page.get_by_label("One a line").fill("limits.md#0001")
        page.get_by_role("button", name="Look into it").click()
        page.get_by_role("heading", name="The lists side by side").wait_for()
        for title in ("Dense", "BM25", "Fused", "Re-ranked", "Given to the model"):
            expect(page.locator(".list h3", has_text=title)).to_have_count(1)
        expect(page.locator(".list li").nth(39)).to_be_attached()
        expect(page.locator(".plots svg")).to_have_count(5)
        expect(page.get_by_text("no language model is configured").first).to_be_visible()
        assert made.axe() == []
        first = page.locator(".list li a").first
        first.click()
        expect(page.locator(f"details{first.get_attribute('href')}[open]")).to_have_count(1)
        shot(made, "debugger-real")


_STATE = (
    "[document.documentElement.scrollWidth <= innerWidth + 1, document.querySelectorAll('main :is(script,iframe,object,"
    "embed,img,style,link,meta,base,math,video,audio)').length, document.querySelector('footer.foot') !== null,"
    " document.querySelectorAll('[onclick],[onerror],[onload]').length, document.title.includes('ragauge')]"
)
_SAFE = [True, 0, True, 0, True]


def test_hostile_text_does_nothing_in_debugger_and_review(visit: Any, serve: Any, tmp_path: Path) -> None:
    texts = [storable(text)[:30_000] for text in HOSTILE] + [LONG_LINE]
    found: dict[str, Inspection] = {str(place): an_inspection(text, text[:300]) for place, text in enumerate(texts)}

    async def inspect(question: str, *, gold: Sequence[str] = (), item: GoldenItem | None = None) -> Inspection:
        return found[question].model_copy(update={"question": texts[int(question)][:4_000] or "x"})

    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        queue.add(_hostile_item(place, text) for place, text in enumerate(texts))
    with serve(settings_of(tmp_path), Services(inspector=inspect)) as address:
        made = visit(address)
        made.page.set_default_timeout(60_000)
        page = made.go("/debug")
        for place in range(0, len(texts), 7):
            page.get_by_label("Question").fill(str(place))
            page.get_by_role("button", name="Look into it").click()
            page.get_by_role("heading", name="The lists side by side").wait_for()
            assert page.evaluate(_STATE) == _SAFE, texts[place][:60]
            made.go("/debug")
        made.go("/review")
        page.get_by_label("Who are you?").fill("<img src=x onerror=alert(1)>")
        page.get_by_role("button", name="Begin").click()
        page.locator("#label").wait_for(state="attached")
        with open_queue(str(tmp_path / "queue.sqlite")) as queue:
            items = [item.id for item in queue.items()]
        phone = visit(address, "phone")
        phone.page.set_default_timeout(60_000)
        phone.go("/review")
        phone.page.get_by_label("Who are you?").fill("pat")
        phone.page.get_by_role("button", name="Begin").tap()
        for place, item in enumerate(items):
            page.goto(f"{address}/review/items/{item}?blind={place % 2}", wait_until="domcontentloaded")
            assert page.evaluate(_STATE) == _SAFE, place
            if place % 6 == 5:
                phone.page.goto(f"{address}/review/items/{item}?blind=0", wait_until="domcontentloaded")
                assert phone.fits(), place
        made.go("/review?more=1&blind=0")
        for place in range(3, 93, 9):
            page.locator("textarea[name=note]").fill(texts[place][:300].replace("\x00", ""))
            page.locator("input[name=systematic]").fill(" ".join(texts[place][:100].replace("\x00", "").split()))
            page.locator(".verdicts button").nth(1).click()
            page.locator(".last").wait_for()
            assert page.evaluate(_STATE) == _SAFE, place
        made.go("/review/progress")
        assert page.evaluate(_STATE) == _SAFE
        phone.go("/review/progress")
        assert phone.fits()


def _hostile_item(place: int, text: str) -> Candidate:
    verdict = {
        "id": "c1",
        "claim": text[:2_000],
        "label": text[:200],
        "reason": text[:2_000],
        "quote": text,
        "evidence": text,
    }
    return Candidate(
        run=text[:200] or "r", item=f"{place}-{text[:300]}", metric="faithfulness", source="asked", reason=text[:2_000],
        payload={
            "question": text, "answer": f"{text} [1]", "reference": text, "tags": [text[:300]],
            "contexts": [{"id": text[:300], "document": text[:300], "rank": 1, "text": f"before {text} after"}],
            "verdict": {"value": 0.5, "verdicts": [verdict]},
        },
        priority=-float(place),
    )  # fmt: skip


def test_hostile_runs_in_calibration_clusters_and_lists(
    hostile_runs: Any, visit: Any, serve: Any, tmp_path: Path
) -> None:
    folder, ids, names = hostile_runs
    shutil.copytree(folder / "runs", tmp_path / "runs")
    one = next(name for name in names if name.startswith("2026"))
    run = RunDir.open(tmp_path / "runs" / one)
    items = queued(tmp_path, run, ids[:60])
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        for place, item in enumerate(items):
            queue.label(
                item,
                HOSTILE[place % 20].replace("\x00", ""),
                "faithful" if place % 3 else "unfaithful",
                note=HOSTILE[place],
            )
    with serve(settings_of(tmp_path)) as address:
        made = visit(address)
        for path in (
            f"/runs/{one}/calibration",
            "/calibration",
            f"/runs/{one}/clusters",
            "/review/progress",
            "/sweeps",
        ):
            page = ready(made, path)
            assert page.evaluate(_STATE) == _SAFE, path
        page = made.go(f"/runs/{one}/calibration")
        page.get_by_role("button", name="Calibrate with the queue’s labels").click()
        page.wait_for_load_state()
        assert page.evaluate(_STATE) == _SAFE
        made.problems[:] = [problem for problem in made.problems if "422" not in problem]
