from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.core.sample import Evidence, EvidenceGroup, GoldenItem
from ragauge.dataset import GoldenSet, load_golden
from ragauge.dataset.golden import part_of
from ragauge.errors import InputError, UnknownName
from ragauge.store.tables import write_csv, write_parquet

RECORDS: list[dict[str, Any]] = [
    {
        "id": "limit", "question": "How large may a body be?", "answer": "4 GB", "sources": ["limits.md"],
        "chunks": ["limits.md#2"], "relevance": {"limits.md#2": 3, "limits.md#1": 0}, "answerable": True,
        "keywords": ["4 GB"], "tags": ["lookup", "numeric"], "faithfulness_threshold": 0.9, "verified": True,
        "language": "en", "metadata": {"author": "ada"},
    },
    {"id": "nobody", "question": "Who is the CEO?", "answerable": False, "tags": ["unanswerable"]},
]  # fmt: skip

YAML = """\
# the golden set
- id: limit
  question: How large may a body be?
  answer: 4 GB
  sources: [limits.md]
  chunks: [limits.md#2]
  relevance: {limits.md#2: 3, limits.md#1: 0}
  answerable: yes
  keywords: [4 GB]
  tags: [lookup, numeric]
  faithfulness_threshold: 0.9
  verified: true
  language: en
  metadata: {author: ada}
- id: nobody
  question: Who is the CEO?
  answerable: no
  tags: [unanswerable]
"""


def write_yaml(folder: Path) -> Path:
    (folder / "g.yaml").write_text(YAML)
    return folder / "g.yaml"


def write_json(folder: Path) -> Path:
    (folder / "g.json").write_text(json.dumps(RECORDS, indent=2))
    return folder / "g.json"


def write_json_object(folder: Path) -> Path:
    (folder / "g.json").write_text(json.dumps({"name": "x", "items": RECORDS}))
    return folder / "g.json"


def write_json_by_id(folder: Path) -> Path:
    (folder / "g.json").write_text(json.dumps({r["id"]: {k: v for k, v in r.items() if k != "id"} for r in RECORDS}))
    return folder / "g.json"


def write_jsonl(folder: Path) -> Path:
    (folder / "g.jsonl").write_text("\n\n".join(json.dumps(r) for r in RECORDS))
    return folder / "g.jsonl"


def write_jsonl_named_json(folder: Path) -> Path:
    (folder / "g.json").write_text("\n".join(json.dumps(r) for r in RECORDS))
    return folder / "g.json"


def write_array_named_jsonl(folder: Path) -> Path:
    (folder / "g.jsonl").write_text(json.dumps(RECORDS, indent=1))
    return folder / "g.jsonl"


def write_jsonl_gz(folder: Path) -> Path:
    with gzip.open(folder / "g.jsonl.gz", "wt") as handle:
        handle.write("\n".join(json.dumps(r) for r in RECORDS))
    return folder / "g.jsonl.gz"


def write_jsonl_with_bom(folder: Path) -> Path:
    (folder / "g.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(json.dumps(r) for r in RECORDS).encode())
    return folder / "g.jsonl"


def write_without_suffix(folder: Path) -> Path:
    (folder / "golden").write_text("\n".join(json.dumps(r) for r in RECORDS))
    return folder / "golden"


def write_table(folder: Path) -> Path:
    write_csv(folder / "g.csv", RECORDS, list(RECORDS[0]))
    return folder / "g.csv"


def write_tsv(folder: Path) -> Path:
    head = "\t".join(RECORDS[0])
    first = (
        "limit\tHow large may a body be?\t4 GB\tlimits.md\tlimits.md#2\tlimits.md#2:3; limits.md#1:0\tyes\t4 GB\t"
        "lookup; numeric\t0.9\t1\ten\t" + '"{""author"": ""ada""}"'
    )
    (folder / "g.tsv").write_text(
        head + "\n" + first + "\nnobody\tWho is the CEO?\t\t\t\t\tno\t\tunanswerable\t\t\t\t\n"
    )
    return folder / "g.tsv"


def write_semicolons(folder: Path) -> Path:
    text = (folder / "g.tsv") if write_tsv(folder) else None
    assert text is not None
    target = folder / "semi.csv"
    target.write_text(
        text.read_text()
        .replace("lookup; numeric", "lookup|numeric")
        .replace("3; limits", "3|limits")
        .replace("\t", ";")
    )
    return target


def write_parquet_file(folder: Path) -> Path:
    pytest.importorskip("pyarrow")
    columns = dict.fromkeys(RECORDS[0])
    rows = [{**columns, **r, "relevance": json.dumps(r["relevance"]) if "relevance" in r else None} for r in RECORDS]
    write_parquet(folder / "g.parquet", rows)
    return folder / "g.parquet"


def write_folder(folder: Path) -> Path:
    inside = folder / "sets"
    inside.mkdir()
    (inside / "a.yaml").write_text(YAML.split("- id: nobody")[0])
    (inside / "b.jsonl").write_text(json.dumps(RECORDS[1]))
    return inside


def columns(folder: Path) -> Path:
    keys = list(RECORDS[0])
    (folder / "g.json").write_text(json.dumps({key: [r.get(key) for r in RECORDS] for key in keys}))
    return folder / "g.json"


WRITERS = [
    write_yaml, write_json, write_json_object, write_json_by_id, write_jsonl, write_jsonl_named_json,
    write_array_named_jsonl, write_jsonl_gz, write_jsonl_with_bom, write_without_suffix, write_table, write_tsv,
    write_semicolons,
    write_parquet_file, write_folder, columns,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS, ids=lambda w: w.__name__)
def test_every_format_gives_the_same_set(write: Any, tmp_path: Path) -> None:
    loaded = load_golden(write(tmp_path))
    expected = load_golden(RECORDS)
    assert loaded.items == expected.items
    assert loaded.fingerprint == expected.fingerprint
    assert expected.items[0].relevance == {"limits.md#2": 3, "limits.md#1": 0}
    assert expected.items[1].answerable is False


def test_data_frames_and_hugging_face_data_sets_give_the_same_set(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    datasets = pytest.importorskip("datasets")
    expected = load_golden(RECORDS)
    assert load_golden(pandas.DataFrame(RECORDS)).items == expected.items
    rows = [{**r, "relevance": json.dumps(r["relevance"]) if "relevance" in r else None} for r in RECORDS]
    data = datasets.Dataset.from_list([{key: r.get(key) for key in RECORDS[0]} for r in rows])
    assert load_golden(data).items == expected.items
    data.save_to_disk(str(tmp_path / "saved"))
    assert load_golden(tmp_path / "saved").items == expected.items
    assert load_golden(datasets.DatasetDict({"test": data})).items == expected.items
    with pytest.raises(InputError, match="2 splits: test, dev"):
        load_golden(datasets.DatasetDict({"test": data, "dev": data}))


def test_a_beir_folder_is_read_with_its_grades(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Q?"}\n{"_id": "q2", "text": "unjudged"}\n')
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "T", "text": "t"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td9\t0\n")
    loaded = load_golden(tmp_path)
    assert [item.id for item in loaded] == ["q1"]
    assert loaded.items[0].relevance == {"d1": 2, "d9": 0}
    (tmp_path / "qrels" / "test.tsv").write_text("q1 0 d1 5\n")
    with pytest.raises(InputError, match=r"test.tsv:1: the grade is outside 0 to 3 \(field 'score', found '5'"):
        load_golden(tmp_path)


def test_llamaindex_pairs_and_wrapped_lists_are_read(tmp_path: Path) -> None:
    pairs = {"queries": {"a": "Q?"}, "corpus": {"n1": "t"}, "relevant_docs": {"a": ["n1"]}}
    assert load_golden(pairs).items == (GoldenItem(id="a", question="Q?", chunks=("n1",)),)
    for key in ("examples", "results", "data", "tests"):
        assert load_golden({key: [{"query": "Q?"}]}).items[0].question == "Q?"


def test_yaml_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        "- {id: no, question: 2024-01-02, answer: 1e3, tags: [on, 1.10], sources: [0123]}\n"
        "- {id: 1e3, question: Q?, answer: 12:30:45, metadata: {n: 3, when: 2024-01-02, no: yes}}\n"
        "- {id: 0123, question: 'true', answer: true}\n"
    )
    first, second, third = load_golden(path).items
    assert (first.id, first.question, first.answer, first.tags, first.sources) == (
        "no", "2024-01-02", "1e3", ("on", "1.10"), ("0123",),
    )  # fmt: skip
    assert (second.id, second.answer) == ("1e3", "12:30:45")
    assert second.metadata == {"n": 3, "when": "2024-01-02", "no": "yes"}
    assert (third.id, third.question, third.answer) == ("0123", "true", "true")


def test_yaml_defaults_anchors_and_documents(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        "name: set\ndefaults: {verified: true, tags: [a]}\n"
        "items:\n  - &base {id: x, question: Q1, language: en}\n  - {<<: *base, id: y, tags: [b]}\n"
    )
    first, second = load_golden(path).items
    assert (first.verified, first.tags) == (True, ("a",))
    assert (second.id, second.question, second.language, second.tags) == ("y", "Q1", "en", ("b",))
    path.write_text("question: one\n---\nquestion: two\n")
    assert [item.question for item in load_golden(path)] == ["one", "two"]


def test_evidence_is_read_as_conjunction_of_alternatives() -> None:
    item = load_golden([{
        "question": "Q?",
        "evidence": [
            {"document": "a.md", "quote": "the limit"},
            {"any": [{"document": "b.md", "start": 3, "end": 9}, {"doc_id": "c.md"}]},
        ],
    }]).items[0]  # fmt: skip
    assert item.evidence == (
        EvidenceGroup(any=(Evidence(document="a.md", quote="the limit"),)),
        EvidenceGroup(any=(Evidence(document="b.md", start=3, end=9), Evidence(document="c.md"))),
    )


def test_evidence_in_flat_columns(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text(
        "question,document,quote,start,end\nQ1?,a.md,the limit,,\nQ2?,b.md,,3,9\nQ3?,c.md,,,\n"
    )
    one, two, three = load_golden(tmp_path / "g.csv").items
    assert one.evidence == (EvidenceGroup(any=(Evidence(document="a.md", quote="the limit"),)),)
    assert two.evidence == (EvidenceGroup(any=(Evidence(document="b.md", start=3, end=9),)),)
    assert (three.evidence, three.sources) == (None, ("c.md",))


def test_missing_ids_come_from_the_question_and_stay_the_same() -> None:
    once = load_golden([{"question": "Q?"}, {"question": "Q?"}, {"question": "other"}])
    ids = [item.id for item in once]
    assert ids[1] == ids[0] + "-2"
    assert len(set(ids)) == 3
    assert load_golden([{"question": "other"}, {"question": "Q?"}]).items[1].id == ids[0]


def test_the_fingerprint_ignores_order_and_metadata_and_sees_content() -> None:
    base = load_golden(RECORDS)
    assert load_golden(RECORDS[::-1]).fingerprint == base.fingerprint
    assert load_golden([{**RECORDS[0], "metadata": {"x": 1}}, RECORDS[1]]).fingerprint == base.fingerprint
    assert load_golden([{**RECORDS[0], "answer": "5 GB"}, RECORDS[1]]).fingerprint != base.fingerprint


def test_filter_and_by_id_offer_the_nearest_names() -> None:
    golden = load_golden(RECORDS)
    assert [i.id for i in golden.filter(tags=["numeric", "unanswerable"])] == ["limit", "nobody"]
    assert [i.id for i in golden.filter(tags=["numeric"])] == ["limit"]
    assert [i.id for i in golden.filter(ids=["nobody"])] == ["nobody"]
    assert [i.id for i in golden.filter(limit=1)] == ["limit"]
    assert golden.n_unverified == 1
    with pytest.raises(UnknownName, match="Did you mean 'numeric'"):
        golden.filter(tags=["numerics"])
    with pytest.raises(UnknownName, match="Did you mean 'limit'"):
        golden.by_id("limits")
    with pytest.raises(InputError, match="at least 1"):
        golden.filter(limit=0)


def test_a_split_is_a_partition_that_does_not_depend_on_the_neighbours() -> None:
    golden = load_golden([{"id": f"q{n}", "question": f"Q{n}?"} for n in range(400)])
    dev, test = golden.split("dev", dev_share=0.25), golden.split("test", dev_share=0.25)
    assert {i.id for i in dev} | {i.id for i in test} == {i.id for i in golden}
    assert len(dev) + len(test) == 400
    assert 60 < len(dev) < 140
    assert all(part_of(item.id, 0.25) == "dev" for item in dev)
    alone = load_golden([{"id": dev.items[0].id, "question": "Q"}])
    assert len(alone.split("dev", dev_share=0.25)) == 1


def test_the_card_counts_what_is_verified(tmp_path: Path) -> None:
    info = load_golden(write_yaml(tmp_path)).info()
    assert (info.name, info.n_items, info.n_verified) == ("g", 2, 1)
    assert set(info.items) == {"limit", "nobody"}


_names = st.text(min_size=1, max_size=8).filter(
    lambda s: s.strip() == s and s.strip("\x00\u200b\ufeff") and s.isprintable()
)


@given(st.lists(_names, min_size=1, max_size=5, unique=True), st.randoms())
def test_fingerprint_does_not_depend_on_order(ids: list[str], random: Any) -> None:
    records = [{"id": name, "question": f"what is {name}"} for name in ids]
    shuffled = records[:]
    random.shuffle(shuffled)
    assert load_golden(records).fingerprint == load_golden(shuffled).fingerprint


def test_a_golden_set_is_frozen() -> None:
    golden: GoldenSet = load_golden(RECORDS)
    with pytest.raises(AttributeError):
        golden.name = "other"  # type: ignore[misc]


def test_a_data_frame_with_arrays_is_read(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    frame = pandas.DataFrame({
        "question": ["Q?"], "query": ["Q?"], "keywords": [numpy.array(["a", "b"])], "tags": [numpy.array(["t"],
        dtype=object)],
        "retrieval_gt": [numpy.array([numpy.array(["x", "y"]), numpy.array(["z"])], dtype=object)],
        "score": [numpy.float64("nan")],
    })  # fmt: skip
    item = load_golden(frame).items[0]
    assert (item.keywords, item.tags) == (("a", "b"), ("t",))
    assert item.evidence is not None
    assert [len(group.any) for group in item.evidence] == [2, 1]


def test_tags_in_one_text_are_split() -> None:
    assert load_golden([{"question": "Q?", "tags": "lookup, numeric"}]).items[0].tags == ("lookup", "numeric")
