"""Which jobs are with whom, with workers that die as they like: nothing is lost, nothing is given out twice at once."""

from __future__ import annotations

import random

import pytest

from ragauge.core.sample import GoldenItem
from ragauge.engine.cluster.board import LARGEST, Board, Chunk
from ragauge.engine.execute import Job


def jobs(n: int) -> list[Job]:
    return [Job(index, GoldenItem(id=f"q{index}", question=f"question {index}")) for index in range(n)]


def carried_out(
    n: int, poison: set[int], seed: int, n_workers: int = 3, outages: float = 0.0
) -> tuple[list[int], list[int]]:
    """What a driver does, with workers that die of poison at once, and of nothing now and then: (made, given up)."""
    draw, board = random.Random(seed), Board(iter(jobs(n)), n)
    held: list[list[Chunk]] = [[] for _ in range(n_workers)]
    reserved: int | None = None
    made: list[int] = []
    given_up: list[int] = []
    for _ in range(100_000):
        if board.has_suspects and reserved is None:
            reserved = draw.randrange(n_workers)
        if reserved is not None and not held[reserved]:
            chunk = board.take_suspect()
            reserved = None if chunk is None else reserved
            held[reserved or 0] += [chunk] if chunk else []
        for place in range(n_workers):
            if place != reserved and len(held[place]) < 2:
                chunk = board.take(draw.randrange(1, 100), n_workers)
                held[place] += [chunk] if chunk else []
        if board.is_done:
            return made, given_up
        place = draw.randrange(n_workers)
        if not held[place]:
            continue
        deadly = any(job.index in poison for chunk in held[place] for job in chunk.jobs)
        if deadly or draw.random() < outages:
            for chunk in held[place]:
                lost = board.lost(chunk)
                given_up += [] if lost is None else [lost.index]
            held[place] = []
        else:
            chunk = held[place].pop(0)
            board.finished()
            made += [job.index for job in chunk.jobs]
    raise AssertionError("it never ended")


@pytest.mark.parametrize("seed", range(20))
def test_every_job_is_made_once_or_given_up_and_only_poison_is(seed: int) -> None:
    n = random.Random(seed).randrange(1, 400)
    poison = {number for number in range(n) if random.Random(seed * 1000 + number).random() < 0.01}
    made, given_up = carried_out(n, poison, seed)
    assert sorted(made) == [number for number in range(n) if number not in poison]
    assert sorted(given_up) == sorted(poison)


@pytest.mark.parametrize("seed", range(10))
def test_workers_that_die_for_no_reason_cost_nothing_but_time(seed: int) -> None:
    made, given_up = carried_out(200, set(), seed, outages=0.1)
    assert sorted(made + given_up) == list(range(200))
    assert len(given_up) <= 4  # each would have had to be alone, twice in a row, when lightning struck


def test_chunks_get_smaller_towards_the_end_so_that_nobody_waits_for_one_worker() -> None:
    board, sizes = Board(iter(jobs(1000)), 1000), []
    while (chunk := board.take(LARGEST, 4)) is not None:
        sizes.append(len(chunk.jobs))
        board.finished()
    assert sum(sizes) == 1000
    assert max(sizes) == LARGEST
    assert sizes[-1] == 1
    assert sorted(sizes, reverse=True) == sizes
    assert board.is_done


def test_a_worker_that_had_not_begun_is_not_blamed() -> None:
    board = Board(iter(jobs(3)), 3)
    for _ in range(10):
        chunk = board.take(3, 1)
        assert chunk is not None
        assert board.lost(chunk, blamed=False) is None
    assert not board.has_suspects


def test_it_takes_from_the_source_no_more_than_is_given_out() -> None:
    """50 000 recorded outputs are never all in memory."""
    n_read = 0

    def source() -> object:
        nonlocal n_read
        for job in jobs(500):
            n_read += 1
            yield job

    board = Board(source(), 500)  # type: ignore[arg-type]
    board.take(10, 2)
    board.take(5, 2)
    assert n_read == 15
