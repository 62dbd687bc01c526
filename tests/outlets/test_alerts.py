"""Runs as alerts; channels are told of each once, in their shape; nothing that goes wrong shows the secret."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.summarise import summarise
from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.errors import SettingsError, UsageError
from ragauge.outlets import http, slack
from ragauge.outlets.alert import Alert, Entry, Group, Link, Measure
from ragauge.outlets.alert_settings import alert_settings, channels_of
from ragauge.outlets.channels import (
    DELIVERY,
    SIGNATURE,
    AppriseChannel,
    SlackChannel,
    WebhookChannel,
    plain_text,
    verify_signature,
)
from ragauge.outlets.http import post
from ragauge.outlets.ledger import Ledger
from ragauge.outlets.run_alert import read_rows, run_alert
from ragauge.outlets.tell import Policy, preview, tell
from ragauge.store.rundir import RunDir
from ragauge.testing.receiver import SECRET_PATH, WebhookReceiver
from ragauge.testing.runs import a_run

HOSTILE = "<!channel> <@U1> <http://evil.example|click> *bold* & \x1b[31m \u202e \x00 `code`" + "x" * 5000
NOON = 1_800_000_000.0

Make = Callable[..., RunDir]


def told(made: RunDir, link: str | None = None) -> Alert:
    summary = summarise(made.manifest, made.records())
    return run_alert(made.manifest, summary, read_rows(made.manifest, summary, made.records), link)


def trouble(event: str = "1", *names: str, **more: Any) -> Alert:
    measures = tuple(Measure(name=name, value="0.1", verdict="below") for name in names or ("faithfulness",))
    return Alert(**({"key": "k", "event": event, "title": "faq is low", "measures": measures} | more))


def fine(event: str) -> Alert:
    return Alert(key="k", event=event, title="faq is fine", state="ok", severity="info")


def test_a_run_says_what_is_low_by_how_much_for_how_many_rows_and_which(low_run: Make) -> None:
    found = slack.message(told(low_run(), "https://ci.example/report.html"))
    text = json.dumps(found, ensure_ascii=False)
    assert found["blocks"][0]["text"]["text"] == "🔴 golden: 1 metric misses its threshold"
    assert "8 of 9 rows fail, 1 could not be judged" in text
    assert "*✗ faithfulness* 0.250" in text
    assert "≥ 0.95, n = 8, 8 rows miss it" in text
    assert "1 timed out" in text
    assert "*Why rows fail*\\n• *8* " in text
    assert "• *q0* What? q0 (faithfulness)" in text
    assert found["blocks"][-1]["elements"][0]["url"] == "https://ci.example/report.html"


def test_a_run_that_is_as_it_should_be_is_no_trouble(good_run: Make) -> None:
    found = told(good_run())
    assert (found.state, found.severity, found.measures) == ("ok", "info", ())
    assert slack.message(found)["text"].startswith("🟢 golden: no metric misses")


def test_hostile_text_mentions_nobody_and_stays_within_the_limits(low_run: Make) -> None:
    hostile = told(low_run(HOSTILE))
    texts = [*slack._texts(slack.message(hostile)["blocks"]), plain_text(hostile)]
    assert not any("\x1b" in text or "\u202e" in text or "\x00" in text for text in texts)
    assert not any("<" in text for text in texts[:-1])
    assert any("&lt;!channel&gt;" in text for text in texts)
    assert sum(map(len, texts[:-1])) <= slack.TOTAL


def test_many_low_metrics_fit_into_a_message(tmp_path: Path) -> None:
    values = {f"{'&' * 200}{i}": {f"faithfulness@{k}": 0.1 for k in range(1, 60)} for i in range(9)}
    made = a_run(tmp_path, values, thresholds=resolve_thresholds({}).model_dump(mode="json"))
    assert "and 49 more" in json.dumps(slack.message(told(made)))


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "ftp://x", "report.html", "https://", "https://x/" + "a" * 3000]
)
def test_a_link_that_nobody_can_open_is_refused(low_run: Make, link: str) -> None:
    with pytest.raises(UsageError, match="link"):
        told(low_run(), link)


def test_one_message_for_each_event_and_channel(tmp_path: Path, receiver: WebhookReceiver) -> None:
    channel, book, rules = SlackChannel(receiver.url), Ledger(tmp_path / "book"), Policy(cooldown_s=0)

    def outcome(alert: Alert, **more: Any) -> str:
        (one,) = tell(alert, [channel], book, rules, **more)
        return one.outcome

    assert [outcome(trouble("1")), outcome(trouble("1")), outcome(trouble("2"))] == ["sent", "already sent", "sent"]
    assert receiver.documents == [channel.render(trouble("1")), channel.render(trouble("2"))]
    assert outcome(trouble("1"), again=True) == "sent"
    assert b"services" not in book.path.read_bytes()


def test_two_processes_at_once_send_one_message(tmp_path: Path, receiver: WebhookReceiver) -> None:
    channel, found = SlackChannel(receiver.url), []
    gate = threading.Barrier(6)

    def go() -> None:
        gate.wait()
        found.extend(tell(trouble(), [channel], Ledger(tmp_path / "book")))

    threads = [threading.Thread(target=go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.outcome for one in found) == ["already sent"] * 5 + ["sent"]
    assert len(receiver.bodies) == 1


def test_the_same_trouble_is_told_again_only_after_the_cooldown_unless_it_is_worse(
    tmp_path: Path, receiver: WebhookReceiver
) -> None:
    channel, book = SlackChannel(receiver.url), Ledger(tmp_path / "book")

    def at(minute: float, alert: Alert) -> str:
        (one,) = tell(alert, [channel], book, Policy(cooldown_s=3600), now=lambda: NOON + 60 * minute)
        return one.outcome

    assert at(0, trouble("1", severity="warning")) == "sent"
    assert at(10, trouble("2", severity="warning")) == "held"
    assert at(11, trouble("3", severity="warning")) == "held"
    assert at(12, trouble("4", severity="alert")) == "sent"
    assert at(13, trouble("5", "faithfulness", "recall")) == "sent"
    assert at(14, trouble("6", "recall")) == "held"
    assert at(80, trouble("7", "recall")) == "sent"
    assert "2 messages about this held back" in receiver.bodies[1].decode()
    assert len(receiver.bodies) == 4


def test_recovery_is_told_once_and_only_after_trouble(tmp_path: Path, receiver: WebhookReceiver) -> None:
    channel, book = SlackChannel(receiver.url), Ledger(tmp_path / "book")
    found = [
        tell(alert, [channel], book, now=lambda place=place: NOON + place)[0].outcome
        for place, alert in enumerate([fine("0"), trouble("1"), fine("2"), fine("3"), trouble("4")])
    ]
    assert found == ["nothing to tell", "sent", "sent", "nothing to tell", "sent"]
    assert receiver.documents[1]["text"] == "🟢 Recovered: faq is fine"
    silent = Policy(recovery=False)
    assert tell(fine("5"), [channel], book, silent)[0].outcome == "nothing to tell"
    assert tell(fine("5"), [channel], book, Policy(everything=True))[0].outcome == "sent"


def test_quiet_hours_hold_back_warnings_and_tell_them_afterwards(tmp_path: Path, receiver: WebhookReceiver) -> None:
    night = 1_800_000_000 - 1_800_000_000 % 86400 + 23 * 3600
    rules = Policy(quiet=(22 * 60, 7 * 60), zone=UTC)
    channel, book = SlackChannel(receiver.url), Ledger(tmp_path / "book")
    warning = trouble("1", severity="warning")
    (held,) = tell(warning, [channel], book, rules, now=lambda: night)
    assert (held.outcome, held.why) == ("held", "quiet hours")
    assert tell(warning, [channel], book, rules, now=lambda: night + 9 * 3600)[0].outcome == "sent"
    assert tell(trouble("2", "x"), [channel], book, rules, now=lambda: night)[0].outcome == "sent"


def test_no_more_than_so_many_messages_in_an_hour(tmp_path: Path, receiver: WebhookReceiver) -> None:
    channel, book, rules = SlackChannel(receiver.url), Ledger(tmp_path / "book"), Policy(per_hour=2)
    alerts = [trouble("1", key=f"k{n}") for n in range(4)]
    found = [tell(alert, [channel], book, rules, now=lambda: NOON)[0] for alert in alerts]
    assert [one.outcome for one in found] == ["sent", "sent", "held", "held"]
    assert found[3].why == "2 messages within an hour"
    assert tell(alerts[3], [channel], book, rules, now=lambda: NOON + 4000)[0].outcome == "sent"


def test_a_message_that_failed_is_sent_by_the_next_try(tmp_path: Path, receiver: WebhookReceiver) -> None:
    channel, book = SlackChannel(receiver.url), Ledger(tmp_path / "book")
    receiver.answers = [(404, f"channel_is_archived {SECRET_PATH}", {}), (200, "ok", {})]
    (failed,) = tell(trouble(), [channel], book)
    assert (failed.outcome, failed.n_tries) == ("failed", 1)
    assert "404 channel_is_archived" in failed.why
    assert "XXXX" not in failed.why + repr(channel)
    assert tell(trouble(), [channel], book)[0].outcome == "sent"


def test_a_ledger_that_cannot_be_used_is_an_outcome(tmp_path: Path, receiver: WebhookReceiver) -> None:
    (tmp_path / "book").write_text("no database " * 100)
    (one,) = tell(trouble(), [SlackChannel(receiver.url)], Ledger(tmp_path / "book"))
    assert one.outcome == "failed"
    assert "cannot be used" in one.why
    assert receiver.bodies == []


def test_a_preview_sends_and_notes_nothing(tmp_path: Path, receiver: WebhookReceiver) -> None:
    channel, book = SlackChannel(receiver.url), Ledger(tmp_path / "book")
    (one,) = preview(trouble(), [channel], book)
    assert (one.outcome, one.message) == ("would send", channel.render(trouble()))
    assert preview(fine("1"), [channel], book)[0].outcome == "nothing to tell"
    assert not book.path.exists()
    tell(trouble(), [channel], book)
    assert preview(trouble(), [channel], book)[0].outcome == "already sent"
    assert len(receiver.bodies) == 1


def test_a_busy_channel_is_waited_for_as_long_as_it_says(receiver: WebhookReceiver) -> None:
    receiver.answers = [(429, "", {"Retry-After": "7"}), (503, "", {}), (200, "ok", {})]
    waits: list[float] = []
    sent = post(receiver.url, {"text": "x"}, sleep=waits.append)
    assert (sent.outcome, sent.n_tries) == ("sent", 3)
    assert waits == [7.0, 2.0]


@pytest.mark.parametrize("value", ["3600", "99999999999999"])
def test_an_hour_is_not_waited_for(receiver: WebhookReceiver, value: str) -> None:
    receiver.answers = [(429, "", {"Retry-After": value})]
    sent = post(receiver.url, {"text": "x"}, sleep=lambda _: pytest.fail("waited"))
    assert (sent.outcome, sent.n_tries) == ("failed", 1)
    assert "asked to wait" in sent.why


def test_a_redirect_is_not_followed(receiver: WebhookReceiver) -> None:
    receiver.answers = [(302, "", {"Location": receiver.url})]
    sent = post(receiver.url, {"text": "x"})
    assert (sent.outcome, len(receiver.bodies)) == ("failed", 1)


def test_nobody_there_is_an_outcome() -> None:
    waits: list[float] = []
    sent = post(f"http://127.0.0.1:9{SECRET_PATH}", {"text": "x"}, sleep=waits.append)
    assert sent.outcome == "failed"
    assert waits == [1.0, 2.0, 4.0, 8.0]
    assert "XXXX" not in sent.why


@pytest.mark.parametrize(
    "url", ["", "ftp://x/y", "http://hooks.example/x", "https://", "file:///etc/passwd", "https://x/\ny", "https://[x", "https://x:y/"]
)  # fmt: skip
def test_an_address_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        SlackChannel(url)
    assert url in ("", "https://") or url not in str(caught.value)


def test_a_webhook_of_your_own_gets_the_alert_signed(tmp_path: Path, receiver: WebhookReceiver) -> None:
    alert = trouble(
        "1",
        groups=(Group(title="Worst", entries=(Entry(name="q1", text=HOSTILE),)),),
        links=(Link(label="Open", url="https://x.example/"),),
    )
    (one,) = tell(alert, [WebhookChannel(receiver.url, "shared secret")], Ledger(tmp_path / "book"))
    assert one.outcome == "sent"
    (body,), (headers,) = receiver.bodies, receiver.headers
    document = json.loads(body)
    assert document.pop("version") == 1
    assert Alert.model_validate(document) == alert
    assert len(headers[DELIVERY]) == 16
    signature = headers[SIGNATURE]
    assert verify_signature("shared secret", body, signature, time.time())
    assert not verify_signature("shared secret", body + b" ", signature, time.time())
    assert not verify_signature("other secret", body, signature, time.time())
    assert not verify_signature("shared secret", body, signature, time.time() + 400)
    assert not verify_signature("shared secret", body, "t=,v1=", time.time())


def test_apprise_reaches_everything_else(tmp_path: Path, receiver: WebhookReceiver) -> None:
    pytest.importorskip("apprise")
    url = receiver.url.replace("http://", "json://")
    channel = AppriseChannel(url)
    receiver.answers = [(500, "", {}), (200, "", {})]
    waits: list[float] = []
    (one,) = tell(trouble(), [channel], Ledger(tmp_path / "book"), sleep=waits.append)
    assert (one.channel, one.outcome, one.n_tries, waits) == ("apprise json", "sent", 2, [1.0])
    document = receiver.documents[-1]
    assert document["title"] == "🔴 faq is low"
    assert "· faithfulness 0.1" in document["message"]
    assert document["type"] == "failure"


def test_what_apprise_cannot_deliver_is_an_outcome_without_the_secret(
    receiver: WebhookReceiver, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("apprise")
    receiver.answers = [(403, f"no {SECRET_PATH}", {})]
    channel = AppriseChannel(receiver.url.replace("http://", "json://someone:hunter2secret@"))
    sent = channel.send(trouble(), sleep=lambda _: None)
    assert (sent.outcome, sent.n_tries) == ("failed", http.N_TRIES)
    assert "403" in sent.why
    shown = sent.why + repr(channel) + "".join(capfd.readouterr())
    assert "XXXX" not in shown
    assert "hunter2" not in shown
    with pytest.raises(UsageError) as caught:
        AppriseChannel("nosuch://token-123456")
    assert "123456" not in str(caught.value)


def test_settings_make_channels_and_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "https://hooks.slack.com/services/x ")
    found = alert_settings(
        {
            "channels": [
                {"slack": "${HOOK}", "mention": "<!here>"},
                {"webhook": "${HOOK}", "secret": "s", "name": "ours"},
            ],
            "cooldown": "30min",
            "quiet_hours": "22:00-07:30",
            "timezone": "Europe/Berlin",
        }
    )  # fmt: skip
    rules = found.policy()
    assert (rules.cooldown_s, rules.quiet, str(rules.zone)) == (1800.0, (1320, 450), "Europe/Berlin")
    assert [channel.label for channel in channels_of(found)] == ["Slack (1)", "ours"]
    slack_channel = channels_of(found)[0]
    assert "<!here>" in json.dumps(slack_channel.render(trouble()))
    assert "<!here>" not in json.dumps(slack_channel.render(trouble(severity="warning")))
    monkeypatch.delenv("HOOK")
    with pytest.raises(SettingsError, match="HOOK"):
        channels_of(found)


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"chanels": []}, "Did you mean 'channels'"),
        ({"channels": [{"slak": "x"}]}, "Did you mean 'slack'"),
        ({"channels": [{"slack": "x", "webhook": "y"}]}, "exactly one"),
        ({"channels": [{"slack": "x", "secret": "y"}]}, "signs the messages"),
        ({"channels": [{"slack": "x", "mention": "@everyone"}]}, "write it as Slack does"),
        ({"cooldown": "soon"}, "30min, 1h or 2d"),
        ({"quiet_hours": "25:00-07:00"}, "22:00-07:00"),
        ({"timezone": "Mars/North"}, "no such time zone"),
    ],
)
def test_a_wrong_setting_is_told_without_its_secrets(section: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        alert_settings(section)
    assert says in str(caught.value)


def test_the_schema_in_the_documentation_is_the_alerts() -> None:
    file = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemas" / "alert.schema.json"
    assert json.loads(file.read_text(encoding="utf-8")) == Alert.model_json_schema(mode="serialization")


@pytest.mark.parametrize("text", ["&" * 5_000, "<" * 5_000, "", " \x00 "], ids=["amp", "less", "empty", "blank"])
def test_an_alert_of_any_texts_fits_into_a_message(text: str) -> None:
    alert = Alert(
        key="k", event="e", title=text or "x", facts=(text,) * 12, links=(Link(label=text, url="https://a.test"),) * 9,
        measures=tuple(Measure(name=text, value=text, note=text, verdict="broken") for _ in range(30)),
        groups=tuple(Group(title=text, entries=(Entry(name=text, text=text, note=text),) * 9) for _ in range(5)),
    )  # fmt: skip
    found = slack.message(alert, "<!here>")
    assert found["blocks"][-1]["elements"][0]["text"] == "<!here>"
    assert sum(block["type"] == "actions" for block in found["blocks"]) == 1


def test_a_channel_that_raises_is_an_outcome_and_the_others_are_told(tmp_path: Path, receiver: WebhookReceiver) -> None:
    class Broken:
        label, id = "broken", "0"

        def render(self, alert: Alert) -> dict[str, Any]:
            return {}

        def send(self, alert: Alert, *, sleep: Any = None) -> http.Sent:
            raise KeyError("https://hooks.example/T0/secret")

    ledger = Ledger(tmp_path / "told.sqlite")
    for _ in range(2):  # it is tried again at once: nothing is left claimed
        first, second = tell(trouble(), [Broken(), SlackChannel(receiver.url)], ledger)
        assert (first.outcome, first.why) == ("failed", "the channel failed with KeyError")
        assert second.outcome in ("sent", "already sent")
    assert len(receiver.documents) == 1


def test_the_token_of_a_bot_is_not_told() -> None:
    said = http.without_secrets("no answer to 123456:AAbbCCdd of /chat", "tgram://123456:AAbbCCdd/chat")
    assert "AAbbCCdd" not in said
