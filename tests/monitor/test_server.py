"""The endpoint: what is right is taken, what is wrong gets a status and a reason, and nothing brings it down."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.monitor.serving import CHUNKS, Served, all_of, serving

from ragauge.cli.monitor import command
from ragauge.errors import InputError
from ragauge.monitor import server, trace_buffer
from ragauge.monitor.otlp import Span
from ragauge.monitor.settings import LogSettings, ServerSettings

#: Six megabytes that unpack from six kilobytes.
_BOMB = gzip.compress(b'{"question":"' + b"0" * 6_000_000)
GOOD = {"question": "How?", "chunks": CHUNKS}


@pytest.mark.slow
def test_every_answer_of_the_endpoint(tmp_path: Path) -> None:
    settings = "monitor: {redact: [email], server: {token: '${T}', max_body_mb: 0.1, max_batch: 5, max_record_kb: 4}}"
    with serving(tmp_path / "log", settings=settings, T="s3cret") as served:
        token = {"authorization": "Bearer s3cret"}

        def post(body: Any, path: str = "/v1/queries", **headers: str) -> tuple[int, dict[str, Any]]:
            return served.post(path, body, **(token | headers))

        status, answer = served.post("/v1/queries", GOOD)
        assert (status, "token" in answer["error"]) == (401, True)
        assert served.post("/v1/queries", GOOD, authorization="Bearer wrong")[0] == 401
        status, answer = post({"query": "I am ann@example.org", "contexts": ["x"], "latency_ms": 5, "rating": "👎"})
        assert status == 200
        first = answer["id"]
        assert post([GOOD, {"question": ""}, 7]) == (207, {
            "accepted": 1, "id": all_but(tmp_path / "log", first), "rejected": [
                {"index": 1, "reason": "question: String should have at least 1 character"},
                {"index": 2, "reason": "a record is an object, found int"},
            ],
        })  # fmt: skip
        assert post({"queries": [GOOD] * 3})[1]["accepted"] == 3
        lines = "\n".join(json.dumps({"question": f"q{n}"}) for n in range(3)).encode()
        assert post(lines, content_type="application/x-ndjson")[1]["accepted"] == 3
        assert post(gzip.compress(json.dumps(GOOD).encode()), content_encoding="gzip")[0] == 200
        assert post({"id": first, "value": "up"}, "/v1/feedback")[0] == 200
        for status, body, headers in [
            (400, b"{", {}), (400, b"[]", {}), (400, b'{"question": NaN}', {}), (400, b"[" * 50_000, {}),
            (400, b"no gzip", {"content_encoding": "gzip"}),
            (413, gzip.compress(b" " * 900_000), {"content_encoding": "gzip"}),
            (413, b" " * 200_000, {}), (413, [GOOD] * 6, {}), (413, {"question": "x" * 5_000}, {}),
            (415, GOOD, {"content_type": "text/plain"}), (415, GOOD, {"content_encoding": "br"}),
            (422, {"question": "q", "total_ms": -1}, {}), (422, {"question": "q", "at": "2099-01-01"}, {}),
            (422, {"question": "q", "at": "1999-01-01"}, {}), (422, {"question": "q", "feedback": "meh"}, {}),
            (422, [1], {}),
        ]:  # fmt: skip
            found, answer = post(body, **headers)
            assert found == status, (status, found, answer)
            assert answer.get("error") or answer["rejected"][0]["reason"]
        assert post(b"\xff\xff", "/v1/traces", content_type="application/x-protobuf")[0] == 400
        assert post({"resourceSpans": 1}, "/v1/traces")[0] == 400
        assert post({"id": "x"}, "/v1/feedback")[0] == 422
        assert post(GOOD, "/nowhere")[0] == 404
    found = all_of(tmp_path / "log")
    assert len(found) == 9
    assert (found[first].question, found[first].feedback, found[first].total_ms) == ("I am [email]", "up", 5.0)


def all_but(log: Path, known: str) -> str:
    return next(query for query in all_of(log) if query != known)


def _hostile(random_: random.Random, n: int) -> tuple[bytes, dict[str, str], str]:
    """A body that must be refused."""
    texts = ["' OR 1=1 --", "<script>alert(1)</script>", "../../etc/passwd", "\u202e", "{{7*7}}", "=cmd|' /C calc'!A0"]
    text = random_.choice(texts)
    path = random_.choice(["/v1/queries", "/v1/queries", "/v1/feedback", "/v1/traces"])
    kind = n % 12
    bodies: list[Callable[[], bytes]] = [
        lambda: random_.randbytes(random_.randrange(1, 2_000)),
        lambda: json.dumps({"question": {"deep": text}}).encode(),
        lambda: json.dumps([[text], text, None, True, 1e300]).encode(),
        lambda: b'{"question": "' + b"x" * random_.randrange(1_100_000, 1_400_000) + b'"}',
        lambda: b"[" * random_.randrange(1_000, 100_000),
        lambda: json.dumps(
            {"question": text, "at": random_.choice([text, "9999-99-99", "2999-01-01", 1e30, -5])}
        ).encode(),
        lambda: json.dumps({"question": text, "chunks": [{"id": "", "rank": -1}], "total_ms": text}).encode(),
        lambda: b'{"question": "' + b"\\ud800" * 50 + b'"}',
        lambda: json.dumps({"id": text * 300, "question": "q", "query_id": text * 300}).encode(),
        lambda: json.dumps(
            {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": text, "spanId": "1"}]}]}]}
        ).encode(),
        lambda: _BOMB[: random_.randrange(20, 5_900)],
        lambda: b'{"question": 1e999, "total_ms": Infinity}',
    ]
    headers = {"content_type": "application/json"}
    if kind == 10 or (kind == 0 and n % 2):
        headers["content_encoding"] = "gzip"
    if kind == 0 and path == "/v1/traces":
        headers["content_type"] = "application/x-protobuf"
        return b"\xff" + bodies[0](), headers, path
    return bodies[kind](), headers, path


def _broken_connection(served: Served, random_: random.Random) -> None:
    """A request that is no HTTP, ends early, or lies about its length."""
    post = b"POST /v1/queries HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    raw = random_.choice([
        b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", post + b"Content-Length: 900\r\n\r\n{",
        post + b"Content-Length: -1\r\n\r\n", post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        post + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
    ])  # fmt: skip
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(raw)


@pytest.mark.slow
def test_5000_hostile_requests_are_refused_with_reasons_and_lose_nothing(tmp_path: Path) -> None:
    with serving(tmp_path / "log", settings="monitor: {server: {max_body_mb: 1}}") as served:
        good: set[str] = set()
        statuses: list[int] = []
        wrong: list[Any] = []
        stop = threading.Event()

        def ask() -> None:
            mine = Served(served.url, served.log, served.process)
            while not stop.is_set():
                status, answer = mine.post("/v1/queries", GOOD)
                if status != 200:
                    wrong.append((status, answer))
                    break
                good.add(answer["id"])
            mine.hang_up()

        def attack(first: int, last: int) -> None:
            mine, random_ = Served(served.url, served.log, served.process), random.Random(first)
            for n in range(first, last):
                if n % 25 == 0:
                    _broken_connection(served, random_)
                    continue
                body, headers, path = _hostile(random_, n)
                try:
                    status, answer = mine.post(path, body, **headers)
                except ConnectionError as error:
                    wrong.append((n, path, body[:100], error))
                    continue
                statuses.append(status)
                told = answer.get("error") or all(one["reason"] for one in answer.get("rejected", [{"reason": ""}]))
                if not 400 <= status < 500 or not told:
                    wrong.append((n, status, path, body[:100], answer))
            mine.hang_up()

        def attacks(first: int, last: int) -> None:
            size = (last - first) // 10
            threads = [threading.Thread(target=attack, args=(n, n + size)) for n in range(first, last, size)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            attacks(0, 1_000)
            resident = served.rss_kb()
            attacks(1_000, 5_000)
        finally:
            stop.set()
            asking.join()
        grown = served.rss_kb() - resident
        assert not wrong, wrong[:3]
        assert served.health()["failures"] == 0
        assert served.process.poll() is None
    assert len(statuses) == 4_800
    assert {400, 413, 422} <= set(statuses)
    assert grown < 60_000, f"{grown} kB more after 5000 requests than after 1000"
    assert len(good) > 20
    assert all_of(tmp_path / "log").keys() == good


@pytest.mark.slow
def test_ctrl_c_ends_it_without_a_complaint(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as served:
        status, answer = served.post("/v1/queries", GOOD)
        assert status == 200
        served.hang_up()
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(20) == 0
        assert served.process.stderr is not None
        assert served.process.stderr.read() == ""
    assert all_of(tmp_path / "log").keys() == {answer["id"]}


def _ragauge(*arguments: str) -> Any:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False, standalone_mode=False)


def test_files_of_other_tools_come_in_and_again_add_nothing(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = [
        {"user_input": "How?", "response": "So.", "retrieved_contexts": ["a", "b"],
         "timestamp": "2026-03-14T10:00:00+01:00", "latency": 120, "conversation_id": 7},
        {"query": "Why?", "latency_ms": "no number"},
    ]  # fmt: skip
    lines = tmp_path / "a.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in rows) + "\nno json\n")
    columns = {"question": ["one", "two"], "score": [0.5, 0.25], "created_at": ["2026-03-14T00:00:00Z"] * 2}
    table = tmp_path / "b.parquet"
    parquet.write_table(pyarrow.table(columns), table)
    log = str(tmp_path / "log")
    for _ in range(2):
        done = _ragauge("ingest", str(lines), str(table), "--log", log, "--project", "old", "--json")
        assert done.return_value == 2
        answer = json.loads(done.stdout)
        assert (answer["taken"], answer["n_rejected"]) == (3, 2)
        assert [one["line"] for one in answer["rejected"]] == [2, 3]
    found = {query.question: query for query in all_of(log).values()}
    assert found.keys() == {"How?", "one", "two"}
    assert (found["How?"].answer, found["How?"].n_chunks, found["How?"].session) == ("So.", 2, "7")
    assert found["How?"].at.isoformat() == "2026-03-14T09:00:00+00:00"
    assert {query.project for query in found.values()} == {"old"}
    feedback = tmp_path / "f.jsonl"
    feedback.write_text(json.dumps({"trace_id": found["one"].id, "thumb": -1, "comment": "wrong"}) + "\n")
    assert _ragauge("ingest", "--feedback", str(feedback), "--log", log).return_value == 0
    assert all_of(log)[found["one"].id].feedback == "down"
    assert json.loads(_ragauge("compact", "--log", log, "--json").stdout)["rows"] == 4
    assert len(all_of(log)) == 3
    gone = _ragauge("prune", "--log", log, "--keep-days", "1", "--json")
    assert len(json.loads(gone.stdout)["deleted"]) >= 1
    assert not all_of(log)


def test_small_answers_are_sent_at_once() -> None:
    from ragauge.cli.serve import _listen

    with _listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()) as client:
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP  # what asyncio looks at before it sets TCP_NODELAY
            assert client.fileno() > 0


def test_what_fails_in_the_background_stops_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(root: Path) -> None:
        raise ValueError("not one of ours")

    monkeypatch.setattr(server, "compact", broken)
    monkeypatch.setattr(trace_buffer, "_AFTER_ROOT_S", 0.0)
    old = tmp_path / "queries" / "2020-01-01"
    old.mkdir(parents=True)
    settings = LogSettings(keep_days=1, server=ServerSettings(compact_minutes=0.001))

    async def main() -> None:
        endpoint = server.Endpoint(tmp_path, settings)
        keeping = asyncio.create_task(endpoint.keep())
        async with asyncio.timeout(20):
            while old.exists() or endpoint.counts["failures"] < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            span = Span("a" * 32, "b" * 16, None, "ask", 0, 10**9, {"input.value": "Still there?",
                        "openinference.span.kind": "CHAIN"})  # fmt: skip
            endpoint.traces.write([span])
            endpoint.traces.hold([span])
            while not endpoint.counts["traces"]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert not keeping.done()
        keeping.cancel()
        endpoint.traces.close()
        endpoint.writer.close()

    asyncio.run(main())


def test_json_in_any_layout_comes_in_and_the_same_content_twice_in_a_file_is_two_queries(tmp_path: Path) -> None:
    files: dict[str, bytes] = {
        "bom.json": b'\xef\xbb\xbf[{"question": "list"}]',
        "indented.json": b'\n\n\n\n\n   [\n {"question": "indented"}\n]',
        "wrapped.json": json.dumps({"queries": [{"question": "wrapped"}, {"question": "too"}]}, indent=1).encode(),
        "one.json": json.dumps({"question": "one", "answer": "only"}, indent=1).encode(),
        "lines.json": b'{"question": "first"}\n{"question": "second"}\n',
        "laid out.json.gz": gzip.compress(json.dumps([{"question": "laid out"}], indent=1).encode()),
        "packed.jsonl.gz": gzip.compress(b'{"question": "packed"}\n'),
        "same.jsonl": b'{"question": "same"}\n\n{"question": "same"}\n',
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    log = str(tmp_path / "log")
    for _ in range(2):
        done = _ragauge("ingest", *(str(tmp_path / name) for name in files), "--log", log)
        assert done.return_value == 0, done.output
    asked = sorted(query.question for query in all_of(log).values())
    assert asked == [
        "first",
        "indented",
        "laid out",
        "list",
        "one",
        "packed",
        "same",
        "same",
        "second",
        "too",
        "wrapped",
    ]


def test_every_record_that_is_not_taken_is_listed_with_its_line_and_reason(tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text("\n" + '{"id": "\\ud800", "answer": "x"}\n' + "no json\n" + "{}\n" * 1_500)
    listed = tmp_path / "rejected.jsonl"
    done = _ragauge("ingest", str(lines), "--log", str(tmp_path / "log"), "--rejected", str(listed), "--json")
    assert done.return_value == 2
    told = json.loads(done.stdout)
    found = [json.loads(line) for line in listed.read_text().splitlines()]
    assert [one["line"] for one in found] == list(range(2, 1_504))
    assert found[1]["reason"].startswith("no JSON")
    assert (told["n_rejected"], len(told["rejected"]), told["n_rejected_left_off"]) == (1_502, 1_000, 502)
    wide = tmp_path / "wide.jsonl"
    wide.write_bytes('{"question": "q"}'.encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        _ragauge("ingest", str(wide), "--log", str(tmp_path / "log"))
