"""The page in real Chromium: by mouse and by keyboard, light, dark and on a phone, with text that wants more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.gate_settings import GateSettings
from ragauge.review import open_queue
from ragauge.web.settings import WebSettings

pytestmark = pytest.mark.slow
#: What a page shows is waited for, never looked at once: a click returns before the page is drawn anew.
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (group slow)").expect
TOKEN = "open sesame, please"
#: Looks at a page: does it fit, is there an element that no template writes, is its end there?
LOOK = """() => [
    document.documentElement.scrollWidth <= innerWidth + 1,
    document.querySelectorAll('main :is(script,iframe,object,embed,img,style,link,meta,base,math,video,audio)').length,
    document.querySelector('footer.foot') !== null,
    document.querySelectorAll('[onclick],[onerror],[onload]').length,
    document.title.includes('ragauge'),
]"""


@pytest.fixture(scope="module")
def server(two: Any, tmp_path_factory: pytest.TempPathFactory, serve: Any) -> Iterator[tuple[str, str, str, Path]]:
    folder, old, new = two
    place = tmp_path_factory.mktemp("page")
    gate = GateSettings(floors={"correctness": 0.7}, max_error_share=0.5)
    settings = WebSettings(runs=folder / "runs", cache=place / "cache", queue=str(place / "queue.sqlite"), gate=gate)
    with serve(settings) as address:
        yield address, old.path.name, new.path.name, place


def screens(old: str, new: str) -> dict[str, str]:
    return {
        "overview": "/",
        "runs": "/runs",
        "run": f"/runs/{new}",
        "rows": f"/runs/{new}/rows",
        "row": f"/runs/{new}/row?id=q4&outcome=bad",
        "pick": "/compare",
        "compare": f"/compare?a={old}&b={new}",
        "side-by-side": f"/compare/row?a={old}&b={new}&id=q2&metric=recall%405:chunk&way=worse",
        "missing": "/runs/nothing",
    }


@pytest.mark.parametrize("shape", ["light", "dark", "phone"])
def test_every_screen_is_accessible_and_fits(server: Any, visit: Any, shot: Any, shape: str) -> None:
    address, old, new, _ = server
    made = visit(address, shape)
    for name, path in screens(old, new).items():
        made.go(path)
        assert made.fits(), f"{name} is wider than the window"
        assert made.axe() == [], name
        shot(made, f"{name}-{shape}")
    made.problems[:] = [problem for problem in made.problems if "404" not in problem]  # the missing one


def test_from_the_failing_gate_to_the_evidence_and_into_the_queue_by_keyboard_alone(server: Any, visit: Any) -> None:
    address, _, new, place = server
    made = visit(address)
    page = made.go("/runs")
    page.keyboard.press("/")
    page.keyboard.type("new")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=new**")
    expect(page.locator("tbody tr").first).to_be_attached()
    link = page.get_by_role("link", name="new", exact=True)
    for _ in range(60):
        page.keyboard.press("Tab")
        if link.evaluate("one => one === document.activeElement"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{new}")
    expect(page.get_by_text("✗ fail").first).to_be_visible()
    page.keyboard.press("f")
    page.wait_for_url("**outcome=bad**")
    page.keyboard.press("Enter")
    page.wait_for_url("**/row?**")
    first = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != first)
    assert "outcome=bad" in page.url
    page.keyboard.press("k")
    page.wait_for_url(lambda url: url == first)
    page.keyboard.press("n")
    page.keyboard.press("n")
    pressed = page.locator("button.claim[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    name = pressed.get_attribute("data-claim")
    lit = page.locator(f"article mark.lit[data-claims~={name}]")
    expect(lit).to_have_count(1)
    expect(lit).to_be_in_viewport(ratio=1)
    expect(pressed).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".lit")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    expect(page.get_by_text("Next claim")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="detached")
    page.keyboard.press("a")
    page.get_by_text("It is in the review queue now.").wait_for()
    assert "outcome=bad" in page.url
    with open_queue(str(place / "queue.sqlite")) as queue:
        assert [item.source for item in queue.items()] == ["asked"]


def test_a_claim_by_mouse_shows_its_words_and_its_evidence(server: Any, visit: Any) -> None:
    address, _, new, _ = server
    made = visit(address)
    page = made.go(f"/runs/{new}/row?id=q4")
    page.locator("button.claim").nth(1).click()
    expect(page.locator("article mark.lit")).to_contain_text("It is closed")
    expect(page.locator("#c2.lit, #c1.lit")).to_have_count(1)
    page.locator("button.claim").nth(1).click()
    expect(page.locator(".lit")).to_have_count(0)
    page.locator("#answer mark").first.click()
    expect(page.locator("#answer mark.lit").first).to_be_attached()
    page.locator("a.cite").first.click()
    expect(page).to_have_url(re.compile(r"#c\d$"))
    rows = made.go(f"/runs/{new}/rows")
    rows.select_option("select[name=tag]", "rare")
    rows.wait_for_url("**tag=rare**")
    expect(rows.locator("tbody tr")).to_have_count(3)
    rows.get_by_role("link", name="recall@5:chunk").click()
    rows.wait_for_url("**sort=recall**")
    expect(rows.locator("th[aria-sort=ascending]")).to_have_count(1)


def test_without_scripts_everything_is_still_there(server: Any, visit: Any) -> None:
    address, old, new, _ = server
    made = visit(address, java_script_enabled=False)
    for path in screens(old, new).values():
        page = made.go(path)
        expect(page.locator("h1")).to_be_visible()
    page = made.go(f"/runs/{new}/rows")
    page.select_option("select[name=outcome]", "bad")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**outcome=bad**")
    expect(page.get_by_text("✗ failing").nth(3)).to_be_attached()
    made.problems[:] = [problem for problem in made.problems if "404" not in problem]


def test_hostile_text_does_nothing_in_a_browser(hostile_runs: Any, visit: Any, serve: Any, tmp_path: Path) -> None:
    folder, ids, names = hostile_runs
    one, two = (name for name in names if name.startswith("2026"))
    with serve(WebSettings(runs=folder / "runs", cache=folder / "cache", queue=str(tmp_path / "q"))) as address:
        made = visit(address)
        page = made.page
        page.goto(address + "/runs")
        listed = [a.get_attribute("href") for a in page.locator("tbody th a").all()]
        assert len(set(listed)) == len(names)
        paths = ["/", "/runs", f"/runs/{one}", f"/runs/{one}/rows?size=200", f"/compare?a={one}&b={two}", *listed]
        from urllib.parse import quote

        paths += [f"/runs/{one}/row?id={quote(item, safe='')}" for item in ids]
        paths += [f"/compare/row?a={one}&b={two}&id={quote(item, safe='')}" for item in ids[::3]]
        for path in paths:
            answer = page.goto(address + path, wait_until="domcontentloaded")
            assert answer.status == 200, path
            found = page.evaluate(LOOK)
            assert found == [True, 0, True, 0, True], path
        phone = visit(address, "phone")
        for path in paths[:5] + paths[20:110:9]:
            phone.page.goto(address + path, wait_until="domcontentloaded")
            assert phone.fits(), path


def test_a_token_is_asked_for_once(two: Any, visit: Any, serve: Any, tmp_path: Path) -> None:
    folder, _, new = two
    settings = WebSettings(runs=folder / "runs", cache=tmp_path / "c", queue=str(tmp_path / "q"), token=TOKEN)
    with serve(settings) as address:
        made = visit(address)
        page = made.go(f"/runs/{new.path.name}")
        expect(page).to_have_url(address + "/login")
        assert made.axe() == []
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Overview").wait_for()
        assert page.evaluate("document.cookie") == ""  # no script can read it
        made.go(f"/runs/{new.path.name}")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/login")
        assert page.goto(address + "/runs").url == address + "/login"


def test_a_page_elsewhere_can_neither_frame_it_nor_send_its_forms(server: Any, chromium: Any, tmp_path: Path) -> None:
    address, _, new, place = server
    before = (place / "queue.sqlite").stat().st_mtime_ns if (place / "queue.sqlite").exists() else 0
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{address}/runs/{new}/row?id=q5")
    evil = tmp_path / "evil.html"
    evil.write_text(
        f"<iframe src='{address}/runs'></iframe><form method=post action='{address}/runs/{new}/row/review'>"
        "<input name=id value=q5><input name=metric value=faithfulness><input name=csrf value=x>"
        "<button>go</button></form>"
    )
    page.goto(evil.as_uri())
    framed = [frame for frame in page.frames if frame != page.main_frame]
    assert all("Runs" not in (frame.content() or "") for frame in framed)
    with page.expect_response(lambda answer: answer.request.method == "POST") as answer:
        page.get_by_role("button", name="go").click()
    assert answer.value.status == 403
    context.close()
    after = (place / "queue.sqlite").stat().st_mtime_ns if (place / "queue.sqlite").exists() else 0
    assert after == before


def test_serve_starts_quickly_and_says_where_it_is(two: Any, tmp_path: Path) -> None:
    """The verb itself, as a process: it listens on loopback, answers, and ends at a signal."""
    import os
    import signal
    import subprocess
    import sys
    import time
    import urllib.request

    folder, _, _ = two
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "ragauge", "serve", "--port", "0", "--runs", str(folder / "runs"), "--cache", "c"],
        stderr=subprocess.PIPE, text=True, cwd=tmp_path, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert address is not None, said
        with urllib.request.urlopen(address.group() + "healthz", timeout=20) as answer:
            assert answer.read() == b"ok\n"
        seconds = time.monotonic() - began
        print(f"started in {seconds:.2f} s")
        assert seconds < 30, "far beyond the two seconds of a quiet machine (benchmarks/web.py measures it)"
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(20)
        assert process.stderr is not None
        left = process.stderr.read()
        process.stderr.close()
    assert (code, left) == (0, "")  # Ctrl-C is the way to end it


def test_other_machines_need_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `serve` decides, without serving."""
    from ragauge.cli.serve import TOKEN, _settings

    monkeypatch.delenv(TOKEN, raising=False)
    monkeypatch.chdir(tmp_path)
    flags: dict[str, Any] = dict.fromkeys(("settings", "queue", "log", "calibrations", "golden"))
    flags |= {"base": tmp_path, "make_token": False, "hosts": (), "cache": tmp_path}
    assert _settings("127.0.0.1", flags)[0].token is None
    outside = _settings("0.0.0.0", flags)[0]
    assert outside.token is not None
    assert len(outside.token) > 20
    assert outside.any_address
    assert _settings("127.0.0.1", flags | {"make_token": True})[0].token
    monkeypatch.setenv(TOKEN, "mine")
    assert _settings("0.0.0.0", flags)[0].token == "mine"
