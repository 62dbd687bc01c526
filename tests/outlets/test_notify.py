"""Messages reach a real HTTP receiver once, in Slack's shape; nothing that goes wrong shows the secret."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragauge.analysis.summarise import summarise
from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.cli.report import command
from ragauge.errors import Reason, SettingsError, UsageError
from ragauge.outlets import slack
from ragauge.outlets.notify import STATE, notify, post
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_run

SECRET = "/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"
HOSTILE = "<!channel> <@U1> <http://evil.example|click> *bold* & \x1b[31m \u202e \x00 `code`" + "x" * 5000


@dataclass
class Receiver:
    """What came in, and what is answered: (status, body, headers), the last one for ever."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    answers: list[tuple[int, str, dict[str, str]]] = field(default_factory=lambda: [(200, "ok", {})])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A local server that takes what an incoming webhook takes."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == SECRET
            assert self.headers["Content-Type"].startswith("application/json")
            found.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, body, headers = found.answers.pop(0) if len(found.answers) > 1 else found.answers[0]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}{SECRET}"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def run(tmp_path: Path, text: str = "What?") -> RunDir:
    values: dict[str, dict[str, Any]] = {f"q{i}": {"faithfulness": 0.25, "correctness": 1.0} for i in range(8)}
    values["q8"] = {"faithfulness": Reason.TIMED_OUT, "correctness": 1.0}
    items = {name: {"question": f"{text} {name}"} for name in values}
    return a_run(tmp_path, values, items=items, thresholds=resolve_thresholds({}).model_dump(mode="json"))


def told(made: RunDir, text: str = "What?", **more: Any) -> dict[str, Any]:
    summary = summarise(made.manifest, made.records())
    questions = {f"q{i}": text for i in range(9)}
    return slack.message(made.manifest, summary, {"good": 0, "bad": 8, "unknown": 1}, questions, **more)


def test_a_message_says_what_is_low_by_how_much_and_which_rows(tmp_path: Path) -> None:
    found = told(run(tmp_path), link="https://ci.example/report.html")
    text = json.dumps(found, ensure_ascii=False)
    assert found["blocks"][0]["text"]["text"] == "🔴 golden: 1 metric misses its threshold"
    assert "*8* of 9 rows fail, *1* could not be judged" in text
    assert "*✗ faithfulness* 0.250" in text
    assert "≥ 0.95, n = 8" in text
    assert "1 timed out" in text
    assert "• *q0* What? (faithfulness)" in text
    assert found["blocks"][-1]["elements"][0]["url"] == "https://ci.example/report.html"


def test_hostile_text_mentions_nobody_and_stays_within_the_limits(tmp_path: Path) -> None:
    found = told(run(tmp_path, HOSTILE), HOSTILE)
    texts = list(slack._texts(found["blocks"]))
    assert not any("<" in text or "\x1b" in text or "\u202e" in text or "\x00" in text for text in texts)
    assert any("&lt;!channel&gt;" in text for text in texts)
    assert sum(map(len, texts)) <= slack.TOTAL


def test_many_low_metrics_fit_into_a_message(tmp_path: Path) -> None:
    values = {f"{'&' * 200}{i}": {f"faithfulness@{k}": 0.1 for k in range(1, 60)} for i in range(9)}
    made = a_run(tmp_path, values, thresholds=resolve_thresholds({}).model_dump(mode="json"))
    summary = summarise(made.manifest, made.records())
    found = slack.message(made.manifest, summary, {"bad": 9}, dict.fromkeys(values, HOSTILE))
    assert "and 49 more miss theirs" in json.dumps(found)


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "ftp://x", "report.html", "https://", "https://x/" + "a" * 3000]
)
def test_a_link_that_slack_cannot_open_is_refused(tmp_path: Path, link: str) -> None:
    with pytest.raises(UsageError, match="--link"):
        told(run(tmp_path), link=link)


def test_one_message_for_each_run_and_channel(tmp_path: Path, receiver: Receiver) -> None:
    message = told(run(tmp_path))
    assert notify(receiver.url, message, tmp_path, "a").outcome == "sent"
    assert notify(receiver.url, message, tmp_path, "a").outcome == "already sent"
    assert receiver.bodies == [message]
    assert notify(receiver.url, message, tmp_path, "b").outcome == "sent"
    assert notify(receiver.url, message, tmp_path, "a", again=True).outcome == "sent"
    assert len(receiver.bodies) == 3
    assert "services" not in (tmp_path / STATE).read_text()


def test_a_busy_channel_is_waited_for_as_long_as_it_says(receiver: Receiver) -> None:
    receiver.answers = [(429, "", {"Retry-After": "7"}), (503, "", {}), (200, "ok", {})]
    waits: list[float] = []
    sent = post(receiver.url, {"text": "x"}, sleep=waits.append)
    assert (sent.outcome, sent.n_tries) == ("sent", 3)
    assert waits == [7.0, 2.0]


@pytest.mark.parametrize("value", ["3600", "99999999999999"])
def test_an_hour_is_not_waited_for(receiver: Receiver, value: str) -> None:
    receiver.answers = [(429, "", {"Retry-After": value})]
    sent = post(receiver.url, {"text": "x"}, sleep=lambda _: pytest.fail("waited"))
    assert (sent.outcome, sent.n_tries) == ("failed", 1)
    assert "asked to wait" in sent.why


def test_a_refusal_is_final_and_says_why_without_the_secret(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers = [(404, f"channel_is_archived {SECRET}", {})]
    sent = notify(receiver.url, {"text": "x"}, tmp_path, "a")
    assert (sent.outcome, sent.n_tries) == ("failed", 1)
    assert "404 channel_is_archived" in sent.why
    assert "XXXX" not in sent.why
    assert not (tmp_path / STATE).exists()


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.answers = [(302, "", {"Location": receiver.url})]
    sent = post(receiver.url, {"text": "x"})
    assert (sent.outcome, len(receiver.bodies)) == ("failed", 1)


def test_nobody_there_is_an_outcome(tmp_path: Path) -> None:
    waits: list[float] = []
    sent = notify(f"http://127.0.0.1:9{SECRET}", {"text": "x"}, tmp_path, "a", sleep=waits.append)
    assert sent.outcome == "failed"
    assert waits == [1.0, 2.0, 4.0, 8.0]
    assert "XXXX" not in sent.why


@pytest.mark.parametrize(
    "url", ["", "ftp://x/y", "http://hooks.example/x", "https://", "file:///etc/passwd", "https://x/\ny", "https://[x", "https://x:y/"]
)  # fmt: skip
def test_an_address_that_is_none_is_refused_without_being_repeated(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError) as caught:
        notify(url, {"text": "x"}, tmp_path, "a")
    assert url in ("", "https://") or url not in str(caught.value)


def report(made: RunDir, *args: str, **env: str) -> Any:
    return CliRunner().invoke(command, [str(made.path), *args], env=env, standalone_mode=False)


def test_the_command_writes_tells_and_keeps_the_secret(tmp_path: Path, receiver: Receiver) -> None:
    made = run(tmp_path)
    page, numbers = tmp_path / "page.html", tmp_path / "run.prom"
    args = ("--out", str(page), "--prometheus", str(numbers), "--slack-webhook", "${HOOK}")
    done = report(made, *args, HOOK=receiver.url)
    assert done.return_value == 0
    assert "message sent" in done.output
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "ragauge_eval_metric_value{" in numbers.read_text(encoding="utf-8")
    (body,) = receiver.bodies
    assert slack.checked(body) == body
    again = report(made, *args, HOOK=receiver.url)
    assert "told of this run before" in again.output
    assert len(receiver.bodies) == 1
    written = [file.read_text(encoding="utf-8") for file in (*made.path.iterdir(), page, numbers) if file.is_file()]
    assert not any("XXXX" in text for text in (done.output, again.output, *written))


def test_a_failing_webhook_fails_only_a_command_that_was_asked_for_nothing_else(
    tmp_path: Path, receiver: Receiver
) -> None:
    made = run(tmp_path)
    receiver.answers = [(400, "invalid_blocks", {})]
    done = report(made, "--prometheus", str(tmp_path / "x.prom"), "--slack-webhook", receiver.url)
    assert done.return_value == 0
    assert "NOT sent: 400 invalid_blocks" in done.output
    assert (tmp_path / "x.prom").exists()
    assert report(made, "--slack-webhook", receiver.url).return_value == 3


def test_a_dry_run_prints_the_message_and_sends_nothing(tmp_path: Path, receiver: Receiver) -> None:
    done = report(run(tmp_path), "--slack-webhook", "${HOOK}", "--dry-run", HOOK=receiver.url)
    assert slack.checked(json.loads(done.stdout))["text"].startswith("🔴")
    assert receiver.bodies == []


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    done = report(run(tmp_path), "--slack-webhook", "${RAGAUGE_NO_SUCH_HOOK}")
    assert isinstance(done.exception, SettingsError)
    assert "RAGAUGE_NO_SUCH_HOOK" in str(done.exception)


def test_without_options_the_page_is_written_into_the_run(tmp_path: Path) -> None:
    made = run(tmp_path)
    assert report(made).return_value == 0
    assert (made.path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_page_can_hold_the_comparison_with_another_run(tmp_path: Path) -> None:
    made, other = run(tmp_path), a_run(tmp_path, {f"q{i}": {"correctness": 0.0} for i in range(9)}, name="other")
    assert report(made, "--compare", str(other.path)).return_value == 0
    page = (made.path / "report.html").read_text(encoding="utf-8")
    assert '<h2 id="compared">Compared with' in page
    assert other.manifest.run in page
    alone = report(made, "--compare", str(other.path), "--prometheus", str(tmp_path / "x.prom"))
    assert isinstance(alone.exception, UsageError)
