"""Overview, list of runs, run page and rows: what is on disk is there, filtered and sorted on the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from ragauge.analysis.gate_settings import GateSettings
from ragauge.testing.hostile import HOSTILE, HOSTILE_NAMES, storable
from ragauge.testing.runs import a_metric, a_run
from ragauge.web.app import create_app
from ragauge.web.settings import WebSettings

HERE = "http://127.0.0.1:8517"


def client(folder: Path, **settings: Any) -> TestClient:
    given = WebSettings(runs=folder / "runs", cache=folder / "cache", queue=str(folder / "queue.sqlite"), **settings)
    return TestClient(create_app(given), base_url=HERE, follow_redirects=False)


def test_smoke(tmp_path):
    values = {f"q{i}": {"recall@5": float(i % 3 > 0), "faithfulness": (i % 5) / 4} for i in range(40)}
    items = {f"q{i}": {"tags": ("lookup",) if i % 2 else ("table", "rare" if i > 36 else "numeric")} for i in range(40)}
    run = a_run(tmp_path / "runs", values, items=items)
    c = client(tmp_path)
    for path in ["/", "/runs", f"/runs/{run.path.name}", f"/runs/{run.path.name}/rows", f"/runs/{run.path.name}/rows?outcome=bad&sort=recall%405&down=1", f"/runs/{run.path.name}/export.csv", f"/runs/{run.path.name}/export.jsonl",f"/runs/{run.path.name}/export.md"]:
        r = c.get(path)
        print(path, r.status_code, len(r.text))
        assert r.status_code == 200, r.text[:3000]
