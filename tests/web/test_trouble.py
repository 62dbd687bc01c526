"""What goes wrong around the page: half a form, a database that is down, a folder that cannot be written."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.test_security import csrf_of

from ragauge.errors import StoreError
from ragauge.store.rundir import RunDir
from ragauge.web import index
from ragauge.web.app import create_app
from ragauge.web.catalog import Catalog
from ragauge.web.jobs import Jobs, Waiting
from ragauge.web.security import Security, cookie_name
from ragauge.web.settings import WebSettings

Two = tuple[Path, RunDir, RunDir]
HERE = "http://127.0.0.1:8517"


def settings_of(two: Two, tmp_path: Path, **more: Any) -> WebSettings:
    given = {"cache": tmp_path / "cache", "queue": str(tmp_path / "queue.sqlite"), **more}
    return WebSettings(runs=two[0] / "runs", **given)


def client(settings: WebSettings, base: str = HERE) -> TestClient:
    return TestClient(create_app(settings), base_url=base, follow_redirects=False, raise_server_exceptions=False)


def test_half_a_form_is_not_carried_out() -> None:
    reached: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])

    async def send(message: Any) -> None:
        reached.append(message["type"])

    security = Security(app, WebSettings())
    cookie = security.sessions.new()
    body = f"csrf={security.sessions.csrf(cookie)}&item=1&label=unfaithful&note=the port is".encode()
    arriving = iter([{"type": "http.request", "body": body, "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(arriving)

    headers = [(b"host", b"127.0.0.1:8517"), (b"cookie", f"{cookie_name('127.0.0.1:8517')}={cookie}".encode()),
               (b"content-type", b"application/x-www-form-urlencoded"), (b"content-length", b"500")]  # fmt: skip
    scope = {"type": "http", "method": "POST", "path": "/review/label", "raw_path": b"/review/label",
             "query_string": b"", "headers": headers, "scheme": "http"}  # fmt: skip
    asyncio.run(security(scope, receive, send))
    assert reached == []


def test_two_pages_on_one_machine_do_not_take_each_others_session_away(two: Two, tmp_path: Path) -> None:
    jar: dict[str, str] = {}  # a browser sends its cookies to every port of a host
    one, other = (client(settings_of(two, tmp_path), f"http://127.0.0.1:{port}") for port in (8517, 8518))

    def asked(page: TestClient, method: str, path: str, **more: Any) -> Any:
        page.cookies.clear()
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in jar.items())} if jar else {}
        answer = page.request(method, path, headers=headers, **more)
        jar.update(answer.cookies)
        return answer

    token = csrf_of(asked(one, "GET", "/review").text)
    asked(other, "GET", "/review")
    assert asked(one, "POST", "/review/who", data={"csrf": token, "name": "ann"}).status_code == 303


def test_cookies_of_other_programs_on_this_machine_are_no_hindrance(two: Two, tmp_path: Path) -> None:
    page = client(settings_of(two, tmp_path))
    first = page.get("/review")
    ((name, value),) = first.cookies.items()
    page.cookies.clear()
    odd = f'prefs={{"a": [1, 2]}}; long={"x" * 9_000}; {name}={value}'
    data = {"csrf": csrf_of(first.text), "name": "ann"}
    assert page.post("/review/who", data=data, headers={"cookie": odd}).status_code == 303


def test_a_queue_that_is_down_takes_no_other_page_with_it(two: Two, tmp_path: Path) -> None:
    broken = tmp_path / "broken.sqlite"
    broken.write_text("no database at all, and long enough to be looked at")
    page = client(settings_of(two, tmp_path, queue=str(broken)))
    name = two[2].path.name
    for path in ("/", f"/runs/{name}/row?id=q1", f"/runs/{name}/calibration"):
        answer = page.get(path)
        assert answer.status_code == 200, path
        assert "file is not a database" in answer.text, path


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5_000, "-1", "1e3", ""], ids=lambda number: repr(number)[:9])
def test_odd_numbers_are_no_bug(two: Two, tmp_path: Path, number: str) -> None:
    page = client(settings_of(two, tmp_path))
    old, new = (run.path.name for run in two[1:])
    beside = {"a": old, "b": new, "id": "q1", "repeat": number}
    assert page.get("/compare/row", params=beside).status_code in (200, 404)
    assert page.get(f"/runs/{new}/row", params={"id": "q1", "repeat": number}).status_code == 200
    assert page.get(f"/runs/{new}/rows", params={"page": number}).status_code == 200
    assert page.get("/golden", params={"set": number}).status_code in (200, 404)
    token = csrf_of(page.get("/review").text)
    filled = page.post("/review/fill", data={"csrf": token, "run": new, "n": number})
    assert filled.status_code == 400
    assert "1 to 1000" in filled.text


def test_a_cache_that_cannot_be_written_says_which_and_what_to_do(two: Two, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    page = client(settings_of(two, tmp_path, cache=tmp_path / "file" / "cache"))
    old, new = (run.path.name for run in two[1:])
    for path in (f"/runs/{new}", f"/compare?a={old}&b={new}"):
        answer = page.get(path)
        assert (answer.status_code, "--cache" in answer.text) == (400, True), path


def test_a_bug_with_one_run_leaves_the_others_their_indexes(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(task: index.Task, told: Any = None) -> None:
        raise ValueError("not one of ours")

    settings = settings_of(two, tmp_path)
    indexes, entries = index.Indexes(settings, Jobs()), Catalog(settings).entries()
    real = index.build
    monkeypatch.setattr(index, "build", broken)
    assert indexes.small(entries[0]) is None
    warming = indexes._warming
    if warming is not None:
        warming.join(10)
    monkeypatch.setattr(index, "build", real)
    assert indexes.small(entries[1]) is None
    warming = indexes._warming
    if warming is not None:
        warming.join(20)
    assert indexes.ready(entries[1]) is not None


def test_a_cached_file_of_which_half_is_there_is_made_again(two: Two, tmp_path: Path) -> None:
    page = client(settings_of(two, tmp_path))
    name = two[2].path.name

    def looked_at() -> str:
        for _ in range(300):
            answer = page.get(f"/runs/{name}/clusters")
            if answer.status_code != 202:
                break
            asyncio.run(asyncio.sleep(0.2))
        assert answer.status_code == 200
        return re.sub(r'name="csrf" value="[^"]+"', "", answer.text)

    whole = looked_at()
    (kept,) = (tmp_path / "cache" / "clusters").iterdir()
    kept.write_bytes(kept.read_bytes()[:-40])
    assert looked_at() == whole
    json.loads(kept.read_bytes())


def test_modules_where_the_page_was_started_are_not_ours(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "threading", "pydantic"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(index, "INLINE_BYTES", 0)  # everything is read in the background
    settings = settings_of(two, tmp_path)
    entry = Catalog(settings).entries()[0]
    indexes = index.Indexes(settings, Jobs())
    with pytest.raises(Waiting) as waiting:
        indexes.get(entry)
    for _ in range(600):
        if waiting.value.job.finished:
            break
        asyncio.run(asyncio.sleep(0.1))
    assert waiting.value.job.failed is None
    assert indexes.ready(entry) is not None


def test_an_index_that_is_damaged_is_named(two: Two, tmp_path: Path) -> None:
    settings = settings_of(two, tmp_path)
    found = index.Indexes(settings, Jobs()).get(Catalog(settings).entries()[0])
    whole = found.file.read_bytes()
    found.file.write_bytes(whole[:4_096] + b"\xff" * (len(whole) - 4_096))
    for read in (found.view, found.gate, lambda: found.page(index.Filter(), 1, 25)):
        with pytest.raises(StoreError, match=found.file.name):
            read()


def test_dark_colours_are_for_screens_not_for_paper() -> None:
    for sheet in files("ragauge.web").joinpath("static").iterdir():
        if sheet.name.endswith(".css"):
            for media in re.findall(r"@media[^{]*prefers-color-scheme:\s*dark[^{]*", sheet.read_text()):
                assert "screen and" in media, sheet.name
