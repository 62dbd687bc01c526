"""Debugger: lists side by side from a live system, errors told plainly, nothing asked by only looking."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tests.web.workbench import an_inspection, client, csrf, inspecting, signed_on

from ragauge.diagnose.inspection import report
from ragauge.errors import UsageError
from ragauge.report.html_inspect import view
from ragauge.web.settings import Services


def ask(made: Any, **form: str) -> Any:
    return made.post("/debug", data={"csrf": csrf(made, "/debug"), **form})


def test_without_a_system_it_says_so_and_what_to_do(tmp_path: Path) -> None:
    made = client(tmp_path)
    text = made.get("/debug").text
    assert "No system is configured: no ragauge.yaml" in text
    assert "disabled" in text
    assert ask(made, q="x").status_code == 409


def test_every_list_stands_beside_the_others_with_the_gold_chunk_marked(tmp_path: Path, read_html: Any) -> None:
    made = client(tmp_path, inspecting(an_inspection()))
    text = read_html(ask(made, q="Which port?").text)
    for title in ("Dense", "BM25", "Fused", "HyDE", "Given to the model"):
        assert title in text
    assert "not retrieved; BM25 alone at k = 2 would bring it to rank 1" in text
    assert "★ gold" in text
    assert "7.500" in text
    assert "2 of the first 2 chunks are the same with HyDE as with the question itself" in text


def test_the_view_holds_the_ranks_of_the_lists() -> None:
    inspection = an_inspection()
    shown = view(inspection, report(inspection))
    assert [one.title for one in shown.rankings] == ["Dense", "BM25", "Fused", "HyDE", "Given to the model"]
    assert shown.ranks == (("doc#1", ("3", "1", "3", "3", "not in it")),)
    dense = shown.rankings[0]
    assert [(place.rank, place.id, place.gold, place.given) for place in dense.places] == [
        (1, "a", False, True), (2, "b", False, True), (3, "doc#1", True, False),
    ]  # fmt: skip
    assert shown.rankings[-1].further == (("doc#1", "not in it"),)
    assert {chunk.id for chunk in shown.chunks} == {"a", "b", "doc#1"}
    assert all(one.plot is not None for one in shown.rankings)


def test_looking_at_the_address_asks_nothing(tmp_path: Path) -> None:
    asked = []

    async def inspect(question: str, **_: Any) -> Any:
        asked.append(question)
        return an_inspection()

    made = client(tmp_path, Services(inspector=inspect))
    assert 'value="Which &lt;port&gt;?"' in made.get("/debug", params={"q": "Which <port>?"}).text
    assert asked == []
    ask(made, q="Which port?")
    assert asked == ["Which port?"]


def test_it_runs_in_a_thread_of_its_own(tmp_path: Path) -> None:
    where: list[str] = []

    async def inspect(question: str, **_: Any) -> Any:
        where.append(threading.current_thread().name)
        return an_inspection()

    ask(client(tmp_path, Services(inspector=inspect)), q="x")
    assert where
    assert where[0] != threading.main_thread().name
    assert "worker" in where[0].lower()


def test_what_goes_wrong_is_told_plainly(tmp_path: Path) -> None:
    made = client(tmp_path, inspecting(UsageError("the corpus <b>is gone</b>", hint="Build it again.")))
    answer = ask(made, q="x")
    assert answer.status_code == 422
    assert "the corpus &lt;b&gt;is gone&lt;/b&gt;" in answer.text
    assert "Build it again." in answer.text
    broken = ask(client(tmp_path, inspecting(RuntimeError("password=hunter2"))), q="x")
    assert broken.status_code == 422
    assert "The system failed: RuntimeError." in broken.text
    assert "hunter2" not in broken.text
    assert "Type a question first." in ask(made, q="   ").text
    assert "at most 4000" in ask(made, q="x" * 5000).text


def test_a_row_of_a_run_brings_its_question(two: Any, tmp_path: Path) -> None:
    given = []

    async def inspect(question: str, *, gold: Any = (), item: Any = None) -> Any:
        given.append((question, item and item.id))
        return an_inspection()

    folder, _, new = two
    made = client(tmp_path, Services(inspector=inspect), runs=folder / "runs")
    row = {"run": new.path.name, "id": "q4"}
    assert "Which port has number 4?" in made.get("/debug", params=row).text
    ask(made, q="Which port has number 4?", **row)
    ask(made, q="Another question", **row)
    assert given == [("Which port has number 4?", "q4"), ("Another question", None)]
    assert made.get("/debug", params=row | {"id": "nothing"}).status_code == 404


def test_forms_need_their_token(tmp_path: Path) -> None:
    made = client(tmp_path, inspecting(an_inspection()))
    signed_on(made, "ann")
    for path in ("/debug", "/review/label", "/review/skip", "/review/undo", "/review/fill", "/review/promote"):
        assert made.post(path, data={"q": "x"}).status_code == 403, path
