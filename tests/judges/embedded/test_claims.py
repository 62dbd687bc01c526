# ruff: noqa: E501 (tables)
from __future__ import annotations

import time

import pytest

from ragauge.judges.embedded.claims import split_claims


def texts(answer: str) -> list[str]:
    return [claim.text for claim in split_claims(answer)]


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        ("The pump weighs 14 kg. [1]", ["The pump weighs 14 kg."]),
        ("The pump weighs 14 kg, runs on 48 V and is rated IP67.", ["The pump weighs 14 kg", "The pump runs on 48 V", "The pump is rated IP67."]),
        ("About 250 Wh/kg, and the cell is made in Norway.", ["About 250 Wh/kg", "the cell is made in Norway."]),
        ("The limit is 5 GB; the price is 3 EUR.", ["The limit is 5 GB", "the price is 3 EUR."]),
        ("Set the size and the timeout, then restart.", ["Set the size and the timeout, then restart."]),
        ("It reads `a and b` from disk.", ["It reads `a and b` from disk."]),
        ("The job, which runs nightly, keeps 14 copies.", ["The job, which runs nightly, keeps 14 copies."]),
        ("If the disk is full and the job stops, restart it.", ["If the disk is full and the job stops, restart it."]),
        ("According to the documents, the limit is 5 GB.", ["the limit is 5 GB."]),
        ("Hello! The limit is 5 GB. Is that all? Let me know if you have questions!", ["The limit is 5 GB."]),
        ("## Limits\n\nThe limit is 5 GB.", ["The limit is 5 GB."]),
        ("The limit is 5 GB. I could not find the price.", ["The limit is 5 GB."]),
        ("The limit is 5 GB, but I don't know the price.", ["The limit is 5 GB"]),
        ("I don't know.", []), ("", []), ("[1]", []), ("Thanks!", []), ("Here are the steps:", []),
        ("The options are:\n- port\n- `--verbose` prints more lines to the log", ["The options are: port", "`--verbose` prints more lines to the log"]),
        ("| plan | price |\n|---|---|\n| free | 0 |\n| paid | 10 EUR |", ["plan: free; price: 0", "plan: paid; price: 10 EUR"]),
        ("Run:\n```bash\norionctl deploy --wait\n```", ["orionctl deploy --wait"]),
        ("**Port:** the server listens on 8080.", ["Port: the server listens on 8080."]),
        ("缓存最多存储512 MB。条目在30分钟后过期。", ["缓存最多存储512 MB。", "条目在30分钟后过期。"]),
    ],
)  # fmt: skip
def test_claims(answer: str, want: list[str]) -> None:
    assert texts(answer) == want


def test_ids_count_up_and_places_are_in_the_answer() -> None:
    answer = "The pump weighs 14 kg, runs on 48 V and is rated IP67. [1]\n\n- It is **red**. [2]"
    claims = split_claims(answer)
    assert [claim.id for claim in claims] == ["c1", "c2", "c3", "c4"]
    assert [answer[claim.start : claim.end] for claim in claims] == [
        "The pump weighs 14 kg",
        "runs on 48 V",
        "is rated IP67.",
        "It is **red**. [2]",
    ]


@pytest.mark.parametrize(
    "answer", ["The a is b and is c, " * 40000, "x; " * 200000, "a. " * 100000, "`" * 500000], ids=lambda a: a[:6]
)
def test_huge_answers_are_split_in_seconds(answer: str) -> None:
    start = time.process_time()
    split_claims(answer)
    assert time.process_time() - start < 45
