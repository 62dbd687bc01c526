from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass

import pytest

from ragauge.judges.embedded.lazy import lazy

_LOOKS: list[str] = []


@dataclass(frozen=True)
class Text:
    text: str

    @lazy
    def size(self) -> int:
        """How long it is."""
        _LOOKS.append(self.text)
        return len(self.text)


def test_it_is_computed_at_the_first_look_only_and_for_each_instance() -> None:
    _LOOKS.clear()
    one, other = Text("a"), Text("bb")
    assert _LOOKS == []
    assert (one.size, one.size, other.size) == (1, 1, 2)
    assert _LOOKS == ["a", "bb"]


def test_it_is_no_field_of_a_dataclass() -> None:
    seen, unseen = Text("a"), Text("a")
    assert seen.size == 1
    assert (seen, hash(seen), repr(seen)) == (unseen, hash(unseen), "Text(text='a')")
    with pytest.raises(FrozenInstanceError):
        seen.size = 2


def test_its_docstring_is_that_of_the_function() -> None:
    assert isinstance(Text.size, lazy)
    assert Text.size.__doc__ == "How long it is."
