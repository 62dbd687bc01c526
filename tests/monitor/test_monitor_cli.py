"""From the log to the alert: real files, the embedded judge, a real webhook."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragauge.cli.monitor import command
from ragauge.errors import InputError, SettingsError
from ragauge.monitor.query import Feedback, LoggedChunk, LoggedQuery
from ragauge.monitor.report import MonitorReport
from ragauge.monitor.writer import LogWriter
from ragauge.store.rundir import RunDir
from ragauge.testing.receiver import WebhookReceiver

TODAY = dt.datetime.now(dt.UTC).date()
PER_DAY = 80
_THINGS = ("timeout", "retention", "quota", "replica", "backup", "certificate", "webhook", "invoice")
_WAYS = ("How long is the {} kept?", "Where do I change the {}?", "Why does the {} fail?", "Who may see the {}?")


def _query(day: dt.date, place: int, rng: random.Random, level: float) -> LoggedQuery:
    thing = _THINGS[place % len(_THINGS)]
    question = _WAYS[place // len(_THINGS) % len(_WAYS)].format(thing)
    text = f"The {thing} is kept for 30 days. It is changed in settings, section {thing}."
    chunks = tuple(
        LoggedChunk(
            id=f"{thing}-{k}", document=f"{thing}.md", text=text, rank=k, score=rng.gauss(level, 0.05) - 0.1 * k
        )
        for k in (1, 2)
    )
    at = dt.datetime.combine(day, dt.time(rng.randrange(24), rng.randrange(60)), dt.UTC)
    return LoggedQuery(
        id=f"{day}-{place:03d}", at=at, question=question, answer=f"The {thing} is kept for 30 days.",
        chunks=() if rng.random() < 0.01 else chunks, total_ms=rng.lognormvariate(5.2, 0.3), variant=rng.choice("AB"),
        session=f"u{rng.randrange(300)}", abstained=rng.random() < 0.05,
    )  # fmt: skip


def write_log(folder: Path, level: Callable[[int], float], n_days: int = 34) -> Path:
    """A log of the last `n_days` complete days; `level(days before today)` is the similarity of the best chunk."""
    rng = random.Random(11)
    log = folder / "production"
    with LogWriter(log) as writer:
        for back in range(n_days, 0, -1):
            day = TODAY - dt.timedelta(back)
            queries = [_query(day, place, rng, level(back)) for place in range(PER_DAY)]
            writer.append(queries)
            writer.append_feedback(
                Feedback(query_id=q.id, at=q.at + dt.timedelta(minutes=1), feedback="down" if place % 20 == 0 else "up",
                         outcome=float(rng.random() < 0.5))
                for place, q in enumerate(queries) if place % 10 == 0
            )  # fmt: skip
    return log


@pytest.fixture(scope="module")
def fallen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log whose similarity fell by 10 % five days ago, its last two days sampled and judged."""
    folder = tmp_path_factory.mktemp("fallen")
    log = write_log(folder, lambda back: 0.72 if back <= 5 else 0.8)
    golden = folder / "golden.jsonl"
    items = [{"id": f"g{i}", "question": _WAYS[i % 4].format(_THINGS[i % 7])} for i in range(28)]
    golden.write_text("\n".join(map(json.dumps, items)))
    assert _run("sample", "--log", log, "--days", 2, "--n", 12, "--golden", golden).exit_code == 0
    assert _run("judge", "--log", log, "--days", 2, "--quiet").exit_code == 0
    return log


def _run(*args: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in args], catch_exceptions=False, standalone_mode=False)


def _code(result: Result) -> Any:
    return result.return_value


def test_from_the_log_to_one_message_and_its_end(fallen: Path, tmp_path: Path) -> None:
    with WebhookReceiver() as receiver:
        settings = tmp_path / "ragauge.yaml"
        settings.write_text(json.dumps({
            "alerts": {"channels": [{"webhook": receiver.url}]},
            "monitor": {"log": str(fallen), "name": "faq", "state": str(tmp_path / "state"), "link": "https://ragauge.example/monitor?day={day}"},
        }))  # fmt: skip
        asked = ("check", "--config", settings, "--notify", "--json")
        early = _run(*asked, "--until", TODAY - dt.timedelta(7))
        assert (_code(early), json.loads(early.stdout)["alerts"]) == (0, [])
        assert receiver.documents == []
        first = _run(*asked)
        document = json.loads(first.stdout)
        assert _code(first) == document["exit"] == 1
        assert [(a["rule"], a["status"]) for a in document["alerts"]] == [("top_similarity_drop", "firing")]
        assert document["alerts"][0]["raised"] <= str(TODAY - dt.timedelta(3))
        (message,) = receiver.documents
        assert message["title"].startswith("faq: mean top-1 similarity fell from 0.69")
        assert message["links"][0]["url"].startswith("https://ragauge.example/monitor?day=20")
        again = _run(*asked)
        assert _code(again) == 1
        assert len(receiver.documents) == 1
        assert json.loads(again.stdout)["told"][0]["outcome"] == "already sent"
        assert _run("accept", "top_similarity_drop", "--config", settings).exit_code == 0
        for _ in range(2):
            assert _run(*asked).exit_code == 0
        assert [found["state"] for found in receiver.documents] == ["firing", "ok"]
        assert receiver.documents[1]["title"].startswith("Recovered: faq: accepted, or ordinary after all")


def test_the_report_says_what_was_logged_and_judged(fallen: Path, tmp_path: Path) -> None:
    result = _run("report", "--log", fallen, "--days", 10, "--json")
    report = MonitorReport.model_validate_json(result.stdout)
    assert report.n_queries == 9 * PER_DAY  # today is one of the ten, and empty
    assert [day.complete for day in report.days] == [True] * 9 + [False]
    names = {info.name for info in report.series}
    assert {"top_similarity", "zero_results", "p50_ms", "p95_ms", "p99_ms", "slow", "abstention", "thumbs_down",
            "feedback", "question_drift", "faithfulness", "context_sufficiency", "coverage"} <= names  # fmt: skip
    day = report.days[-2]
    for figure in day.figures.values():
        if figure.low is not None and figure.high is not None:
            assert figure.low <= figure.value <= figure.high
    assert day.figures["thumbs_down"].k == 4
    assert day.figures["faithfulness"].n_judged
    assert sum(day.topics.values()) == PER_DAY
    assert any(row.gap or row.n_golden == 0 for row in report.topics if "invoice" in row.name) or report.topics
    assert [one.n_judged for one in report.sampled] == [12, 12]
    assert report.now
    page = tmp_path / "page.html"
    assert _run("report", "--log", fallen, "--days", 10, "--html", page).exit_code == 0
    text = page.read_text()
    assert "top_similarity_drop" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert _run("report", "--log", fallen, "--days", 10).stdout.count("\n") > 20


def test_the_figures_for_prometheus(fallen: Path, tmp_path: Path) -> None:
    file = tmp_path / "faq.prom"
    assert _run("report", "--log", fallen, "--days", 10, "--prometheus", file, "--no-untested").exit_code == 0
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"(ragauge_monitor_\w+)\{(.*)\} (\S+)", line) for line in lines]
    assert all(found)
    samples = [(m[1], dict(re.findall(r'(\w+)="([^"]*)"', m[2])), float(m[3])) for m in found if m]
    values = {labels["series"]: value for name, labels, value in samples if name == "ragauge_monitor_value"}
    assert values["top_similarity"] == pytest.approx(0.62, abs=0.03)
    alerts = [labels["rule"] for name, labels, _ in samples if name == "ragauge_monitor_alert"]
    assert alerts == ["top_similarity_drop"]
    assert [value for name, _, value in samples if name == "ragauge_monitor_queries"] == [PER_DAY]
    assert {labels["log"] for _, labels, _ in samples} == {"production"}


def test_judging_again_judges_nothing(fallen: Path) -> None:
    run = next((fallen / "monitor" / "judged" / str(TODAY - dt.timedelta(1))).iterdir())
    before = (run / "rows.jsonl").read_bytes()
    result = _run("judge", "--log", fallen, "--days", 2, "--json")
    assert [day["left"] for day in json.loads(result.stdout)["days"]] == [0, 0]
    assert [day["runs"] for day in json.loads(result.stdout)["days"]] == [[], []]
    assert (run / "rows.jsonl").read_bytes() == before
    assert RunDir.open(run).manifest.dataset.name.startswith("log ")
    rows = json.loads(_run("rows", "--log", fallen, "--json").stdout)["rows"]
    assert len(rows) == 12
    assert [len(row["low"]) for row in rows] == sorted((len(row["low"]) for row in rows), reverse=True)


def test_a_judging_that_was_broken_off_goes_on(fallen: Path) -> None:
    day = str(TODAY - dt.timedelta(2))
    (run,) = (fallen / "monitor" / "judged" / day).iterdir()
    lines = (run / "rows.jsonl").read_text().splitlines(keepends=True)
    (run / "rows.jsonl").write_text("".join(lines[:5]))
    report = MonitorReport.model_validate_json(_run("report", "--log", fallen, "--days", 5, "--json").stdout)
    assert [one.n_judged for one in report.sampled if one.day == day] == [5]
    result = json.loads(_run("judge", "--log", fallen, "--day", day, "--json").stdout)
    assert result["days"][0]["left"] == 0
    after = (run / "rows.jsonl").read_text()
    assert after.startswith("".join(lines[:5]))
    assert len(after.splitlines()) == 12


def test_accepting_ends_an_alert(fallen: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    args = ("--log", fallen, "--state", state)
    assert _code(_run("check", *args)) == 1
    assert _run("accept", "top_similarity_drop", *args).exit_code == 0
    found = json.loads(_run("check", *args, "--json").stdout)
    assert found["alerts"] == []
    assert any(one["rule"] == "top_similarity_drop" and one["learning"] for one in found["unjudged"])
    with pytest.raises(InputError, match="no alert of 'slow_p95' stands"):
        _run("accept", "slow_p95", *args)


def test_candidates_and_outcomes(fallen: Path, tmp_path: Path) -> None:
    target = tmp_path / "candidates.jsonl"
    result = _run("candidates", "--log", fallen, "--days", 2, "--budget", 8, "--to", target, "--json")
    made = json.loads(result.stdout)
    assert made["added"] == len(target.read_text().splitlines()) > 0
    assert made["reasons"]["thumbs_down"] >= 1
    table = tmp_path / "outcomes.csv"
    result = _run("outcomes", "--log", fallen, "--days", 10, "--out", table, "--json")
    assert json.loads(result.stdout)["rows"] == 80
    from ragauge.cli.ab import command as ab

    judged = CliRunner().invoke(ab, [str(table), "--json"], catch_exceptions=False, standalone_mode=False)
    assert sum(arm["n"] for arm in json.loads(judged.stdout)["arms"]) == 80


def test_a_late_thumbs_down_is_judged_by_itself(tmp_path: Path) -> None:
    log = write_log(tmp_path, lambda _: 0.8, n_days=1)
    args = ("--log", log, "--days", 1)
    _run("sample", *args, "--n", 10, "--no-questions")
    _run("judge", *args, "--metrics", "refusal", "--quiet")
    before = MonitorReport.model_validate_json(_run("report", "--log", log, "--days", 2, "--json").stdout)
    day = str(TODAY - dt.timedelta(1))
    drawn = {row["id"] for row in json.loads(_run("rows", "--log", log, "--limit", 99, "--json").stdout)["rows"]}
    late = next(f"{day}-{place:03d}" for place in range(PER_DAY) if f"{day}-{place:03d}" not in drawn)
    with LogWriter(log) as writer:
        writer.append_feedback([Feedback(query_id=late, at=dt.datetime.now(dt.UTC), feedback="down")])
    assert "1 late thumbs down" in _run("sample", *args, "--no-questions").stdout
    judged = json.loads(_run("judge", *args, "--metrics", "refusal", "--json").stdout)["days"][0]
    assert len(judged["runs"]) == 1
    rows = json.loads(_run("rows", "--log", log, "--limit", 99, "--json").stdout)["rows"]
    mine = next(row for row in rows if row["id"] == late)
    assert (mine["probability"], mine["feedback"]) == (None, "down")
    assert "refusal" in mine["scores"]
    after = MonitorReport.model_validate_json(_run("report", "--log", log, "--days", 2, "--json").stdout)
    assert after.days[0].figures["abstention"] == before.days[0].figures["abstention"]


def test_another_judge_begins_its_series_anew(fallen: Path, tmp_path: Path) -> None:
    from ragauge.analysis.thresholds import resolve_thresholds
    from ragauge.monitor.judged import DayScores
    from ragauge.monitor.series import read_history
    from ragauge.monitor.store import open_log
    from ragauge.monitor.workspace import Workspace

    kept = Workspace.beside(str(fallen))
    space = Workspace(tmp_path / "other")
    for name in ("samples", "judged", "scores"):
        (space.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(kept.root / name, space.root / name)
    day = str(TODAY - dt.timedelta(1))
    scores = space.read(DayScores, "scores", f"{day}.json")
    assert scores is not None
    space.write(scores.model_copy(update={"judge": "another"}), "scores", f"{day}.json")
    log = open_log(str(fallen))
    history = read_history(log, space, TODAY - dt.timedelta(9), TODAY, thresholds=resolve_thresholds(None), today=TODAY)
    assert history.restart["faithfulness"] == day
    same = read_history(log, kept, TODAY - dt.timedelta(9), TODAY, thresholds=resolve_thresholds(None), today=TODAY)
    assert same.restart == {}


def test_nothing_logged_cannot_be_judged(tmp_path: Path) -> None:
    log = tmp_path / "empty"
    with LogWriter(log):
        pass
    assert _code(_run("check", "--log", log)) == 3
    assert "no query was logged" in _run("report", "--log", log).stdout
    with pytest.raises(InputError):
        _run("check", "--log", tmp_path / "nowhere")
    with pytest.raises(InputError, match="no day is sampled"):
        _run("judge", "--log", log)


def test_rules_of_a_file(fallen: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(_run("rules", "--naive").stdout)
    assert "zero_result_spike" in rules.read_text()
    assert _code(_run("check", "--log", fallen, "--rules", rules)) == 1
    rules.write_text("- {name: x, kind: limit, series: slow, direction: up, limit: 0.5}")
    assert _code(_run("check", "--log", fallen, "--rules", rules)) == 0
    naive = json.loads(_run("check", "--log", fallen, "--naive", "--json").stdout)
    assert all(0 <= one["per_day"] <= 1 for one in naive["naive"])
    rules.write_text("- {name: x, kind: limit, series: slow, direction: sideways}")
    with pytest.raises(SettingsError, match="direction"):
        _run("check", "--log", fallen, "--rules", rules)


def test_every_project_has_a_draw_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    noon = dt.datetime.combine(TODAY - dt.timedelta(1), dt.time(12), dt.UTC)
    with LogWriter(log) as writer:
        writer.append(
            LoggedQuery(id=f"{project}{n}", at=noon, project=project, question=f"How deep is {n}?", answer=answer,
                        chunks=(LoggedChunk(id="c", text="The depth is 4.", rank=1),))
            for project, answer in (("help", "The depth is 4."), ("shop", "Bananas cost 99 dollars in Peru."))
            for n in range(12)
        )  # fmt: skip
    for project, faithful in (("help", 1.0), ("shop", 0.0)):
        of = ("--log", log, "--project", project)
        assert _run("sample", *of, "--no-questions", "--n", 6).exit_code == 0
        assert _run("judge", *of, "--quiet", "--metrics", "faithfulness").exit_code == 0
        days = json.loads(_run("report", *of, "--days", 3, "--json").stdout)["days"]
        figure = next(day["figures"]["faithfulness"] for day in days if "faithfulness" in day["figures"])
        assert (figure["value"], figure["n"]) == (faithful, 6)
        rows = json.loads(_run("rows", *of, "--day", noon.date(), "--json").stdout)["rows"]
        assert {row["id"][:4] for row in rows} == {project}


def test_hostile_text_is_text_on_the_page(tmp_path: Path) -> None:
    log = tmp_path / "<script>alert(1)</script>"
    with LogWriter(log) as writer:
        writer.append([LoggedQuery(id="1", at=dt.datetime.now(dt.UTC), question="<img src=x onerror=alert(1)>")])
    page = tmp_path / "page.html"
    assert _run("report", "--log", log, "--html", page).exit_code == 0
    text = page.read_text()
    assert "<script>alert" not in text
    assert "<img" not in text
