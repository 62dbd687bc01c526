"""`ragauge ab`: tables of variant and outcome."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.cli.documents import said

from ragauge.cli.ab import command
from ragauge.errors import InputError, SettingsError, UnknownName
from ragauge.testing.runs import a_run


def invoke(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(command, list(args), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert result.return_value == code
    return result.stdout


def ab(*args: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke(*args, "--json", code=code))
    return found


def written(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    lines = list(rows)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(lines), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
    return str(path)


def rates(n: int, **shares: float) -> list[dict[str, Any]]:
    """`n` observations of each variant, `shares` of them converted."""
    return [
        {"variant": name, "outcome": int(place < share * n)} for name, share in shares.items() for place in range(n)
    ]


def test_the_answer_is_printed_as_the_schema_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = said(capsys, "ab", "ab", written(tmp_path / "t.csv", rates(2000, A=0.30, B=0.40)))
    assert {arm.name for arm in printed.arms} == {"A", "B"}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_clear_difference_is_settled(tmp_path: Path, suffix: str) -> None:
    found = ab(written(tmp_path / f"t{suffix}", rates(2000, A=0.30, B=0.40)))
    (effect,) = found["effects"]
    assert (found["kind"], found["control"], effect["variant"], effect["verdict"]) == ("rate", "A", "B", "better")
    assert effect["estimate"]["value"] == pytest.approx(0.1)
    assert effect["relative"] == pytest.approx(1 / 3)
    assert 0 < effect["estimate"]["low"] < 0.1 < effect["estimate"]["high"]


def test_a_small_difference_is_not_settled_and_says_how_many_more(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rates(500, A=0.30, B=0.32))
    (effect,) = ab(path)["effects"]
    assert effect["verdict"] == "not settled yet"
    assert effect["n_more"] > 10_000
    assert "more observations settle it" in " ".join(invoke(path).split())


def test_four_rows_promise_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rates(2, A=0.5, B=1.0))
    assert ab(path)["effects"][0]["n_more"] is None
    assert "cannot be told yet" in " ".join(invoke(path).split())


def test_less_can_be_better(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rates(2000, A=0.30, B=0.40))
    assert ab(path, "--lower-is-better")["effects"][0]["verdict"] == "worse"


def test_a_difference_too_small_to_tell_is_ruled_out(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rates(5000, A=0.5, B=0.5))
    assert ab(path)["effects"][0]["verdict"] == "not settled yet"
    assert ab(path, "--smallest", "0.08")["effects"][0]["verdict"] == "no difference worth telling"


def test_a_wrong_split_comes_before_any_verdict(tmp_path: Path) -> None:
    rows = rates(3000, A=0.3) + rates(2500, B=0.5)
    found = ab(written(tmp_path / "t.csv", rows), code=3)
    assert found["sample_ratio"]["mismatch"]
    assert found["effects"][0]["verdict"] == "not to be trusted"
    assert "Sample-ratio mismatch" in found["warnings"][0]
    ratio = ("--ratio", "A=3000", "--ratio", "B=2500")
    assert ab(str(tmp_path / "t.csv"), *ratio)["effects"][0]["verdict"] == "better"


def test_means_have_intervals_too(tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = [
        {"arm": name, "minutes": round(draw.expovariate(1 / mean), 3)}
        for name, mean in (("control", 10), ("new", 7)) for _ in range(3000)
    ]  # fmt: skip
    found = ab(written(tmp_path / "t.csv", rows), "--outcome", "minutes", "--lower-is-better")
    assert (found["kind"], found["control"], found["effects"][0]["verdict"]) == ("mean", "control", "better")


def test_several_variants_share_the_error(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rates(1000, A=0.3, B=0.3, C=0.4))
    found = ab(path)
    assert {effect["variant"]: effect["verdict"] for effect in found["effects"]} == {
        "B": "not settled yet",
        "C": "better",
    }
    assert found["effects"][0]["estimate"]["level"] == pytest.approx(0.975)


def test_units_count_once_and_those_with_two_variants_not_at_all(tmp_path: Path) -> None:
    rows = [
        {"user": f"{name}{user}", "variant": name, "outcome": int(user % 2)}
        for name in "AB" for user in range(100) for _ in range(5)
    ]  # fmt: skip
    rows.append({"user": "A0", "variant": "B", "outcome": 1})
    found = ab(written(tmp_path / "t.csv", rows), "--unit", "user")
    assert [arm["n"] for arm in found["arms"]] == [99, 100]
    assert any("1 units were given more than one variant" in line for line in found["warnings"])


def test_strata_are_compared_within(tmp_path: Path) -> None:
    rows = [dict(row, country="x") for row in rates(400, A=0.8, B=0.9)]
    rows += [dict(row, country="y") for row in rates(400, A=0.2, B=0.3)]
    (effect,) = ab(written(tmp_path / "t.csv", rows), "--stratum", "country")["effects"]
    assert effect["estimate"]["value"] == pytest.approx(0.1)
    assert [(one["stratum"], one["n_variant"]) for one in effect["strata"]] == [("x", 400), ("y", 400)]


def test_offline_scores_and_runs_stand_beside(tmp_path: Path) -> None:
    rows = [dict(row, faithfulness=0.5 if row["variant"] == "A" else 0.9) for row in rates(300, A=0.3, B=0.5)]
    rows[0]["faithfulness"] = ""
    for name, value in (("a", 0.0), ("b", 1.0)):
        a_run(tmp_path / "runs", {f"q{n}": {"recall@5:doc": value} for n in range(20)}, name=name)
    path = written(tmp_path / "t.csv", rows)
    runs = ("--run", "A=00-a-", "--run", "B=03-b-", "--runs", str(tmp_path / "runs"), "--score", "faithfulness")
    runs = tuple(arg.replace("00-a-", "03-a-") for arg in runs)
    found = ab(path, *runs)
    assert found["arms"][1]["scores"]["faithfulness"]["value"] == pytest.approx(0.9)
    assert found["effects"][0]["scores"]["faithfulness"]["value"] == pytest.approx(0.4)
    assert found["offline"]["A"]["metrics"]["recall@5:doc"]["value"] == 0.0
    assert found["offline"]["B"]["differences"]["recall@5:doc"]["verdict"] == "better"
    assert "recall@5:doc" in invoke(path, *runs)
    assert "| `recall@5:doc` |" in invoke(path, *runs, "--markdown")


def test_missing_outcomes_are_counted_and_unequal_ones_told(tmp_path: Path) -> None:
    rows = [*rates(500, A=0.3, B=0.3), *({"variant": "B", "outcome": ""} for _ in range(40))]
    found = ab(written(tmp_path / "t.csv", rows))
    assert [arm["n_missing"] for arm in found["arms"]] == [0, 40]
    assert any("differ in how many rows have no outcome" in line for line in found["warnings"])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"variant": "A", "outcome": "maybe"}, {"variant": "B", "outcome": 1}], r"t.csv:2: is no number.*maybe"),
        ([{"variant": "A", "outcome": "nan"}, {"variant": "B", "outcome": 1}], "is no number"),
        ([{"variant": "", "outcome": 1}, {"variant": "B", "outcome": 1}], r"t.csv:2: is empty .*variant"),
        ([{"variant": "A", "outcome": 1}, {"variant": "A", "outcome": 0}], "two variants"),
        ([{"variant": "A", "outcome": 1}, {"variant": "B", "outcome": 0}], "single outcome"),
        ([{"colour": "A", "outcome": 1}], "no variant column.*"),
        ([{"variant": "A", "colour": 1}], "no outcome column"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ab(written(tmp_path / "t.csv", rows))


def test_wrong_options_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rates(50, A=0.3, B=0.3))
    with pytest.raises(SettingsError, match="VARIANT=SHARE"):
        ab(path, "--ratio", "A")
    with pytest.raises(InputError, match="says nothing of B"):
        ab(path, "--ratio", "A=1")
    with pytest.raises(UnknownName, match="variant"):
        ab(path, "--run", "C=x")
    with pytest.raises(InputError, match="no column 'x'"):
        ab(path, "--score", "x")
    with pytest.raises(InputError, match="no row has this variant"):
        ab(path, "--control", "Z")


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    evil = "B\x1b[31m<b>| [bold]x[/bold]"
    rows = [dict(row, variant=evil if row["variant"] == "B" else "A") for row in rates(100, A=0.3, B=0.5)]
    path = written(tmp_path / "t.jsonl", rows)
    assert "\x1b" not in invoke(path)
    assert "[bold]x[/bold]" in invoke(path)
    assert "<b>" not in invoke(path, "--markdown")
