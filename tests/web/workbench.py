"""Runs, queues, sweeps and retrieval for the tests of the screens where somebody works."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from ragauge.core.inspection import Inspection, RankedList
from ragauge.core.sample import Chunk, GoldenItem, RetrievedChunk
from ragauge.review import open_queue
from ragauge.review.sources import asked
from ragauge.store.rundir import RunDir
from ragauge.web.app import create_app
from ragauge.web.settings import Services, WebSettings

HERE = "http://127.0.0.1:8517"


def copied(two: tuple[Path, RunDir, RunDir], target: Path) -> tuple[RunDir, RunDir]:
    """The runs of `two` where a test may write beside them."""
    shutil.copytree(two[0] / "runs", target / "runs")
    first, second = (RunDir.open(target / "runs" / run.path.name) for run in two[1:])
    return first, second


def settings_of(folder: Path, **more: Any) -> WebSettings:
    """Everything inside one folder."""
    given = {"runs": folder / "runs", "cache": folder / ".ragauge" / "page", "queue": str(folder / "queue.sqlite")}
    return WebSettings(**(given | more))


def client(folder: Path, services: Services | None = None, **more: Any) -> TestClient:
    """A browser without one."""
    return TestClient(create_app(settings_of(folder, **more), services), base_url=HERE, follow_redirects=False)


def csrf(made: TestClient, path: str) -> str:
    """The token of the form on a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', made.get(path).text)
    assert found is not None, path
    return found.group(1)


def signed_on(made: TestClient, name: str) -> str:
    """Say who we are; gives the token for forms."""
    token = csrf(made, "/review")
    assert made.post("/review/who", data={"csrf": token, "name": name}).status_code == 303
    return token


def queued(folder: Path, run: RunDir, ids: Sequence[str], metric: str = "faithfulness", wanted: int = 1) -> list[str]:
    """Rows put into the folder's queue; the items' ids in the queue's order."""
    with open_queue(str(folder / "queue.sqlite")) as queue:
        queue.add(asked(run, metric, ids, wanted=wanted))
        return [item.id for item in queue.items()]


def an_inspection(text: str = "The port is 8125.", name: str = "doc#1", question: str = "Which port?") -> Inspection:
    """Three chunks, four lists, one gold chunk that stands at rank 3 of what was retrieved."""
    other = (Chunk(id="a", document="d", text="Another thing altogether."), Chunk(id="b", text=f"before {text} after"))
    gold = Chunk(id=name or "x", document=text or "d", text=text)
    ids = ("a", "b", gold.id)
    near = tuple(
        RetrievedChunk(id=c.id, document=c.document, text=c.text, rank=rank, score=1.0 / rank)
        for rank, c in enumerate((*other, gold), start=1)
    )
    lists = [RankedList(name=n, ids=ids, scores=(0.9, 0.5, 0.1), complete=True) for n in ("dense", "fused", "HyDE")]
    bm25 = RankedList(name="bm25", ids=(gold.id, "a"), scores=(7.5, 1.25))
    own = RankedList(name="retrieved", ids=ids[:2], scores=(0.9, 0.5))
    return Inspection(
        question=question, k=2, n_chunks=3, nearest=near[:2], gold=(gold,), groups=((gold.id,),),
        lists=(lists[0], bm25, *lists[1:], own), settings={"retrieval": "dense", "k": 2},
    )  # fmt: skip


def inspecting(found: Inspection | Exception) -> Services:
    """Services whose system gives this, or fails with it."""

    async def inspect(question: str, *, gold: Sequence[str] = (), item: GoldenItem | None = None) -> Inspection:
        if isinstance(found, Exception):
            raise found
        return found.model_copy(update={"question": question})

    return Services(inspector=inspect)
