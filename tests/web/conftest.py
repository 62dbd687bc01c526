"""A real server on loopback, a real Chromium, and axe-core for the page's tests."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragauge.web.app import create_app
from ragauge.web.settings import Services, WebSettings

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: The three shapes that every screen is looked at in.
SHAPES = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}, "has_touch": True},
}


@contextmanager
def serving(settings: WebSettings, services: Services | None = None) -> Iterator[str]:
    """The application behind a real uvicorn on a free port of loopback; gives its address, without a last slash."""
    import uvicorn

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        create_app(settings, services), log_level="warning", ws="none", lifespan="off", loop="asyncio"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            threading.Event().wait(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(15)
        listening.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One headless Chromium for the session; the test skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (group slow)")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)} is on PATH")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page in the browser, with everything that must never happen noted in `problems`."""

    page: Any
    address: str
    problems: list[str]

    def go(self, path: str) -> Any:
        """Open a path of the server; the answer must not be an error of ours."""
        answer = self.page.goto(self.address + path)
        assert answer is not None
        assert answer.status < 500, f"{path}: {answer.status}"
        return self.page

    def axe(self) -> list[str]:
        """Serious and critical findings of axe-core, in words."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [
            f"{one['id']} ({one['impact']}): {one['help']}: " + "; ".join(n["html"][:160] for n in one["nodes"][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    def fits(self) -> bool:
        """Whether nothing sticks out to the side: the page itself never scrolls sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"))


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Visit]]:
    """`visit(address, shape="dark")` → a `Visit`. Errors, dialogs and requests elsewhere fail the test at its end."""
    contexts = []
    visits: list[Visit] = []

    def start(address: str, shape: str = "light", **more: Any) -> Visit:
        context = chromium.new_context(**{**SHAPES[shape], **more})
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        made = Visit(page, address, [])
        note = made.problems.append
        page.on("dialog", lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: note(f"script error: {error}"))
        page.on("console", lambda said: note(f"console: {said.text}") if said.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(address) else note(f"asked for {asked.url}"))
        visits.append(made)
        return made

    yield start
    for context in contexts:
        context.close()
    for made in visits:
        assert made.problems == []


@pytest.fixture
def shot(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Callable[[Visit, str], Path]:
    """`shot(visit, "row-dark")` writes a screenshot, to be looked at: into RAGAUGE_SHOTS if that is set."""
    import os

    folder = Path(os.environ.get("RAGAUGE_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)

    def take(made: Visit, name: str) -> Path:
        path = folder / f"{name}.png"
        made.page.screenshot(path=str(path))
        return path

    return take
