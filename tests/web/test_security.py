"""The page is only for those it is for: host names, tokens, forged forms, sizes, headers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from ragauge.web.app import create_app
from ragauge.web.pages import session
from ragauge.web.security import COOKIE, HEADERS, Security, Sessions
from ragauge.web.settings import MAX_URL, WebSettings

HERE = "http://127.0.0.1:8517"
TOKEN = "a token of some length"
HTML = {"accept": "text/html"}


def client(folder: Path, base: str = HERE, **settings: Any) -> TestClient:
    given = WebSettings(runs=folder, cache=folder / "cache", queue=str(folder / "queue.sqlite"), **settings)
    return TestClient(create_app(given), base_url=base, follow_redirects=False)


def csrf_of(text: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', text)
    assert found is not None
    return found.group(1)


def signed_in(folder: Path) -> tuple[TestClient, str]:
    made = client(folder, token=TOKEN)
    assert made.post("/login", data={"token": TOKEN}).status_code == 303
    return made, csrf_of(made.get("/runs", headers=HTML).text)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8517", "127.0.0.1.evil.example", "x@evil.example", "", "a/b", "[::1", "1:2:3"],
)  # fmt: skip
def test_another_name_for_this_machine_is_not_answered(tmp_path: Path, host: str) -> None:
    answer = client(tmp_path).get("/runs", headers={"host": host})
    assert answer.status_code == 421
    assert "<html" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8517", "localhost:1", "LOCALHOST", "[::1]:8517"])
def test_loopback_is_answered_under_its_names(tmp_path: Path, host: str) -> None:
    assert client(tmp_path).get("/runs", headers={"host": host}).status_code == 200


def test_a_name_that_was_allowed_is_answered_and_literal_addresses_only_where_all_are_listened_on(
    tmp_path: Path,
) -> None:
    allowed = client(tmp_path, hosts=("Eval.Internal",))
    assert allowed.get("/runs", headers={"host": "eval.internal:80"}).status_code == 200
    assert allowed.get("/runs", headers={"host": "192.0.2.7"}).status_code == 421
    everywhere = client(tmp_path, token=TOKEN, any_address=True)
    assert everywhere.get("/login", headers={"host": "192.0.2.7:8517"}).status_code == 200
    assert everywhere.get("/login", headers={"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize("path", ["/", "/runs", "/nope", "/static/page.css", "/static/../app.py", "/login"])
def test_every_answer_has_the_headers(tmp_path: Path, path: str) -> None:
    headers = client(tmp_path).get(path).headers
    assert {name: headers.get(name) for name in HEADERS} == HEADERS
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


def test_refusals_and_bugs_have_the_headers_too(tmp_path: Path) -> None:
    refused = client(tmp_path).get("/runs", headers={"host": "evil.example"})
    assert refused.headers["content-security-policy"] == HEADERS["content-security-policy"]

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    answer = TestClient(Security(broken, WebSettings()), base_url=HERE).get("/")
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2f..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2f", "/static/.",
        "/runs/..%2f..", "/runs/%2e%2e%2f%2e%2e%2fetc", "/runs/..%5c..", "/runs/%00", "/static/page.css%00",
    ],
)  # fmt: skip
def test_no_path_leads_out(tmp_path: Path, path: str) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "manifest.json").write_text("{}")
    assert client(tmp_path / "runs").get(path).status_code in {404, 405}


def test_without_the_token_there_is_only_the_form(tmp_path: Path) -> None:
    made = client(tmp_path, token=TOKEN)
    page = made.get("/runs", headers=HTML)
    assert (page.status_code, page.headers["location"]) == (303, "/login")
    assert made.get("/runs").status_code == 401
    assert made.get("/nope").status_code == 401
    assert made.post("/logout").status_code == 401
    assert made.get("/login").status_code == 200
    assert made.get("/static/page.css").status_code == 200
    assert TOKEN not in repr(WebSettings(token=TOKEN))


def test_a_wrong_token_does_not_let_in_and_a_right_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "WRONG_S", 0.0)
    made = client(tmp_path, token=TOKEN)
    for wrong in ("", "x", TOKEN + " x", TOKEN[:-1], TOKEN.upper(), "\x00", "ü" * 50):
        answer = made.post("/login", data={"token": wrong})
        assert answer.status_code == 401
        assert COOKIE not in answer.headers.get("set-cookie", "")
        assert "not the token" in answer.text
    right = made.post("/login", data={"token": TOKEN})
    cookie = right.headers["set-cookie"].casefold()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert TOKEN not in right.headers["set-cookie"]
    assert made.get("/runs", headers=HTML).status_code == 200


def test_a_script_may_send_the_token_in_a_header(tmp_path: Path) -> None:
    made = client(tmp_path, token=TOKEN)
    assert made.get("/runs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    for wrong in (f"Basic {TOKEN}", "Bearer", "Bearer x", TOKEN):
        assert made.get("/runs", headers={"authorization": wrong}).status_code == 401


def test_a_session_cannot_be_made_up_and_ends_with_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(TOKEN)
    good = sessions.new()
    nonce, expiry, signature = good.split(".")
    assert sessions.valid(good)
    assert Sessions(TOKEN).valid(good)  # after a restart as well
    for bad in (
        "",
        None,
        "x",
        "..",
        f"{nonce}.{int(expiry) + 1}.{signature}",
        f"{nonce}.{expiry}.",
        "é" * 10,
        good + "x" * 300,
    ):
        assert not sessions.valid(bad)
    assert not Sessions("another").valid(good)
    assert not Sessions(None).valid(good)
    import time

    monkeypatch.setattr(time, "time", lambda: float(expiry) + 1)
    assert not sessions.valid(good)


def test_signing_out(tmp_path: Path) -> None:
    made, csrf = signed_in(tmp_path)
    assert made.post("/logout").status_code == 403
    assert made.post("/logout", data={"csrf": csrf}).status_code == 303
    assert made.get("/runs").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8517"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
    ],
)  # fmt: skip
def test_a_form_of_another_page_is_refused_even_with_the_right_csrf_token(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    made, csrf = signed_in(tmp_path)
    assert made.post("/logout", data={"csrf": csrf}, headers=headers).status_code == 403
    ours = {"origin": HERE, "sec-fetch-site": "same-origin"}
    assert made.post("/logout", data={"csrf": csrf}, headers=ours).status_code == 303


def test_the_csrf_token_belongs_to_the_session(tmp_path: Path) -> None:
    _, other = signed_in(tmp_path)
    made, csrf = signed_in(tmp_path)
    assert other != csrf
    for wrong in (other, "", "x", "é"):
        assert made.post("/logout", data={"csrf": wrong}).status_code == 403
    assert made.post("/logout", headers={"x-csrf-token": csrf}, json={}).status_code == 303


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    made = client(tmp_path, max_body=10_000)
    assert made.get("/runs?q=" + "x" * MAX_URL).status_code == 414
    assert made.post("/logout", data={"csrf": "x" * 20_000}).status_code == 413
    streamed = made.post(
        "/logout", content=iter([b"x" * 6_000, b"x" * 6_000]), headers={"content-type": "application/json"}
    )
    assert streamed.status_code == 413
    many = made.post(
        "/logout", content="&".join(["a=1"] * 2_400), headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert many.status_code == 413
    assert made.post("/logout", headers={"content-length": "-5"}).status_code == 413


def test_other_methods_and_other_kinds_of_bodies_are_refused(tmp_path: Path) -> None:
    made = client(tmp_path)
    assert {made.request(name, "/runs").status_code for name in ("PUT", "DELETE", "PATCH", "TRACE")} == {405}
    assert made.post("/logout", files={"file": b"x"}).status_code == 415
    assert made.post("/logout", content=b"<x/>", headers={"content-type": "text/plain"}).status_code == 415


def test_static_files_are_only_ours_and_may_be_kept(tmp_path: Path) -> None:
    made = client(tmp_path)
    answer = made.get("/static/page.js")
    assert answer.headers["content-type"].startswith(("text/javascript", "application/javascript"))
    assert "immutable" in answer.headers["cache-control"]
    assert made.get("/static/app.py").status_code == 404
    assert made.get("/runs").headers["cache-control"] == "no-store"
