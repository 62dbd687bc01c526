"""What the command line says to bad input: what, where, what to do next; exit 2; nothing half-written."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ragauge.cli.main import main

GOOD = {"id": "q1", "question": "What is the port?", "answer": "8080", "contexts": ["The port is 8080."]}


@pytest.fixture
def ragauge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        out, err = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), out, err

    return run


Ragauge = Callable[..., tuple[int, str, str]]


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def refused(result: tuple[int, str, str], *words: str) -> None:
    code, out, err = result
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err
    for word in words:
        assert word in err
    assert not Path("runs").exists()


def test_a_missing_file(ragauge: Ragauge) -> None:
    refused(ragauge("score", "nothing.jsonl"), "nothing.jsonl")


def test_an_empty_file(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text("")
    refused(ragauge("score", "answers.jsonl"), "answers.jsonl")


def test_a_binary_file(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_bytes(bytes(range(256)) * 10)
    refused(ragauge("score", "answers.jsonl"), "answers.jsonl")


def test_a_wrong_encoding_says_how_to_convert(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_bytes(lines(GOOD).encode("utf-16"))
    refused(ragauge("score", "answers.jsonl"), "answers.jsonl", "UTF-")


def test_a_missing_field_names_file_line_and_what_is_accepted(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text(lines(GOOD, {"id": "q2", "answer": "x"}))
    refused(ragauge("score", "answers.jsonl"), "answers.jsonl:2", "question", "user_input")


def test_a_wrong_type_names_the_field_and_what_was_found(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text(lines(GOOD, GOOD | {"id": "q2", "contexts": 7}))
    refused(ragauge("score", "answers.jsonl"), "answers.jsonl:2", "contexts", "7")


def test_a_duplicate_id_names_both_lines(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text(lines(GOOD, GOOD | {"question": "Another?"}))
    refused(ragauge("score", "answers.jsonl"), "answers.jsonl:2", "q1", "1")


def test_a_line_that_is_no_json(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text(lines(GOOD) + "{oops\n")
    refused(ragauge("score", "answers.jsonl"), "answers.jsonl:2")


def test_an_unknown_metric_offers_the_nearest(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text(lines(GOOD))
    refused(ragauge("score", "answers.jsonl", "--metrics", "fathfulness"), "Did you mean 'faithfulness'")


def test_a_k_that_is_no_number(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text(lines(GOOD))
    refused(ragauge("score", "answers.jsonl", "--metrics", "recall@zero"), "recall@zero", "whole number")


def test_metrics_that_nothing_feeds_say_what_is_missing(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text(lines(GOOD))
    refused(ragauge("score", "answers.jsonl", "--metrics", "keyword_hits"), "keyword_hits", "no sample has keywords")


def test_an_unknown_setting_offers_the_nearest(ragauge: Ragauge) -> None:
    Path("ragauge.yaml").write_text("goldn: golden.yaml\n")
    refused(ragauge("run"), "goldn", "Did you mean 'golden'")


def test_an_unknown_setting_of_the_system_offers_the_nearest(ragauge: Ragauge) -> None:
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# A\n\nThe port is 8080.\n")
    Path("golden.yaml").write_text("- {id: q1, question: What is the port?}\n")
    Path("ragauge.yaml").write_text("golden: golden.yaml\ncorpus: docs\nsystem: {reference: {chunksize: 3}}\n")
    refused(ragauge("run"), "chunksize", "chunk_size")


def test_an_unknown_command_offers_the_nearest(ragauge: Ragauge) -> None:
    refused(ragauge("scroe"), "Did you mean 'score'")


def test_no_settings_says_how_to_start(ragauge: Ragauge) -> None:
    refused(ragauge("run"), "ragauge init", "ragauge demo")


def test_broken_yaml_names_the_line(ragauge: Ragauge) -> None:
    Path("ragauge.yaml").write_text("golden: a\n  corpus: [\n")
    refused(ragauge("run"), "ragauge.yaml:2")


def test_an_empty_corpus_folder(ragauge: Ragauge) -> None:
    Path("docs").mkdir()
    Path("golden.yaml").write_text("- {id: q1, question: What is the port?}\n")
    Path("ragauge.yaml").write_text("golden: golden.yaml\ncorpus: docs\n")
    refused(ragauge("run"), "docs")


def test_a_label_for_a_chunk_that_is_not_there(ragauge: Ragauge) -> None:
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# A\n\nThe port is 8080.\n")
    Path("golden.yaml").write_text("- {id: q1, question: What is the port?, chunks: ['a.md#9999'], answer: '8080'}\n")
    Path("ragauge.yaml").write_text("golden: golden.yaml\ncorpus: docs\nsystem: {reference: {retrieval: bm25}}\n")
    refused(ragauge("run"), "golden.yaml", "a.md#9999", "q1")


def test_a_run_directory_from_a_newer_version(ragauge: Ragauge, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere" / "2099-01-01T00-00-00-x-ffff"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"format": 999, "ragauge": "9.0"}')
    refused(ragauge("show", str(folder)), "newer ragauge", "9.0")


def test_a_folder_that_is_no_run(ragauge: Ragauge, tmp_path: Path) -> None:
    refused(ragauge("show", str(tmp_path)), "manifest.json")


def test_retry_errors_goes_with_resume(ragauge: Ragauge) -> None:
    refused(ragauge("score", "x.jsonl", "--retry-errors"), "--resume")


def test_a_damaged_gzip_file(ragauge: Ragauge) -> None:
    whole = gzip.compress(lines(*(GOOD | {"id": f"q{n}"} for n in range(500))).encode())
    Path("answers.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    refused(ragauge("score", "answers.jsonl.gz"), "answers.jsonl.gz")


def test_control_codes_in_bad_input_do_not_reach_the_terminal(ragauge: Ragauge) -> None:
    Path("answers.jsonl").write_text(
        lines(GOOD | {"contexts": "\u001b[2J\u202e"}, {"id": "\u001b[31mred", "answer": "x"})
    )
    code, _, err = ragauge("score", "answers.jsonl")
    assert code == 2
    assert "\u001b" not in err
    assert "\u202e" not in err
