"""Overview, runs, rows, one row, comparisons: what is on disk is there, worked out on the server, hostile or not."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from ragauge.analysis.gate_settings import GateSettings
from ragauge.review import open_queue
from ragauge.testing.hostile import LONG_LINE
from ragauge.testing.runs import a_metric, a_run
from ragauge.web.app import create_app
from ragauge.web.settings import WebSettings

HERE = "http://127.0.0.1:8517"


def client(folder: Path, **settings: Any) -> TestClient:
    given = WebSettings(runs=folder / "runs", cache=folder / "cache", queue=str(folder / "queue.sqlite"), **settings)
    return TestClient(create_app(given), base_url=HERE, follow_redirects=False)


def test_the_overview_says_how_the_newest_run_stands(two: Any, read_html: Callable[[str], str]) -> None:
    folder, old, new = two
    text = read_html(client(folder).get("/").text)
    assert new.path.name in text
    assert "Trends" in text
    assert "2 runs" not in text
    answer = client(folder).get("/").text
    assert f"/compare?a={old.path.name}&amp;b={new.path.name}" in answer


def test_a_folder_without_runs_says_how_to_make_one(tmp_path: Path) -> None:
    for path in ("/", "/runs"):
        answer = client(tmp_path).get(path)
        assert answer.status_code == 200
        assert "ragauge demo" in answer.text
    assert client(tmp_path).get("/compare").status_code == 200
    assert not (tmp_path / "queue.sqlite").exists()  # looking makes nothing


def test_runs_are_listed_with_values_intervals_and_errors_and_can_be_filtered(two: Any, read_html: Any) -> None:
    folder, old, new = two
    made = client(folder)
    text = read_html(made.get("/runs").text)
    result = new.saved_summary().metrics["correctness"]  # type: ignore[union-attr]
    assert f"{result.value:.3f}" in text
    assert f"{result.low:.3f} – {result.high:.3f}" in text
    found = made.get("/runs", params={"q": "new"}).text
    assert f'href="/runs/{new.path.name}"' in found
    assert f'href="/runs/{old.path.name}"' not in found
    assert "No run fits" in made.get("/runs", params={"q": "nothing like it"}).text
    assert "No run fits" in made.get("/runs", params={"dataset": "another"}).text


def test_what_is_no_run_is_listed_with_what_is_wrong(tmp_path: Path, a_release: Any) -> None:
    a_release(tmp_path, "good", 0, "2026-01-01T10:00:00+00:00", 5)
    broken = tmp_path / "runs" / "2026-01-02T10-00-00-broken-0000"
    broken.mkdir()
    (broken / "manifest.json").write_text("{}")
    made = client(tmp_path)
    assert "no format number" in made.get("/runs").text
    answer = made.get(f"/runs/{broken.name}")
    assert answer.status_code == 400
    assert "no format number" in answer.text
    assert made.get("/").status_code == 200


def test_an_unknown_run_or_row_is_not_found_and_near_names_are_offered(two: Any) -> None:
    folder, _, new = two
    made = client(folder)
    answer = made.get("/runs/" + new.path.name[:-1] + "x")
    assert answer.status_code == 404
    assert new.path.name in answer.text
    missing = made.get(f"/runs/{new.path.name}/row", params={"id": "q6000"})
    assert missing.status_code == 404
    assert "q60" in missing.text or "q6" in missing.text


def test_the_gate_of_each_run_is_shown_and_filters(two: Any, tmp_path: Path) -> None:
    folder, old, new = two
    gate = GateSettings(floors={"correctness": 0.7}, max_error_share=0.5)
    made = TestClient(
        create_app(WebSettings(runs=folder / "runs", cache=tmp_path / "c", queue=str(tmp_path / "q"), gate=gate)),
        base_url=HERE,
    )
    assert "✗ fail" in made.get(f"/runs/{new.path.name}").text
    assert "✓ pass" in made.get(f"/runs/{old.path.name}").text
    failing = made.get("/runs", params={"gate": "fail"}).text
    assert f'href="/runs/{new.path.name}"' in failing
    assert f'href="/runs/{old.path.name}"' not in failing
    wrong = GateSettings(baseline=str(tmp_path / "none.json"))
    other = TestClient(
        create_app(WebSettings(runs=folder / "runs", cache=tmp_path / "d", queue="q", gate=wrong)), base_url=HERE
    )
    assert "none.json" in other.get(f"/runs/{new.path.name}").text


def test_the_run_page_says_what_the_summary_says(two: Any, read_html: Any) -> None:
    folder, _, new = two
    text = read_html(client(folder).get(f"/runs/{new.path.name}").text)
    for key, result in new.saved_summary().metrics.items():  # type: ignore[union-attr]
        assert key in text
        assert f"{result.value:.3f}" in text
        assert f"{result.n} of {result.n_asked}" in text
    assert "judge unparseable" in text
    assert "only 3 scored" in client(folder).get(f"/runs/{new.path.name}").text  # the small slice is grey
    assert "total p95" in text


def ids(text: str) -> list[str]:
    return re.findall(r"<b>(q\d+)</b></a>", text)


def test_rows_are_filtered_sorted_and_paged_by_the_address(two: Any, read_html: Any) -> None:
    folder, _, new = two
    made = client(folder)

    def rows(**query: Any) -> list[str]:
        answer = made.get(f"/runs/{new.path.name}/rows", params=query)
        assert answer.status_code == 200
        read_html(answer.text)
        return ids(answer.text)

    assert rows()[:3] == ["q0", "q1", "q2"]
    assert len(rows()) == 50
    assert rows(page=2) == [f"q{i}" for i in range(50, 60)]
    assert rows(page=99) == []
    assert rows(tag="rare") == ["q0", "q1", "q2"]
    assert rows(q="number 17") == ["q17"]
    assert rows(sort="ms", down="1")[:2] == ["q59", "q58"]
    assert rows(missing="correctness") == [f"q{i}" for i in range(0, 60, 7)]
    bad = rows(outcome="bad", size=100)
    assert {*bad, "q0"} == {  # nothing of q0 but its recall was judged
        r.sample.item.id for r in new.records() if r.scores["recall@5:chunk"].value == 0
    }  # type: ignore[union-attr]
    for query in (
        {"page": "-1"},
        {"page": "x"},
        {"page": "9" * 50},
        {"size": "7"},
        {"sort": "x; DROP"},
        {"outcome": "y"},
    ):
        assert rows(**query)[0] == "q0"


def test_exports_hold_what_is_filtered(two: Any) -> None:
    folder, _, new = two
    made = client(folder)
    lines = made.get(f"/runs/{new.path.name}/export.jsonl", params={"tag": "rare"}).text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["q0", "q1", "q2"]
    answer = made.get(f"/runs/{new.path.name}/export.csv", params={"sort": "ms", "down": "1"})
    table = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["id"] for row in table][:2] == ["q59", "q58"]
    assert len(table) == 60
    assert answer.headers["content-disposition"] == f'attachment; filename="{new.path.name}.csv"'
    assert "correctness" in made.get(f"/runs/{new.path.name}/export.md").text
    assert made.get(f"/runs/{new.path.name}/export.exe").status_code == 404


def test_a_row_ties_claims_to_words_and_evidence(two: Any, read_html: Any) -> None:
    folder, _, new = two
    page = client(folder).get(f"/runs/{new.path.name}/row", params={"id": "q4"}).text
    text = read_html(page)
    assert "Which port has number 4?" in text
    claims = re.findall(r'data-claim="(m\d+v\d+)"', page)
    assert claims == ["m1v1", "m1v2"]
    assert re.search(r'<mark class="yes" data-claims="m1v1">The port is 4', page)
    assert re.search(r'<mark class="no" data-claims="m1v2">It is closed<', page)
    assert 'data-rests="m1v1"' in page
    assert '<a class="cite" href="#c1">[1]</a>' in page
    assert "★ gold" in page
    assert "contradicted" in text
    assert "score 0.9" in text


def test_raw_replies_are_kept_and_shown(two: Any) -> None:
    folder, _, new = two
    page = client(folder).get(f"/runs/{new.path.name}/row", params={"id": "q9"}).text
    assert "judge unparseable" in page
    assert "{broken reply" in page


def test_neighbours_keep_to_the_filter(two: Any) -> None:
    folder, _, new = two
    made = client(folder)
    query = {"outcome": "bad", "tag": "odd", "sort": "ms", "down": "1"}
    listed = ids(made.get(f"/runs/{new.path.name}/rows", params=query).text)
    seen, at = [listed[0]], listed[0]
    while True:
        page = made.get(f"/runs/{new.path.name}/row", params={"id": at, **query}).text
        found = re.search(r'<a rel="next"[^>]*href="[^"]*[?&;]id=(q\d+)', page)
        assert f"{len(seen)} of {len(listed)} that fit the filter" in page
        if found is None:
            break
        at = found.group(1)
        seen.append(at)
    assert seen == listed


def test_the_same_question_in_other_runs(two: Any) -> None:
    folder, old, new = two
    made = client(folder)
    made.get(f"/runs/{old.path.name}")
    page = made.get(f"/runs/{new.path.name}/row", params={"id": "q0"}).text
    assert f"/runs/{old.path.name}/row?id=q0" in page
    assert f"/compare/row?a={old.path.name}&amp;b={new.path.name}&amp;id=q0" in page


def test_a_row_goes_into_the_review_queue_once(two: Any, tmp_path: Path) -> None:
    folder, _, new = two
    queue = str(tmp_path / "queue.sqlite")
    made = TestClient(
        create_app(WebSettings(runs=folder / "runs", cache=tmp_path / "c", queue=queue)),
        base_url=HERE,
        follow_redirects=False,
    )
    address = f"/runs/{new.path.name}/row"
    page = made.get(address, params={"id": "q4", "outcome": "bad"}).text
    csrf = re.search(r'name="csrf" value="([^"]+)"', page).group(1)  # type: ignore[union-attr]
    form = {
        "csrf": csrf,
        "id": "q4",
        "repeat": "0",
        "metric": "faithfulness",
        "query": "id=q4&outcome=bad",
        "then": "stay",
    }
    assert made.post(address + "/review", data=form | {"csrf": "x"}).status_code == 403
    assert not Path(queue).exists()
    first = made.post(address + "/review", data=form)
    assert first.status_code == 303
    assert "outcome=bad" in first.headers["location"]
    assert "in the review queue now" in made.get(first.headers["location"]).text
    again = made.post(address + "/review", data=form)
    assert "queued-before" in again.headers["location"]
    with open_queue(queue) as opened:
        items = list(opened.items())
    assert [(item.item, item.metric, item.source) for item in items] == [("q4", "faithfulness", "asked")]
    label = made.post(address + "/review", data=form | {"then": "label"})
    assert label.headers["location"] == f"/review/items/{items[0].id}"
    assert made.post(address + "/review", data=form | {"metric": "recall@5:chunk"}).status_code == 404
    assert made.post(address + "/review", data=form | {"id": "nobody"}).status_code == 404


def test_comparing_says_what_changed_both_ways(two: Any, read_html: Any) -> None:
    folder, old, new = two
    made = client(folder)
    answer = made.get("/compare", params={"a": old.path.name, "b": new.path.name})
    text = read_html(answer.text)
    assert "Worse on" in text
    assert "k: 5 → 55" in text
    assert "became worse" in text
    back = read_html(made.get("/compare", params={"a": new.path.name, "b": old.path.name}).text)
    assert "Better on" in back
    same = made.get("/compare", params={"a": new.path.name, "b": new.path.name}).text
    assert "not compared with itself" in same
    ticked = made.get("/compare", params={"run": [new.path.name, old.path.name]})
    assert ticked.headers["location"] == f"/compare?a={old.path.name}&b={new.path.name}"
    assert made.get("/compare", params={"a": "x", "b": new.path.name}).status_code == 404


def test_three_runs_are_compared_at_once(tmp_path: Path, a_release: Any) -> None:
    for name, worse in (("a", 0), ("b", 10), ("c", 50)):
        a_release(tmp_path, name, worse, f"2026-01-0{'abc'.index(name) + 1}T10:00:00+00:00", 55)
    made = client(tmp_path)
    names = [path.name for path in sorted((tmp_path / "runs").iterdir())]
    answer = made.get("/compare", params={"a": names[0], "b": names[1:]})
    assert answer.text.count('aria-current="page"') == 2  # the screen, and the first of two comparisons
    other = made.get("/compare", params={"a": names[0], "b": names[1:], "show": names[2]})
    assert "k: 5 → 55" in other.text


def test_one_question_side_by_side(two: Any, read_html: Any) -> None:
    folder, old, new = two
    query = {"a": old.path.name, "b": new.path.name, "id": "q2", "metric": "recall@5:chunk", "way": "worse"}
    page = client(folder).get("/compare/row", params=query).text
    text = read_html(page)
    assert "shut today" in text
    assert re.search(r'<mark class="yes"><span class="sr">\[only here: </span>shut today', page)
    assert re.search(r"\d+ of \d+ that became worse on recall@5:chunk", text)
    assert "3 chunks in both lists" in text
    assert "flow-down" in page


def test_a_comparison_is_worked_out_once_and_again_when_a_run_changes(tmp_path: Path, a_release: Any) -> None:
    old, new = (
        a_release(tmp_path, name, worse, "2026-01-01T10:00:00+00:00", 20) for name, worse in (("a", 0), ("b", 20))
    )
    made = client(tmp_path)
    query = {"a": old.path.name, "b": new.path.name}
    made.get("/compare", params=query)
    files = set((tmp_path / "cache").glob("compare-*.json"))
    made.get("/compare", params=query)
    assert set((tmp_path / "cache").glob("compare-*.json")) == files
    assert len(files) == 1
    record = next(iter(new.records()))
    with new.writer() as writer:
        writer.append(record.model_dump_json(exclude_none=True))
    made.get("/compare", params=query)
    assert len(set((tmp_path / "cache").glob("compare-*.json"))) == 2


def test_hostile_text_is_text_on_every_page(hostile_runs: Any, read_html: Callable[[str], str]) -> None:
    folder, ids, names = hostile_runs
    made = client(folder)
    one, two = (name for name in names if name.startswith("2026"))
    for path in ("/", "/runs", f"/runs/{one}", f"/runs/{one}/rows?size=200", f"/compare?a={one}&b={two}", "/compare"):
        answer = made.get(path)
        assert answer.status_code == 200, path
        text = read_html(answer.text)
        assert "\\x1b[31m" in text or "/rows" not in path
    for place, item in enumerate(ids):
        if place % 2:
            continue  # every one of them is opened in the browser's test
        answer = made.get(f"/runs/{one}/row", params={"id": item})
        assert answer.status_code == 200, item
        read_html(answer.text)
        if place % 6:
            continue
        read_html(made.get("/compare/row", params={"id": item, "a": one, "b": two}).text)
        read_html(made.get(f"/runs/{one}/rows", params={"tag": item.partition("-")[2], "q": item, "sort": item}).text)
        assert made.get(f"/runs/{one}/row", params={"id": item + "?"}).status_code == 404


def test_runs_with_hostile_names_open(hostile_runs: Any, read_html: Callable[[str], str]) -> None:
    folder, _, names = hostile_runs
    made = client(folder)
    listed = re.findall(r'href="(/runs/[^"/?]+)"', made.get("/runs").text)
    assert len(set(listed)) == len(names)
    for address in listed:
        if "%25" in address:
            continue  # the test client decodes twice; a real server does not: see test_browser
        answer = made.get(address)
        assert answer.status_code == 200, address
        read_html(answer.text)
        export = made.get(address + "/export.csv")
        assert "\n" not in export.headers["content-disposition"]


def test_a_line_of_a_megabyte_is_cut_until_all_is_asked_for(tmp_path: Path, read_html: Callable[[str], str]) -> None:
    run = a_run(
        tmp_path / "runs", {"q": {"recall@5:chunk": 1.0}}, metrics=[a_metric("recall@5:chunk")],
        items={"q": {**dict.fromkeys(["question", "answer", "reference"], LONG_LINE), "retrieved": [("c", LONG_LINE)]}},
    )  # fmt: skip
    made = client(tmp_path)
    rows = made.get(f"/runs/{run.path.name}/rows").text
    assert len(rows) < 60_000
    short = made.get(f"/runs/{run.path.name}/row", params={"id": "q"}).text
    assert len(short) < 120_000
    assert "show all" in read_html(short)
    whole = made.get(f"/runs/{run.path.name}/row", params={"id": "q", "whole": "1"}).text
    assert read_html(whole).count("lorem ipsum") >= 4 * 40_000
