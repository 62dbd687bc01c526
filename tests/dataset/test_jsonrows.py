from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragauge.dataset import jsonrows
from ragauge.errors import InputError

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80)
@given(
    records=st.lists(st.dictionaries(st.text(max_size=4), _values, max_size=4), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_an_array_cut_into_blocks_anywhere_is_read_as_json_reads_it(
    records: list[dict[str, Any]], seed: int, tmp_path: Path
) -> None:
    source = random.Random(seed)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(records, ensure_ascii=source.random() < 0.5, indent=source.choice([None, 1])), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonrows, "_BLOCK", source.choice([1, 2, 3, 7, 64]))
        rows = list(jsonrows.json_array(path))
    assert [row.data for row in rows if not isinstance(row, InputError)] == records


def test_rows_of_an_array_know_their_lines_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("[\n" + ",\n".join(json.dumps({"q": "x" * 50, "n": n}) for n in range(40)) + "\n]\n")
    for block in (5, 100, 2**20):
        monkeypatch.setattr(jsonrows, "_BLOCK", block)
        assert [row.line for row in jsonrows.json_array(path)] == list(range(2, 42))


def test_a_mistake_early_in_a_long_array_is_told_without_reading_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonrows, "_BLOCK", 200)
    path = tmp_path / "a.json"
    path.write_text('[\n{"a": 1},\n{"a" 2},\n' + ",\n".join('{"a": 3}' for _ in range(1000)) + "]")
    n_blocks = 0
    blocks = jsonrows._text_blocks

    def counted(path: Path) -> Iterator[str]:
        nonlocal n_blocks
        for block in blocks(path):
            n_blocks += 1
            yield block

    monkeypatch.setattr(jsonrows, "_text_blocks", counted)
    with pytest.raises(InputError, match=r"a.json:3: not readable as JSON"):
        list(jsonrows.json_array(path))
    assert n_blocks < 5


def test_a_huge_record_in_an_array_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1},\n{"a": "' + "x" * 2**21 + '"}]')
    assert len(list(jsonrows.json_array(path))) == 2
    monkeypatch.setattr(jsonrows, "MAX_LINE_BYTES", 2**20)
    with pytest.raises(InputError, match=r"a.json:2: .*a record longer than 1 MiB"):
        list(jsonrows.json_array(path))
