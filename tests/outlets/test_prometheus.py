"""The text file is valid in Prometheus' exposition format, and says what the run says."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from ragauge.analysis.summarise import summarise
from ragauge.core.run import Summary
from ragauge.core.sample import Usage
from ragauge.errors import Reason
from ragauge.outlets.prometheus import prometheus_text, run_metrics_text
from ragauge.outlets.prometheus_server import RunFolder, serve
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_run

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? ([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def parse(text: str) -> dict[str, dict[str, float]]:
    """Family → labels as written → value. Fails on anything that the format (0.0.4) does not allow."""
    assert text.endswith("\n")
    families: dict[str, dict[str, float]] = {}
    helped: set[str] = set()
    current = None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helped, "a family is written twice"
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, current, kind = line.split(" ")
            assert kind in ("gauge", "counter")
            assert (kind == "counter") == current.endswith("_total")
            assert current in helped
            families[current] = {}
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] == current, "samples of a family stand together"
            assert (match[2] or "") not in families[current], "a series is written twice"
            families[current][match[2] or ""] = float(match[SAMPLE.groups])
    return families


def run(tmp_path: Path, **more: object) -> RunDir:
    values = {f"q{i}": {"recall@5:doc": float(i % 2), "correctness": 1.0} for i in range(8)}
    values["q8"] = {"recall@5:doc": Reason.NO_RELEVANT, "correctness": Reason.TIMED_OUT}  # type: ignore[dict-item]
    return a_run(tmp_path, values, **more)  # type: ignore[arg-type]


def test_values_intervals_and_counts_are_those_of_the_run(tmp_path: Path) -> None:
    made = run(tmp_path)
    summary = summarise(made.manifest, made.records())
    found = parse(prometheus_text(made.manifest, summary))
    recall = 'suite="golden",metric="recall@5:doc"'
    assert found["ragauge_eval_metric_value"][f'{recall},split="all"'] == 0.5
    assert found["ragauge_eval_metric_ci_lower"][f'{recall},split="all"'] == summary.metrics["recall@5:doc"].low
    assert found["ragauge_eval_metric_ci_upper"][f'{recall},split="all"'] == summary.metrics["recall@5:doc"].high
    items = found["ragauge_eval_items"]
    assert items[f'{recall},status="scored"'] == 8
    assert items[f'{recall},status="not_applicable"'] == 1
    assert items['suite="golden",metric="correctness",status="error"'] == 1
    assert found["ragauge_last_run_timestamp_seconds"] == {'suite="golden"': 1769854323.0}
    assert found["ragauge_build_info"] == {'version="0.1.0"': 1.0}
    assert "ragauge_judge_requests_total" not in found, "the judge asked no model"


def test_what_judging_used_and_the_gate_are_told_where_they_are_known(tmp_path: Path) -> None:
    made = run(tmp_path)
    usage = Usage(calls=7, cached_calls=2, tokens_in=100, tokens_out=10, cost_usd=0.25)
    summary = summarise(made.manifest, made.records()).model_copy(update={"usage": usage})
    found = parse(prometheus_text(made.manifest, summary, suite="nightly", gate=-1))
    who = 'provider="embedded",model=""'
    assert found["ragauge_judge_requests_total"] == {who: 7}
    assert found["ragauge_judge_cache_hits_total"] == {who: 2}
    assert found["ragauge_judge_tokens_total"] == {f'{who},direction="in"': 100, f'{who},direction="out"': 10}
    assert found["ragauge_judge_cost_usd_total"] == {who: 0.25}
    assert found["ragauge_gate_status"] == {'suite="nightly"': -1}


@pytest.mark.parametrize("name", ['a"b', "a\\", 'a\nb{x="1"} 2', "\x00\u202e", '"} 1\nevil_metric 2', "é 界"])
def test_a_hostile_name_stays_inside_its_label(tmp_path: Path, name: str) -> None:
    made = run(tmp_path)
    text = prometheus_text(made.manifest, Summary(n_rows=0, metrics={}), suite=name)
    assert set(parse(text)) == {"ragauge_last_run_timestamp_seconds", "ragauge_build_info"}


def test_a_metric_that_nothing_was_scored_on_has_counts_and_no_value(tmp_path: Path) -> None:
    made = a_run(tmp_path, {"q": {"recall": Reason.NO_LABELS}})
    found = parse(prometheus_text(made.manifest, summarise(made.manifest, made.records())))
    assert "ragauge_eval_metric_value" not in found
    assert found["ragauge_eval_items"]['suite="golden",metric="recall",status="not_applicable"'] == 1


def test_the_newest_run_of_every_golden_set_is_in_one_text(tmp_path: Path) -> None:
    usage = Usage(calls=3, tokens_in=10)
    pairs = []
    for day, suite, value in ((1, "a", 0.2), (2, "a", 0.6), (1, "b", 0.9)):
        made = a_run(tmp_path, {"q": {"recall": value}}, created=f"2026-01-0{day}T10:00:00+00:00", name=suite)
        manifest = made.manifest.model_copy(
            update={"dataset": made.manifest.dataset.model_copy(update={"name": suite})}
        )
        pairs.append((manifest, summarise(manifest, made.records()).model_copy(update={"usage": usage})))
    found = parse(run_metrics_text(reversed(pairs)))
    assert found["ragauge_eval_metric_value"] == {
        'suite="a",metric="recall",split="all"': 0.6,
        'suite="b",metric="recall",split="all"': 0.9,
    }
    assert found["ragauge_eval_runs_total"] == {'suite="a",outcome="good"': 2, 'suite="b",outcome="good"': 1}
    assert found["ragauge_judge_requests_total"] == {'provider="embedded",model=""': 6}
    assert found["ragauge_build_info"] == {'version="0.1.0"': 1.0}


def test_the_endpoint_tells_of_new_runs_and_of_nothing_else(tmp_path: Path) -> None:
    a_run(tmp_path, {"q": {"recall": 0.5}})
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "manifest.json").write_text("{")
    with serve(RunFolder(tmp_path), "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"

        def scrape() -> dict[str, dict[str, float]]:
            with urllib.request.urlopen(f"{url}/metrics", timeout=10) as reply:
                assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                return parse(reply.read().decode())

        value = 'suite="golden",metric="recall",split="all"'
        assert scrape()["ragauge_eval_metric_value"] == {value: 0.5}
        a_run(tmp_path, {"q": {"recall": 0.75}}, name="later", created="2026-02-01T00:00:00+00:00")
        assert scrape()["ragauge_eval_metric_value"] == {value: 0.75}
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{url}/etc/passwd", timeout=10)
        assert caught.value.code == 404
        caught.value.close()
        server.shutdown()
        thread.join()


def test_the_shipped_dashboard_and_rules_name_only_what_is_told() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [root / "src" / "ragauge" / part / "prometheus.py" for part in ("outlets", "monitor")]
    source = "".join(file.read_text(encoding="utf-8") for file in sources)
    known = set(re.findall(r'"(ragauge_[a-z_]+)"', source)) | {
        f"ragauge_monitor_{part}" for part in re.findall(r'yield gauge\("(\w+)"', source)
    }
    dashboard = json.loads((root / "examples/prometheus/ragauge-dashboard.json").read_text(encoding="utf-8"))
    rules = yaml.safe_load((root / "examples/prometheus/ragauge-alerts.yml").read_text(encoding="utf-8"))
    told = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    told += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    named = set(re.findall(r"ragauge_[a-z_]+", " ".join(told)))
    assert len(named) >= 10
    assert named <= known
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_a_time_that_is_none_takes_no_other_figure_with_it(tmp_path: Path) -> None:
    made = a_run(tmp_path, {"q1": {"faithfulness": 1.0}}, created="2026-01-31T10:12:03+00:00")
    manifest = made.manifest.model_copy(update={"created": "yesterday"})
    found = parse(prometheus_text(manifest, summarise(made.manifest, made.records())))
    assert "ragauge_eval_metric_value" in found
    assert "ragauge_last_run_timestamp_seconds" not in found
