from __future__ import annotations

import os
import threading

import pytest

from ragauge.core.environment import environment

NAME = "RAGAUGE_TEST_VARIABLE"


@pytest.mark.parametrize("before", [None, "as it was"])
def test_two_threads_whose_times_overlap_leave_the_variable_as_it_was(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    if before is not None:
        monkeypatch.setenv(NAME, before)
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with environment({NAME: "1"}):
            inside.set()
            assert leave.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)
    with environment({NAME: "1"}):  # comes while the first is inside, and leaves after it
        leave.set()
        thread.join(10)
        assert os.environ[NAME] == "1"
    assert os.environ.get(NAME) == before


def test_an_exception_leaves_it_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    with pytest.raises(KeyError), environment({NAME: "1"}):
        raise KeyError
    assert NAME not in os.environ
