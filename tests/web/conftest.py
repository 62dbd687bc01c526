"""A real server on loopback, a real Chromium, and axe-core for the page's tests."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.summarise import summarise
from ragauge.core.score import Scored, Unscored
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason
from ragauge.store.rundir import RunDir
from ragauge.testing.hostile import HOSTILE, HOSTILE_NAMES, storable
from ragauge.testing.runs import a_metric, a_run
from ragauge.web.app import create_app
from ragauge.web.settings import Services, WebSettings

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


RELEASE_METRICS = [
    a_metric("recall@5:chunk"),
    a_metric("faithfulness", half="generation", needs={"judge"}),
    a_metric("correctness", half="generation", needs={"judge"}),
]


def _judged(place: int, good: bool) -> Scored:
    label = "supported" if good else "contradicted"
    verdicts = (
        Verdict(id="c1", claim=f"The port is {place}.", label="supported", evidence="c1", quote=f"port is {place}"),
        Verdict(id="c2", claim="It is open.", label=label, evidence="c2", quote="It is closed", reason="it is closed"),
    )
    return Scored(value=1.0 if good else 0.5, count=2, verdicts=verdicts, details={"supported": 0.5})


def _save(run: RunDir) -> RunDir:
    run.save_summary(summarise(run.manifest, run.records()))
    return run


def _release(folder: Path, name: str, worse: int, created: str, n: int = 60) -> RunDir:
    """`n` questions; the first `worse` of those with an even number fail."""
    values: dict[str, Any] = {}
    items: dict[str, Any] = {}
    unread = Unscored(unscored=Reason.JUDGE_UNPARSEABLE, raw="{broken reply", detail="no JSON")
    for i in range(n):
        chunks = [("c1", f"Here the port is {i}, they say."), ("c2", "It is closed on Sundays."), ("c3", "x")]
        good = i % 5 != 4 and not (i % 2 == 0 and i < worse)
        values[f"q{i}"] = {
            "recall@5:chunk": float(good),
            "faithfulness": _judged(i, good) if i % 9 else unread,
            "correctness": float(good) if i % 7 else Reason.ABSTAINED,
        }
        items[f"q{i}"] = {
            "question": f"Which port has number {i}?",
            "answer": f"The port is {i} [1]. It is open [2]." if good else f"The port is {i} [1]. It is shut today.",
            "retrieved": chunks[:: 1 if good else -1],
            "gold": "c1",
            "tags": ("even" if i % 2 == 0 else "odd", *(["rare"] if i < 3 else [])),
            "total_ms": 100.0 + i,
            "scores": [0.9, 0.5, 0.1],
        }
    run = a_run(
        folder / "runs",
        values,
        name=name,
        metrics=RELEASE_METRICS,
        items=items,
        created=created,
        thresholds={"metrics": {}},
        settings={"k": 5 + worse},
    )
    return _save(run)


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunDir, RunDir]:
    folder = tmp_path_factory.mktemp("two")
    old = _release(folder, "old", 0, "2026-01-01T10:00:00+00:00")
    return folder, old, _release(folder, "new", 50, "2026-02-01T10:00:00+00:00")


@pytest.fixture(scope="session")
def hostile_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], list[str]]:
    """Two runs in which every text of others is hostile, and runs with hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    texts = [storable(text)[:30_000] for text in HOSTILE]
    ids = [f"{place}-{text[:300]}" for place, text in enumerate(texts)]
    values, items = {}, {}
    for name, text in zip(ids, texts, strict=True):
        verdict = Verdict(
            id="c1", claim=text or "x", label="supported", evidence=text, quote=text, reason=text, ballots={text: text}
        )
        broken = Unscored(unscored=Reason.JUDGE_UNPARSEABLE, raw=text, detail=text)
        values[name] = {
            "recall@5:chunk": 0.0,
            "faithfulness": Scored(
                value=0.5, verdicts=(verdict,), details={"reason": text, "raw": text, text[:50]: 0.5}
            ),
            "correctness": broken,
        }
        items[name] = {
            "question": text,
            "answer": f"{text} [1]",
            "reference": text,
            "gold": [text],
            "tags": (text,),
            "retrieved": [(text, text), ("other", f"before {text} after")],
            "keywords": [text],
            "model": text,
        }
    for run in ("one", "two"):
        changed = items if run == "one" else {k: {**v, "answer": "changed"} for k, v in items.items()}
        _save(
            a_run(
                folder / "runs",
                values,
                name=run,
                metrics=RELEASE_METRICS,
                items=changed,
                settings={"prompt": HOSTILE[0], "k": run},
                created="2026-01-01T10:00:00+00:00",
            )
        )
    for name in HOSTILE_NAMES:
        made = a_run(folder / "other", {"q": {"recall@5:chunk": 1.0}}, name="x", metrics=RELEASE_METRICS[:1])
        text = (made.path / "manifest.json").read_text().replace(made.manifest.run, json.dumps(name)[1:-1])
        (made.path / "manifest.json").write_text(text)
        made.path.rename(folder / "runs" / name)
    return folder, ids, sorted(path.name for path in (folder / "runs").iterdir())


@pytest.fixture(scope="session")
def a_release() -> Callable[..., RunDir]:
    """`a_release(folder, name, worse, created, n=60)` writes a run of which the first `worse` even questions fail."""
    return _release


class _Reader(HTMLParser):
    """Notes whatever no page of ours writes: unknown elements, handlers, inline styles, addresses elsewhere."""

    ELEMENTS = frozenset(
        re.findall(
            r"\w+",
            "wbr html head meta title link script noscript body a header footer main nav section article aside div "
            "span p h1 h2 h3 h4 ul ol li dl dt dd b i em strong code kbd pre mark sup br hr table caption thead "
            "tbody tfoot tr th td form label input select option optgroup button textarea fieldset legend details "
            "summary figure figcaption progress meter time output datalist dialog svg g line rect path polygon "
            "polyline circle text tspan desc defs pattern ",
        )
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.ELEMENTS:
            self.problems.append(f"element <{tag}>")
        for name, value in attrs:
            if name.startswith("on") or name in {"style", "srcdoc", "formaction", "xlink:href", "srcset"}:
                self.problems.append(f"<{tag} {name}>")
            own = (value or "").startswith(("/", "#", "?")) and not (value or "").startswith("//")
            if name in {"href", "src", "action"} and value and not own:
                self.problems.append(f"<{tag} {name}={value[:80]!r}>")
        if tag == "script" and "src" not in dict(attrs):
            self.problems.append("a script in the page")

    def handle_decl(self, decl: str) -> None:
        if decl != "doctype html":
            self.problems.append(f"declaration {decl[:40]}")

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"comment {data[:40]}")

    def unknown_decl(self, data: str) -> None:
        self.problems.append(f"declaration {data[:40]}")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"instruction {data[:40]}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="session")
def read_html() -> Callable[[str], str]:
    """`read_html(page)` → its text; fails when the page holds markup that no template of ours writes."""

    def read(page: str) -> str:
        reader = _Reader()
        reader.feed(page)
        reader.close()
        assert reader.problems == []
        text = "".join(reader.text)
        unshown = "\x00\x1b\x07\x08\x9b\u202a\u202b\u202d\u202e\u2066\u2067\u2068"
        hidden = [letter for letter in page if letter in unshown]
        assert hidden == []
        return text

    return read


@pytest.fixture(scope="session")
def serve() -> Callable[..., Any]:
    """`with serve(settings, services) as address:` the application behind a real server."""
    return serving
