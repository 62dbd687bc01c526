from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from ragauge import prompts
from ragauge.prompts.fences import Fenced, Piece, defused, fence_code, one_line

SOURCE = Path(__file__).parent / "injection_cases.jsonl"
CASES = [json.loads(line) for line in SOURCE.read_text(encoding="utf-8").split("\n") if line]
PIECES = {"passages": "passage", "statements": "statements"}


def rendered(name: str, hostile: str) -> prompts.Rendered:
    prompt = prompts.load(name)
    values: dict[str, str | Fenced] = {}
    for place in prompt.placeholders - {"fence"}:
        if place in ("item", "n", "kind"):
            values[place] = {"item": "T123", "n": "3", "kind": "lookup"}[place]
        elif place == "passages":
            values[place] = Fenced((Piece("passage", hostile, "P201"), Piece("passage", "harmless", "P202")))
        elif place == "statements":
            values[place] = Fenced.one("statements", f"S301: {one_line(hostile)}\nS302: harmless")
        else:
            values[place] = Fenced.one(place, hostile)
    return prompt.render(**values)


def outside(shown: prompts.Rendered) -> str:
    """What stands outside of all fences, with the code made the same for all."""
    fence = shown.fence
    text = re.sub(rf"<<{fence} [^\n]*>>\n.*?\n<<{fence}>>", "<<fenced>>", shown.user, flags=re.DOTALL)
    return (shown.system + "\n" + text).replace(fence, "________")


def test_there_are_at_least_forty_injection_cases() -> None:
    assert len({case["text"] for case in CASES}) >= 40


@pytest.mark.parametrize("name", [n for n in prompts.names() if n != "probe"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_nothing_hostile_gets_out_of_its_fence(name: str, case: dict[str, str]) -> None:
    shown, plain = rendered(name, case["text"]), rendered(name, "harmless")
    assert outside(shown) == outside(plain)
    assert defused(case["text"]).strip() == "" or one_line(case["text"])[:40] in one_line(shown.user)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_list_of_statements_has_as_many_lines_as_statements(case: dict[str, str]) -> None:
    shown = rendered("support", case["text"])
    inside = re.search(rf"<<{shown.fence} statements>>\n(.*?)\n<<{shown.fence}>>", shown.user, re.DOTALL)
    assert inside is not None
    lines = inside[1].split("\n")
    assert [line[:4] for line in lines] == ["S301", "S302"]
    assert len(inside[1].splitlines()) == 2


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_is_sent_can_be_encoded_and_hides_nothing(case: dict[str, str]) -> None:
    sent = rendered("correctness", case["text"]).user
    sent.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]", sent)


def test_the_code_is_never_one_that_the_content_holds() -> None:
    first = fence_code(["some text"], "salt")
    for guess in (first, first.upper()):
        assert fence_code([f"some text {guess}"], "salt") not in f"some text {guess}".casefold()


def test_the_code_depends_on_the_content_and_only_on_it() -> None:
    assert fence_code(["a"], "s") == fence_code(["a"], "s")
    assert len({fence_code(parts, "s") for parts in (["a"], ["b"], ["a", ""], ["", "a"])}) == 4


def test_a_megabyte_is_defused_quickly() -> None:
    started = time.process_time()
    for text in ("<<" * 500_000, "\x00\r" * 500_000, "{{fence}}" * 110_000):
        rendered("support", text)
    assert time.process_time() - started < 20
