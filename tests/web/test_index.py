"""The index says what the rows say: filters, order, neighbours, and that it notices when the run changes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ragauge.core.score import Scored
from ragauge.errors import Reason, StoreError, UnknownName
from ragauge.store.rundir import RunDir
from ragauge.testing.hostile import HOSTILE, storable
from ragauge.testing.runs import a_metric, a_run
from ragauge.web.catalog import Catalog
from ragauge.web.index import Filter, Index, Indexes, Line, filter_of
from ragauge.web.jobs import Jobs
from ragauge.web.settings import WebSettings


def indexes(folder: Path) -> tuple[Indexes, Catalog]:
    settings = WebSettings(runs=folder / "runs", cache=folder / "cache")
    return Indexes(settings, Jobs()), Catalog(settings)


def a_mixed_run(folder: Path, n: int = 120) -> RunDir:
    draw = random.Random(5)
    values = {
        f"q{i}": {
            "recall@5": draw.choice([0.0, 0.5, 1.0]),
            "faithfulness": Reason.ABSTAINED if i % 7 == 0 else draw.choice([0.2, 0.2, 1.0]),
        }
        for i in range(n)
    }
    items = {
        f"q{i}": {"tags": ("even" if i % 2 == 0 else "odd", *(["rare"] if i % 40 == 3 else [])),
                  "question": f"What is number {i} of the {'Änderung' if i % 3 else 'default_port'}?",
                  "total_ms": float(i % 13) if i % 5 else None}
        for i in range(n)
    }  # fmt: skip
    metrics = [a_metric("recall@5"), a_metric("faithfulness", half="generation")]
    return a_run(folder / "runs", values, items=items, metrics=metrics)


def opened(folder: Path, run: RunDir) -> Index:
    made, catalog = indexes(folder)
    return made.get(catalog.entry(run.path.name))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("mixed")
    return opened(folder, a_mixed_run(folder, 60))


SORTS = ["", "id", "outcome", "ms", "cost", "recall@5", "faithfulness"]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("narrow", [{}, {"tag": "odd"}, {"outcome": "bad"}, {"text": "number default"}])
def test_pages_are_the_rows_in_order_and_neighbours_walk_through_them(
    mixed: Index, sort: str, down: bool, narrow: dict[str, str]
) -> None:
    index = mixed
    wanted = Filter(sort=sort, down=down, **narrow)
    whole, n = index.page(wanted, 1, 1000)
    assert n == len(whole) > 3
    pages = [line for number in range(1, 30) for line in index.page(wanted, number, 7)[0]]
    assert pages == whole

    def key(line: Line) -> float | str | None:
        plain = {"id": line.id, "outcome": line.outcome, "ms": line.ms, "cost": line.cost, "": line.place}
        return plain[sort] if sort in plain else line.values[sort]

    there = [key(line) for line in whole if key(line) is not None]
    assert there == sorted(there, reverse=down)  # type: ignore[type-var]
    assert all(key(line) is None for line in whole[len(there) :])
    for place, line in enumerate(whole):
        before, after, at, of = index.neighbours(wanted, line)
        assert (at, of) == (place + 1, n)
        assert before == (whole[place - 1] if place else None)
        assert after == (whole[place + 1] if place + 1 < n else None)


def test_filters_leave_what_the_rows_say(tmp_path: Path) -> None:
    run = a_mixed_run(tmp_path)
    index = opened(tmp_path, run)
    records = {record.sample.item.id: record for record in run.records()}

    def ids(**wanted: str) -> set[str]:
        return {line.id for line in index.page(Filter(**wanted), 1, 1000)[0]}  # type: ignore[arg-type]

    assert ids() == set(records)
    assert ids(tag="rare") == {name for name, r in records.items() if "rare" in r.sample.item.tags} != set()
    assert ids(tag="rar") == set()
    assert ids(missing="faithfulness") == {
        n for n, r in records.items() if not isinstance(r.scores["faithfulness"], Scored)
    }
    assert ids(text="default port") == {n for n, r in records.items() if "default_port" in r.sample.item.question}
    assert ids(text="anderung 17") == {"q17"}  # without its umlaut, and all words must be there
    assert ids(text="q11") >= {"q11", "q110"}
    assert ids(text='"; DROP TABLE rows; --') == set()
    assert ids(text="((( ***") == set()
    assert ids(tag="odd", text="rare") == ids(tag="rare")
    assert ids(cause="no such cause") == set()
    causes = dict(index.n_by_cause())
    assert sum(causes.values()) == sum(len(ids(cause=name)) for name in causes)
    assert ids(outcome="bad") | ids(outcome="good") | ids(outcome="unknown") == set(records)
    view = index.view()
    assert view.outcomes["bad"] == len(ids(outcome="bad"))
    assert view.n_rows == 120


def test_a_row_is_found_and_read_from_where_it_stands(tmp_path: Path) -> None:
    run = a_mixed_run(tmp_path)
    index = opened(tmp_path, run)
    for record in run.records():
        line = index.find(record.sample.item.id)
        assert index.record(line) == record
        cause = index.cause(line)
        assert (cause.cause if cause else None) == line.cause
    with pytest.raises(UnknownName, match="q1200"):
        index.find("q1200")


def test_a_row_written_again_replaces_the_older_one_and_the_index_notices(tmp_path: Path) -> None:
    run = a_mixed_run(tmp_path, 10)
    made, catalog = indexes(tmp_path)
    assert made.get(catalog.entry(run.path.name)).find("q3").values["recall@5"] in (0.0, 0.5, 1.0)
    record = next(r for r in run.records() if r.sample.item.id == "q3")
    changed = record.model_copy(update={"scores": {**record.scores, "recall@5": Scored(value=0.25)}})
    with run.writer() as writer:
        writer.append(changed.model_dump_json(exclude_none=True))
    assert made.ready(catalog.entry(run.path.name)).stale  # type: ignore[union-attr]
    index = made.get(catalog.entry(run.path.name))
    assert index.find("q3").values["recall@5"] == 0.25
    assert index.page(Filter(), 1, 100)[1] == 10


def test_a_damaged_row_is_told_of(tmp_path: Path) -> None:
    run = a_mixed_run(tmp_path, 5)
    with run.rows.open("a") as file:
        file.write('{"index": 9, "sample": {"item": {"id": "x"}}, "scores": {}}\n')
    with pytest.raises(StoreError, match="damaged"):
        opened(tmp_path, run)


def test_a_damaged_or_older_cache_is_built_anew(tmp_path: Path) -> None:
    run = a_mixed_run(tmp_path, 5)
    made, catalog = indexes(tmp_path)
    file = made.get(catalog.entry(run.path.name)).file
    file.write_bytes(b"no database at all" * 100)
    assert made.get(catalog.entry(run.path.name)).page(Filter(), 1, 9)[1] == 5


def test_an_empty_run_has_an_index(tmp_path: Path) -> None:
    run = a_run(tmp_path / "runs", {}, metrics=[a_metric("recall")])
    assert opened(tmp_path, run).page(Filter(), 1, 9) == ([], 0)
    run.rows.unlink(missing_ok=True)
    assert opened(tmp_path, run).page(Filter(), 1, 9) == ([], 0)


def test_hostile_texts_are_found_by_their_own_id_and_tag(tmp_path: Path) -> None:
    texts = [storable(text) for text in HOSTILE]
    names = [f"{place} {text}" for place, text in enumerate(texts)]
    run = a_run(
        tmp_path / "runs",
        {name: {"recall": 1.0} for name in names},
        items={name: {"question": text, "tags": (text,)} for name, text in zip(names, texts, strict=True)},
    )
    index = opened(tmp_path, run)
    for name, text in zip(names, texts, strict=True):
        assert index.find(name).id == name
        assert name in {line.id for line in index.page(Filter(tag=text), 1, 200)[0]}
        index.page(filter_of({"q": text, "sort": text, "cause": text, "outcome": text, "missing": text}), 1, 5)


def test_a_large_run_is_read_in_another_process_and_the_page_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    from ragauge.web import index as module
    from ragauge.web.jobs import Waiting

    run = a_mixed_run(tmp_path, 30)
    monkeypatch.setattr(module, "INLINE_BYTES", 10)
    made, catalog = indexes(tmp_path)
    entry = catalog.entry(run.path.name)
    with pytest.raises(Waiting) as waiting:
        made.get(entry)
    end = time.monotonic() + 60
    while not waiting.value.job.finished:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert waiting.value.job.failed is None
    assert made.get(entry).page(Filter(), 1, 9)[1] == 30
