from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.core.sample import RetrievedChunk
from ragauge.judges.exact.judge import name_faults
from ragauge.judges.exact.names import names

GUIDE = """\
# Relay

Install it with `pip install relay-kit==2.4.1`. Needs Python 3.11. Since v3.2.0 the cache is kept.

```python
from relay.client import Session, connect

class Session(Base):
    def drain(self, wait: bool = True, timeout=30): ...
```

Run `relay drain queue --max-age=90` or `relay drain <name> --level N`. `--no-cache` skips it.
Settings are in `/etc/relay/relay.toml` and `C:\\ProgramData\\Relay\\relay.log`; `cache.ttl_seconds = 60` by default.
Set `RELAY_HOME`. `GET /v1/queues/{id}/items` lists, `DELETE /v1/queues/{id}` removes. See https://docs.relay.dev/guide.
The `QueueClosedError` is raised; code `E-4012`. `_collect_now` is private. Write to help@relay.dev.
"""


def faults(claim: str, text: str = GUIDE) -> tuple[str, ...]:
    return name_faults(claim, [RetrievedChunk(id="c1", document="guide/relay.md", text=text, rank=1)])


@pytest.mark.parametrize(
    "claim",
    [
        "Run `relay drain queue --max-age=90`.",
        "Pass --no-cache, or `--max-age`, to skip it.",
        "`--level 4` is allowed, and so is `--level=7`.",
        "The settings are in /etc/relay/relay.toml.",
        "relay.toml holds the settings (see guide/relay.md).",
        "It logs to `C:\\ProgramData\\Relay\\relay.log`.",
        "It needs Python 3.11 and the cache is kept since 3.2.",
        "Version 2.4.1 of the package relay-kit is installed.",
        "`relay.client.connect()` and `Session.drain()` exist; connect() connects.",
        "`drain(wait=True, timeout=30)` waits.",
        "Sessions' `drain` method waits. The `Session`s are closed.",
        "RELAY_HOME, `$RELAY_HOME` or ${RELAY_HOME} says where.",
        "`cache.ttl_seconds` is 60 by default.",
        "GET `/v1/queues/{queue_id}/items` lists; so does `GET /v1/queues/:id/items`, or GET /v1/queues/42/items.",
        "DELETE /v1/queues/{id} removes it, see <https://docs.relay.dev/guide>.",
        "QueueClosedErrors are raised with code E-4012.",
        "Collect_now is private: help@relay.dev.",
        "The read/write ratio is 2.5, i.e. more than 1.5 seconds, e.g. over TCP/IP on Node.js.",
        "Use `export RELAY_HOME=/etc/relay` and `true`.",
        "An ordinary sentence about caches and queues.",
    ],
)
def test_what_the_chunks_hold_is_no_fault(claim: str) -> None:
    assert faults(claim) == ()


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("Run `relay flush queue`.", "relay flush"),
        ("Pass `--no-caching`.", "--no-caching"),
        ("Pass --min-age=90.", "--min-age"),
        ("Use `--max-age=45`.", "--max-age=45"),
        ("The settings are in /etc/relay/server.toml.", "/etc/relay/server.toml"),
        ("The settings are in `/etc/relay/relay.toml.bak`.", "relay.toml.bak"),
        ("It logs to `D:\\Relay\\relay.log`.", "D:\\Relay\\relay.log"),
        ("It needs Python 3.12.", "3.12"),
        ("The cache is kept since v3.3.", "3.3"),
        ("`relay-kit==2.4.2` is installed.", "2.4.2"),
        ("Call `Session.close()`.", "Session.close"),
        ("`connect()` and `disconnect()` exist.", "disconnect"),
        ("`drain(force=True)` waits.", "force"),
        ("Set RELAY_ROOT.", "RELAY_ROOT"),
        ("`cache.ttl_minutes` is 60.", "cache.ttl_minutes"),
        ("`cache.ttl_seconds = 61`", "cache.ttl_seconds=61"),
        ("POST /v1/queues/{id} removes it.", "POST /v1/queues/{id}"),
        ("GET /v2/queues/{id}/items lists.", "GET /v2/queues/{id}/items"),
        ("See https://docs.relay.dev/manual.", "https://docs.relay.dev/manual"),
        ("A QueueOpenError is raised with code E-4013.", "QueueOpenError, E-4013"),
        ("`relay_home` says where.", "relay_home"),
        ("Write to support@relay.dev.", "support@relay.dev"),
    ],
)
def test_what_no_chunk_holds_is_named(claim: str, missing: str) -> None:
    found = " ".join(faults(claim))
    assert found.startswith("no chunk holds")
    for one in missing.split(", "):
        assert one in found


def test_escaped_and_encoded_names_are_the_same() -> None:
    assert faults("`max_age` and `a<b>c`", "Set max\\_age; a&lt;b&gt;c.") == ()


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_its_own_evidence_or_at_least_does_no_harm(text: str) -> None:
    assert isinstance(names(text), tuple)
    assert isinstance(name_faults(text or "x", [RetrievedChunk(id="c", text=text, rank=1)]), tuple)


def test_monstrous_input_takes_no_time() -> None:
    import time

    started = time.process_time()
    for text in ("a." * 20_000, "--" * 20_000, "/a" * 20_000, "`" * 20_000, "x_" * 20_000, "A" * 40_000, "f(" * 20_000,
                 "a=" * 20_000, "1." * 20_000, "GET /" * 8_000, "C:\\" * 10_000, "\\a.b " * 8_000):  # fmt: skip
        name_faults(text, [RetrievedChunk(id="c", text=text, rank=1)])
    assert time.process_time() - started < 30
