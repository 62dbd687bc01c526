"""Hostile text on the screens of sweeps, golden sets and monitoring: it is shown as text, and does nothing."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.web.test_workbench_browser import _SAFE, _STATE
from tests.web.workbench import client, settings_of

from ragauge.cli.monitor import command
from ragauge.monitor.query import LoggedQuery
from ragauge.monitor.writer import LogWriter
from ragauge.store.sweepdir import SweepCell, SweepDir, SweepManifest
from ragauge.testing.hostile import HOSTILE, HOSTILE_NAMES, storable
from ragauge.testing.runs import a_metric, a_run

pytestmark = pytest.mark.slow
pytest.importorskip("duckdb", reason="duckdb, which reads the log, is not installed (extra monitor)")
TEXTS = [storable(text)[:5_000] for text in HOSTILE]
SWEEP = "2026-03-01T10-00-00-<img src=x onerror=alert(1)>-0001"
DAY = dt.datetime.now(dt.UTC).date() - dt.timedelta(1)


def _sweep(runs: Path) -> None:
    knob = f"system.reference.{TEXTS[0]}"
    cells = tuple(
        SweepCell(id=f"c{n:02}", label=text[:300] or "blank", knobs={knob: text, "k": n})
        for n, text in enumerate(TEXTS, start=1)
    )
    made = SweepDir.create(runs, SweepManifest(
        sweep=SWEEP, created="2026-03-01T10:00:00+00:00", ragauge="0.1.0", knobs=(knob, "k"), base="c01",
        cells=cells, n_questions=12, notes=tuple(TEXTS), goldens={TEXTS[0]: TEXTS[1]},
    ))  # fmt: skip
    for n in range(1, 6):
        values = {f"{text[:40]}{i}": {"correctness": float(i % 5 < n)} for i, text in enumerate(TEXTS[:12])}
        run = a_run(
            made.cells, values, name=f"c{n:02}", metrics=[a_metric("correctness", half="generation")],
            created=f"2026-03-01T10:0{n}:00+00:00",
        )  # fmt: skip
        file = run.path / "manifest.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"settings": {"sweep": {"cell": f"c{n:02}"}}}))


def _golden(folder: Path) -> Path:
    path = folder / f"{HOSTILE_NAMES[0]}.jsonl"
    items = [
        {"id": f"{place // 2}-{text[:300]}", "question": text or "?", "answer": text or None, "sources": [text or "x"],
         "keywords": [text or "x"], "tags": [text or "x"], "verified": bool(place % 2), "metadata": {"note": text}}
        for place, text in enumerate(TEXTS)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def _log(folder: Path) -> str:
    log = folder / "log"
    noon = dt.datetime(DAY.year, DAY.month, DAY.day, 12, tzinfo=dt.UTC)
    with LogWriter(log) as writer:
        writer.append(
            LoggedQuery.model_validate({
                "id": f"{back}-{place}-{text[:150]}", "at": noon - dt.timedelta(days=back), "question": text or "?",
                "answer": f"{text} [1]", "note": text, "tags": [text], "error": None, "model": text[:300],
                "feedback": "down" if place % 3 == 0 else None, "total_ms": 10.0 * place,
                "chunks": [{"id": text[:99] or "c", "document": text[:99], "text": text, "score": 0.5, "rank": 1}],
                "metadata": {"note": text},
            })
            for back in (0, 1)
            for place, text in enumerate(TEXTS)
        )  # fmt: skip
    settings = folder / "monitor.yaml"
    settings.write_text(json.dumps({"monitor": {"log": str(log), "metrics": ["faithfulness", "context_precision"]}}))
    golden = folder / "small.jsonl"
    golden.write_text("".join(json.dumps({"id": f"g{n}", "question": text}) + "\n" for n, text in enumerate(TEXTS[:9])))
    for asked in (
        ("sample", "--days", "2", "--n", "20", "--golden", str(golden)),
        ("judge", "--day", DAY.isoformat(), "--quiet"),
    ):
        done = CliRunner().invoke(command, [*asked, "--config", str(settings)], standalone_mode=False)
        assert done.exception is None, done.exception
    return str(log)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    folder = tmp_path_factory.mktemp("hostile-screens")
    _sweep(folder / "runs")
    return folder, _golden(folder), _log(folder)


def paths() -> list[str]:
    from ragauge.web.rendering import link

    return ["/sweeps", link("sweeps", SWEEP), "/golden", "/monitor", "/monitor?days=7", f"/monitor/days/{DAY}"]


def test_hostile_text_is_text_on_every_page(hostile: Any, read_html: Any) -> None:
    folder, golden, log = hostile
    pages = client(folder, golden=golden, log=log)
    said = {}
    for path in paths():
        answer = pages.get(path)
        assert answer.status_code == 200, (path, answer.text[:300])
        said[path] = read_html(answer.text)
    sweep, asked, day = said[paths()[1]], said["/golden"], said[paths()[-1]]
    assert all(TEXTS[0] in text for text in (sweep, asked))
    assert "before" not in asked
    assert "nothing was drawn" not in day.casefold()


def test_hostile_text_does_nothing_in_a_browser(hostile: Any, visit: Any, serve: Any) -> None:
    folder, golden, log = hostile
    with serve(settings_of(folder, golden=golden, log=log)) as address:
        for shape in ("light", "phone"):
            made = visit(address, shape)
            made.page.set_default_timeout(60_000)
            for path in paths():
                page = made.go(path)
                assert page.evaluate(_STATE) == _SAFE, (shape, path)
                assert made.fits(), (shape, path)


def test_what_is_printed_from_dark_mode_is_light(hostile: Any, visit: Any, serve: Any) -> None:
    folder, golden, log = hostile
    with serve(settings_of(folder, golden=golden, log=log)) as address:
        made = visit(address, "dark")
        page = made.go("/golden")
        colour = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(colour) == "rgb(20, 23, 26)"
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(colour) == "rgb(255, 255, 255)"
