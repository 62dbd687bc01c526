"""`ragauge report`: the page, numbers for Prometheus, and telling channels, from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.cli.report import command
from ragauge.errors import SettingsError, UsageError
from ragauge.outlets import slack
from ragauge.outlets.tell import PreviewDocument
from ragauge.store.rundir import RunDir
from ragauge.testing.receiver import WebhookReceiver
from ragauge.testing.runs import a_run

LINK = "https://ci.example/{run}.html"


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as found:
        yield found


def run(base: Path, name: str = "run", value: float = 0.25) -> RunDir:
    values = {f"q{i}": {"faithfulness": value} for i in range(9)}
    return a_run(base, values, name=name, thresholds=resolve_thresholds({}).model_dump(mode="json"))


def report(made: RunDir, *args: str, **env: str) -> Any:
    return CliRunner().invoke(command, [str(made.path), *args], env=env, standalone_mode=False)


def settings(folder: Path, *lines: str) -> Path:
    file = folder / "ragauge.yaml"
    file.write_text("alerts:\n  channels:\n    - slack: ${HOOK}\n" + "".join(f"  {line}\n" for line in lines))
    return file


def test_the_command_writes_tells_and_keeps_the_secret(tmp_path: Path, receiver: WebhookReceiver) -> None:
    made = run(tmp_path / "runs")
    page, numbers = tmp_path / "page.html", tmp_path / "run.prom"
    args = ("--out", str(page), "--prometheus", str(numbers), "--slack-webhook", "${HOOK}")
    done = report(made, *args, HOOK=receiver.url)
    assert done.return_value == 0, done.output
    assert "Slack: message sent" in done.output
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "ragauge_eval_metric_value{" in numbers.read_text(encoding="utf-8")
    (body,) = receiver.documents
    assert slack.checked(body) == body
    again = report(made, *args, HOOK=receiver.url)
    assert "told of this run before" in again.output
    assert len(receiver.bodies) == 1
    written = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(b"XXXX" in text for text in (done.output.encode(), again.output.encode(), *written))


def test_a_failing_webhook_fails_only_a_command_that_was_asked_for_nothing_else(
    tmp_path: Path, receiver: WebhookReceiver
) -> None:
    made = run(tmp_path)
    receiver.answers = [(400, "invalid_blocks", {})]
    done = report(made, "--prometheus", str(tmp_path / "x.prom"), "--slack-webhook", receiver.url)
    assert done.return_value == 0
    assert "NOT sent: 400 invalid_blocks" in done.output
    assert (tmp_path / "x.prom").exists()
    assert report(made, "--slack-webhook", receiver.url).return_value == 3


def test_a_dry_run_prints_the_message_and_sends_nothing(tmp_path: Path, receiver: WebhookReceiver) -> None:
    made = run(tmp_path)
    done = report(made, "--slack-webhook", "${HOOK}", "--dry-run", HOOK=receiver.url)
    assert slack.checked(json.loads(done.stdout))["text"].startswith("🔴")
    file = settings(tmp_path, f"link: {LINK}")
    all_of_it = report(made, "--notify", "--config", str(file), "--dry-run", HOOK=receiver.url)
    assert PreviewDocument.model_validate_json(all_of_it.stdout).channels[0].message
    document = json.loads(all_of_it.stdout)
    assert document["alert"]["links"] == [
        {"label": "Open report", "url": f"https://ci.example/{made.manifest.run}.html"}
    ]
    assert [(one["channel"], one["outcome"]) for one in document["channels"]] == [("Slack (1)", "would send")]
    assert receiver.bodies == []
    assert not (tmp_path / "alerts.sqlite").exists()


def test_the_channels_of_the_settings_hear_of_trouble_and_of_the_recovery(
    tmp_path: Path, receiver: WebhookReceiver
) -> None:
    file = settings(tmp_path)
    runs = tmp_path / "runs"
    args = ("--notify", "--config", str(file))
    made = [run(runs, "first", 1.0), run(runs, "second"), run(runs, "third"), run(runs, "fourth", 1.0)]
    said = [report(one, *args, HOOK=receiver.url).output for one in made]
    assert [text.split(": ", 1)[1].split(":")[0].strip() for text in said] == [
        "nothing to tell", "message sent", "held back", "message sent",
    ]  # fmt: skip
    assert [document["text"].split(":")[0] for document in receiver.documents] == ["🔴 golden", "🟢 Recovered"]


def test_what_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run(tmp_path)
    unset = report(made, "--slack-webhook", "${RAGAUGE_NO_SUCH_HOOK}")
    assert isinstance(unset.exception, SettingsError)
    assert "RAGAUGE_NO_SUCH_HOOK" in str(unset.exception)
    monkeypatch.chdir(tmp_path)
    assert "no ragauge.yaml" in str(report(made, "--notify").exception)
    (tmp_path / "ragauge.yaml").write_text("golden: x\n")
    assert "names no channels" in str(report(made, "--notify").exception)
    assert isinstance(report(made, "--again").exception, UsageError)
    assert isinstance(report(made, "--notify", "--slack-webhook", "https://x.example/").exception, UsageError)


def test_without_options_the_page_is_written_into_the_run(tmp_path: Path) -> None:
    made = run(tmp_path)
    assert report(made).return_value == 0
    assert (made.path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_page_can_hold_the_comparison_with_another_run(tmp_path: Path) -> None:
    made, other = run(tmp_path), a_run(tmp_path, {f"q{i}": {"faithfulness": 0.0} for i in range(9)}, name="other")
    assert report(made, "--compare", str(other.path)).return_value == 0
    page = (made.path / "report.html").read_text(encoding="utf-8")
    assert '<h2 id="compared">Compared with' in page
    assert other.manifest.run in page
    alone = report(made, "--compare", str(other.path), "--prometheus", str(tmp_path / "x.prom"))
    assert isinstance(alone.exception, UsageError)


def test_a_run_with_alerts_tells_the_channels_at_its_end_and_a_failing_one_changes_nothing(
    tmp_path: Path, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragauge.cli.main import cli

    monkeypatch.setenv("HOOK", receiver.url)
    answers = tmp_path / "answers.jsonl"
    lines = [{"id": f"q{i}", "question": "Who?", "answer": "Ada.", "reference_answer": "Eve."} for i in range(9)]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings(tmp_path)
    monkeypatch.chdir(tmp_path)
    args = ["score", str(answers), "--metrics", "exact_match", "--set", "thresholds.exact_match=0.9", "-q"]
    done = CliRunner().invoke(cli, args, standalone_mode=False)
    assert done.return_value == 0, done.output
    assert "Slack (1): message sent" in done.stderr
    assert receiver.documents[0]["text"] == "🟡 answers: 1 metric misses its threshold"
    assert done.stderr.strip().splitlines()[-1].startswith("runs/")
    receiver.answers = [(404, "no_service", {})]
    again = CliRunner().invoke(cli, [*args, "--set", "alerts.cooldown=0"], standalone_mode=False)
    assert again.return_value == 0
    assert "Slack (1): NOT sent: 404 no_service" in again.stderr
    assert not any("XXXX" in file.read_text("utf-8", "replace") for file in tmp_path.glob("runs/*/*"))
    wrong = CliRunner().invoke(cli, [*args, "--set", "alerts.cooldown=soon"], standalone_mode=False)
    assert isinstance(wrong.exception, SettingsError)
    assert len(list(tmp_path.glob("runs/*/manifest.json"))) == 2, "a wrong setting is told before anything is made"


def test_the_gates_verdict_goes_to_prometheus(tmp_path: Path) -> None:
    made, file = run(tmp_path), tmp_path / "x.prom"
    assert report(made, "--prometheus", str(file), "--gate", "fail").return_value == 0
    assert 'ragauge_gate_status{suite="golden"} 0' in file.read_text()
