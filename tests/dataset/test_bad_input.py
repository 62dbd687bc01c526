"""Every bad input gets an error that says what, where and what would be accepted."""

from __future__ import annotations

import contextlib
import gzip
import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from ragauge.dataset import load_golden, read_samples
from ragauge.errors import InputError, UnknownName
from ragauge.store import textfile


def refused(path: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        load_golden(path, **options)
    assert caught.value.exit_code == 2
    return str(caught.value)


def file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", ["g.yaml", "g.json", "g.jsonl", "g.csv", "g.tsv", "g.parquet", "g.jsonl.gz"])
def test_an_empty_file_says_so(name: str, tmp_path: Path) -> None:
    assert "the file is empty" in refused(file(tmp_path, name, b""))


@pytest.mark.parametrize("name", ["g.yaml", "g.json", "g.jsonl", "g.csv"])
def test_a_file_of_white_space_says_so(name: str, tmp_path: Path) -> None:
    assert "no records" in (text := refused(file(tmp_path, name, "\n  \n"))) or "white space" in text or "JSON" in text


@pytest.mark.parametrize("name", ["g.yaml", "g.json", "g.jsonl", "g.csv"])
def test_a_binary_file_says_so(name: str, tmp_path: Path) -> None:
    assert "binary" in refused(file(tmp_path, name, bytes(range(256)) * 20))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PAR1\0\0", "Parquet"),
        (b"PK\x03\x04xx", "Excel"),
        (b"%PDF-1.4", "PDF"),
        (b"\x80\x04\x95xx", "pickle"),
        (b"BZh9", "bzip2"),
    ],
)
def test_known_binary_formats_are_named(content: bytes, what: str, tmp_path: Path) -> None:
    assert what in refused(file(tmp_path, "g.jsonl", content))


@pytest.mark.parametrize("name", ["g.yaml", "g.json", "g.jsonl", "g.csv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_and_utf32_say_how_to_convert(name: str, encoding: str, tmp_path: Path) -> None:
    content = '[{"question": "How large may a body be?"}]'.encode(encoding)
    text = refused(file(tmp_path, name, content))
    assert encoding[:6].upper() in text
    assert "iconv -f" in text


@pytest.mark.parametrize("name", ["g.yaml", "g.json", "g.jsonl", "g.csv"])
def test_latin1_says_the_line_and_how_to_convert(name: str, tmp_path: Path) -> None:
    lines = {
        "g.yaml": "- question: a\n- question: caf\xe9\n", "g.json": '[{"question": "a"},\n{"question": "caf\xe9"}]',
        "g.jsonl": '{"question": "a"}\n{"question": "caf\xe9"}\n', "g.csv": "question\ncaf\xe9\n",
    }[name]  # fmt: skip
    text = refused(file(tmp_path, name, lines.encode("latin-1")))
    assert ":2: the text is not UTF-8" in text
    assert "iconv -f WINDOWS-1252" in text


def test_a_huge_line_is_refused_with_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, "g.jsonl", '{"question": "a"}\n{"question": "' + "x" * 5000 + '"}\n')
    assert load_golden(path).items[1].question == "x" * 5000
    assert textfile.MAX_LINE_BYTES == 64 * 2**20
    with pytest.raises(InputError, match=r"g.jsonl:2: the line is longer than 4000 bytes.*accepted: lines up to"):
        list(textfile.numbered_lines(path, max_bytes=4000))


def test_a_file_cut_off_in_gzip_says_so(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps({"question": "x" * 1000}).encode())
    assert "cannot be read to its end" in refused(file(tmp_path, "g.jsonl.gz", packed[:-9]))


def test_a_missing_file_offers_the_nearest_name(tmp_path: Path) -> None:
    file(tmp_path, "golden.yaml", "- question: Q")
    assert "golden.yaml" in refused(tmp_path / "golden.yml")
    assert "no such file" in refused(tmp_path / "nowhere" / "g.yaml")
    assert "no usable path" in (text := refused("a\0b")) or "not a usable path" in text


def test_an_unknown_format_lists_the_known_ones(tmp_path: Path) -> None:
    assert ".jsonl" in refused(file(tmp_path, "g.docx", "text"))
    (tmp_path / "empty").mkdir()
    assert "the folder is empty" in refused(tmp_path / "empty")


def test_a_missing_question_offers_the_field_that_looks_like_it(tmp_path: Path) -> None:
    text = refused(file(tmp_path, "g.jsonl", '{"question": "a"}\n{"qestion": "b", "answer": "c"}\n'))
    assert "g.jsonl:2: no question" in text
    assert "user_input" in text
    assert "--map qestion=question" in text


@pytest.mark.parametrize(
    ("record", "line", "parts"),
    [
        ({"question": "  \u200b"}, 1, ["the question is blank"]),
        ({"question": None}, 1, ["the question is null"]),
        ({"question": 12}, 1, ["a number or truth value where the question belongs", "found 12"]),
        ({"question": {"a": 1}}, 1, ["an object where text belongs"]),
        ({"question": "Q", "relevance": {"a": 4}}, 1, ["the grade is outside 0 to 3", "found 4", "'relevance'"]),
        ({"question": "Q", "relevance": {"a": -1}}, 1, ["the grade is outside 0 to 3"]),
        ({"question": "Q", "relevance": {"a": 1.5}}, 1, ["the grade is outside 0 to 3"]),
        ({"question": "Q", "relevance": {"a": "high"}}, 1, ["the grade is not a number", "found 'high'"]),
        ({"question": "Q", "relevant_ids": ["a"], "irrelevant": ["a"]}, 1, ["both relevant and not relevant"]),
        ({"question": "Q", "answerable": "maybe"}, 1, ["not a truth value", "true | false", "found 'maybe'"]),
        ({"question": "Q", "answerable": True, "unanswerable": True}, 1, ["contradict"]),
        ({"question": "Q", "faithfulness_threshold": 1.2}, 1, ["out of range", "0.0 to 1.0"]),
        ({"question": "Q", "tags": [["a"]]}, 1, ["a list where text belongs"]),
        ({"question": "Q", "sources": {"a": 1}}, 1, ["an object where a list belongs"]),
        ({"question": "Q", "answer": {"a": 1}}, 1, ["an object where text belongs"]),
        ({"question": "Q", "answer": True}, 1, ["a truth value where text belongs"]),
        ({"question": "Q", "evidence": [{"quote": " ", "document": "d"}]}, 1, ["`quote` is blank"]),
        ({"question": "Q", "evidence": [{"document": "d", "start": 5}]}, 1, ["both `start` and `end`"]),
        ({"question": "Q", "evidence": [{"document": "d", "start": 5, "end": 5}]}, 1, ["greater than `start`"]),
        ({"question": "Q", "evidence": [{"document": "d", "start": -5, "end": 5}]}, 1, ["out of range"]),
        ({"question": "Q", "evidence": [{"document": "d", "qoute": "x"}]}, 1, ["unknown key 'qoute'"]),
        ({"question": "Q", "evidence": [{"any": []}]}, 1, ["without alternatives"]),
        ({"question": "Q", "history": [{"role": "user"}]}, 1, ["a message without content"]),
    ],
)  # fmt: skip
def test_wrong_values_name_field_found_and_accepted(
    record: dict[str, Any], line: int, parts: list[str], tmp_path: Path
) -> None:
    text = refused(file(tmp_path, "g.jsonl", json.dumps(record)))
    assert f"g.jsonl:{line}: " in text
    for part in parts:
        assert part in text


@pytest.mark.parametrize("literal", ["Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(literal: str, tmp_path: Path) -> None:
    text = refused(
        file(tmp_path, "g.jsonl", f'{{"question": "a"}}\n{{"question": "Q", "metadata": {{"x": {literal}}}}}')
    )
    assert "g.jsonl:2: " in text
    assert "is not a value" in text or "too large" in text
    assert "not a value" in refused(file(tmp_path, "g.yaml", "- question: Q\n  faithfulness_threshold: .nan\n"))


def test_duplicate_ids_name_both_lines_in_every_format(tmp_path: Path) -> None:
    assert "lines 1 and 3" in refused(
        file(tmp_path, "g.jsonl", '{"id": "a", "question": "Q"}\n\n{"id": "a", "question": "P"}')
    )
    assert "lines 2 and 4" in refused(
        file(tmp_path, "g.yaml", "# top\n- id: a\n  question: Q\n- id: a\n  question: P\n")
    )
    assert "lines 2 and 4" in refused(
        file(tmp_path, "g.json", '[\n{"id": "a", "question": "Q"},\n\n{"id": "a", "question": "P"}]')
    )
    assert "lines 2 and 4" in refused(file(tmp_path, "g.csv", 'id,question\na,"two\nlines"\na,P\n'))


def test_duplicate_keys_are_refused(tmp_path: Path) -> None:
    assert "'id' stands twice" in refused(file(tmp_path, "g.jsonl", '{"id": "a", "id": "b", "question": "Q"}'))
    text = refused(file(tmp_path, "g.yaml", "- id: a\n  question: Q\n  id: b\n"))
    assert "the key 'id' stands twice, on lines 1 and 3" in text
    assert "two columns are named 'id'" in refused(file(tmp_path, "g.csv", "id,id\n1,2\n"))


def test_broken_syntax_names_the_line(tmp_path: Path) -> None:
    assert "g.jsonl:2: not readable as JSON" in refused(file(tmp_path, "g.jsonl", '{"question": "a"}\n{"question": \n'))
    assert "g.json:3: not readable as JSON" in refused(
        file(tmp_path, "g.json", '[\n{"question": "a"},\n{"question" "b"}]')
    )
    assert "g.json:2: not readable as JSON: the array is not closed" in refused(
        file(tmp_path, "g.json", '[\n{"question": "a"}')
    )
    assert "g.json:1: not readable as JSON: something follows" in refused(
        file(tmp_path, "g.json", '[{"question": "a"}] x')
    )
    assert "g.yaml:2: not readable as YAML" in refused(file(tmp_path, "g.yaml", "- question: a\n  answer: [b\n"))
    assert "quotation mark" in refused(file(tmp_path, "g.csv", 'question,answer\n"open,b\n'))
    assert "g.csv:3: the row has 3 cells, the header has 2" in refused(
        file(tmp_path, "g.csv", "question,answer\na,b\na,b,c\n")
    )
    assert "Parquet" in refused(file(tmp_path, "g.parquet", "not parquet at all"))


def test_a_record_that_is_no_object_is_named(tmp_path: Path) -> None:
    assert "g.jsonl:2: a record that is no object (found 'text')" in refused(
        file(tmp_path, "g.jsonl", '{"question": "a"}\n"text"')
    )
    assert "record 2 is no object" in refused(file(tmp_path, "g.yaml", "- question: a\n- just text\n"))
    assert "neither a list" in refused(file(tmp_path, "g.yaml", "just text"))
    assert "no records" in refused([])


def test_all_problems_of_a_file_come_in_one_error_up_to_twenty(tmp_path: Path) -> None:
    bad = [{"question": ""}, {"question": "Q", "answerable": "x"}, {"id": "q"}]
    path = file(tmp_path, "g.jsonl", "\n".join(json.dumps(r) for r in bad))
    with pytest.raises(InputError) as caught:
        load_golden(path)
    assert "3 problems" in str(caught.value)
    assert [p.line for p in caught.value.problems] == [1, 2, 3]
    many = file(tmp_path, "many.jsonl", '{"question": ""}\n' * 100)
    with pytest.raises(InputError) as caught:
        load_golden(many)
    assert len(caught.value.problems) == 20
    assert "perhaps more" in str(caught.value)


def test_a_yaml_error_names_the_line_of_the_field(tmp_path: Path) -> None:
    path = file(tmp_path, "g.yaml", "- id: a\n  question: Q\n  answer: A\n  relevance:\n    x: 7\n")
    assert "g.yaml:4: the grade is outside 0 to 3 (field 'relevance'" in refused(path)


def test_yaml_that_would_grow_or_build_objects_is_refused_quickly(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
    )
    started = time.perf_counter()
    assert "aliases repeat too much" in refused(file(tmp_path, "bomb.yaml", bomb))
    assert "contains itself" in refused(file(tmp_path, "loop.yaml", "- question: Q\n  metadata: &m {a: *m}\n"))
    assert "data only" in refused(file(tmp_path, "o.yaml", "- question: !!python/object/apply:os.system [ls]\n"))
    assert "deep" in refused(file(tmp_path, "deep.yaml", "- question: Q\n  metadata: " + "[" * 900 + "]" * 900))
    assert time.perf_counter() - started < 40


def test_json_nested_without_end_is_refused(tmp_path: Path) -> None:
    assert "nested too deeply" in refused(file(tmp_path, "g.jsonl", '{"question": "Q", "metadata": ' + "[" * 200_000))
    assert "nested too deeply" in refused(file(tmp_path, "g.json", "[" * 200_000))


def test_nulls_and_lone_surrogates_are_replaced_and_said(tmp_path: Path) -> None:
    path = file(tmp_path, "g.jsonl", r'{"question": "a\u0000b \ud800", "metadata": {"k\u0000": "\udfff"}}')
    loaded = load_golden(path)
    assert loaded.items[0].question == "a\ufffdb \ufffd"
    assert loaded.items[0].metadata == {"k\ufffd": "\ufffd"}
    assert any("lone surrogates in 'question'" in note for note in loaded.notes)
    loaded.fingerprint.encode()


def test_a_wrong_map_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'question'"):
        load_golden([{"q": "Q"}], field_map={"q": "qestion"})
    text = refused([{"question": "Q"}], field_map={"frage": "answer"})
    assert "no record has the mapped field 'frage'" in text


def test_a_hub_name_is_a_missing_file_and_nothing_is_looked_up() -> None:
    assert "does not exist" in refused("someone/some-dataset")


@pytest.mark.parametrize(
    ("record", "parts"),
    [
        ({"question": "Q", "contexts": [1]}, ["context 1: neither text nor object"]),
        ({"question": "Q", "contexts": 3}, ["no contexts", "a list of texts"]),
        ({"question": "Q", "contexts": ["a", "b"], "context_ids": ["x"]}, ["1 values for 2 contexts", "'context_ids'"]),
        ({"question": "Q", "contexts": ["a"], "retrieve_scores": ["x"]}, ["context 1: not a number"]),
        ({"question": "Q", "contexts": [{"text": {"a": 1}}], "retrieval_ms": -1}, ["out of range"]),
        ({"question": "Q", "usage": {"prompt_tokens": -3}}, ["tokens_in", "out of range"]),
        ({"question": "Q", "repeat": 0.5}, ["not a whole number"]),
        ({"question": "Q", "steps": "x"}, ["no list of retrieval steps"]),
        ({"question": "Q", "answer": ["a", {"b": 1}]}, ["an object where text belongs"]),
    ],
)  # fmt: skip
def test_wrong_recorded_values_are_named(record: dict[str, Any], parts: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        list(read_samples(file(tmp_path, "r.jsonl", json.dumps(record))))
    for part in ["r.jsonl:1: ", *parts]:
        assert part in str(caught.value)


def test_a_printed_numpy_array_is_not_taken_for_one_text(tmp_path: Path) -> None:
    path = file(tmp_path, "r.csv", "question,contexts\nQ,\"['one' 'two']\"\n")
    with pytest.raises(InputError, match="without a comma between them"):
        list(read_samples(path))


def test_nan_in_a_parquet_list_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from ragauge.store.tables import write_parquet

    write_parquet(tmp_path / "r.parquet", [{"question": "Q", "contexts": ["a"], "retrieve_scores": [float("nan")]}])
    with pytest.raises(InputError, match="nan is not a finite number"):
        list(read_samples(tmp_path / "r.parquet"))


def test_random_bytes_never_end_in_another_exception(tmp_path: Path) -> None:
    import random

    source = random.Random(7)
    for number in range(60):
        suffix = source.choice([".yaml", ".json", ".jsonl", ".csv", ".parquet"])
        content = source.choice([b"[{", b'{"question": "', b"- question: ", b"question\n", b""]) + struct.pack(
            ">200B", *(source.randrange(32, 128) if number % 2 else source.randrange(256) for _ in range(200))
        )
        path = file(tmp_path, f"r{number}{suffix}", content)
        with contextlib.suppress(InputError):
            load_golden(path)


def test_a_list_under_an_unknown_key_is_named(tmp_path: Path) -> None:
    text = refused(file(tmp_path, "g.yaml", "name: x\nitmes:\n  - question: Q\n"))
    assert "g.yaml:2: a list of records under the unknown key 'itmes'; accepted: items | examples" in text


def test_a_missing_column_is_said_once(tmp_path: Path) -> None:
    text = refused(file(tmp_path, "g.csv", "qestion,answer\na,b\nc,d\n"))
    assert text.count("no question") == 1
    assert "--map qestion=question" in text


def test_an_empty_path_is_not_the_current_folder() -> None:
    assert "the path is empty" in refused("")


def test_a_colon_in_a_text_of_yaml_gets_advice(tmp_path: Path) -> None:
    text = refused(file(tmp_path, "g.yaml", "- id: a\n  question: When does it: expire?\n"))
    assert "g.yaml:2: " in text
    assert "needs quotes" in text
