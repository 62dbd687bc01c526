"""The page in a real browser: it opens from disk, asks nobody for anything; its own script runs, no other."""

from __future__ import annotations

import re
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragauge.report.html import html_parts
from ragauge.testing.runs import a_run

pytestmark = pytest.mark.slow


@pytest.fixture
def proxy() -> Iterator[tuple[int, list[str]]]:
    """A proxy that every request of the browser goes to; it notes them and answers none."""
    asked: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline(2000).decode("latin-1").strip())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1], asked
        server.shutdown()
        thread.join()


def visit(browser: str, folder: Path, page: Path, port: int, part: str = "", *flags: str) -> tuple[str, str]:
    """(the DOM after the scripts ran, what the browser said)."""
    done = subprocess.run(
        [
            browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-component-update",
            "--disable-background-networking", "--disable-sync", "--disable-default-apps", "--disable-extensions",
            "--disable-dev-shm-usage", "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}",
            f"--proxy-server=http://127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>", *flags, "--dump-dom",
            f"{page.as_uri()}{part}",
        ],
        capture_output=True, text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def write(folder: Path) -> Path:
    evil = (
        "<script>document.title='owned'</script><img src=http://evil.example/x.png onerror=\"document.title='owned'\">"
        "<style>@import url(http://evil.example/x.css);</style><iframe src=http://evil.example></iframe>"
        "<link rel=stylesheet href=http://evil.example/y.css><svg onload=\"document.title='owned'\">"
    )
    item = {"question": evil, "answer": f"{evil} [1]", "retrieved": [("c", evil)], "gold": "c", "tags": (evil, "plain")}
    values = {f"q{i} {evil}": {"faithfulness": float(i % 2), "recall": 1.0} for i in range(6)}
    items = {name: {**item, "total_ms": 5.0} for name in values}
    run = a_run(folder, values, items=items)
    page = folder / "report.html"
    page.write_text("".join(html_parts(run.manifest, run.records)), encoding="utf-8")
    return page


def test_the_page_asks_nobody_for_anything_and_runs_no_strange_script(
    browser: str, proxy: tuple[int, list[str]], tmp_path: Path
) -> None:
    port, asked = proxy
    page = write(tmp_path)
    dom, said = visit(browser, tmp_path, page, port)
    # The browser itself asks its maker a few things; the page names no such host.
    assert "google" not in page.read_text(encoding="utf-8")
    assert [line for line in asked if not re.search(r"\b(google|googleapis|gstatic)\.com\b", line)] == []
    assert "CONSOLE" not in said, said
    assert "<title>owned" not in dom
    assert "· ragauge report</title>" in dom


def test_a_page_that_does_ask_is_noticed(browser: str, proxy: tuple[int, list[str]], tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><img src=http://evil.example/x.png><script>undefined_name()</script>")
    _, said = visit(browser, tmp_path, page, proxy[0])
    assert any(line.startswith("GET http://evil.example/x.png") for line in proxy[1])
    assert "CONSOLE" in said


def test_the_filter_works_and_a_link_opens_its_row(browser: str, proxy: tuple[int, list[str]], tmp_path: Path) -> None:
    dom, said = visit(browser, tmp_path, write(tmp_path), proxy[0], "#r2c1")
    assert "CONSOLE" not in said, said
    assert re.search(r'<div class="filter" id="filter" role="group" aria-label="Which rows to show">', dom)
    assert ">6 of 6 rows</span>" in dom
    rows = dict(re.findall(r'<details class="row" id="(r\d+)"([^>]*)>', dom))
    assert len(rows) == 6
    assert [name for name, rest in rows.items() if "open" in rest] == ["r2"]


@pytest.mark.parametrize("flags", [(), ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")])
def test_it_is_drawn_in_both_themes(
    browser: str, proxy: tuple[int, list[str]], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    picture = tmp_path / "page.png"
    visit(
        browser, tmp_path, write(tmp_path), proxy[0], "", *flags, f"--screenshot={picture}", "--window-size=1200,1600"
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000
