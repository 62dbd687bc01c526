"""`show` says what people's labels say of the judge, and that it is stale once the judge has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ragauge
from ragauge.cli.main import main

PORTS = [8000 + n for n in range(40)]


def recorded() -> list[dict[str, object]]:
    rows = []
    for place, port in enumerate(PORTS):
        said = port if place % 4 else port + 5000
        rows.append(
            {
                "id": f"q{place}",
                "question": f"What is the port of service {place}?",
                "answer": f"The port of service {place} is {said}.",
                "contexts": [f"The port of service {place} is {port}."],
            }
        )
    return rows


def test_show_carries_the_calibration_and_its_staleness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = ragauge.evaluate(recorded(), ["faithfulness"])
    labels = "".join(
        json.dumps({"id": f"q{place}", "metric": "faithfulness", "label": int(place % 4 != 0)}) + "\n"
        for place in range(len(PORTS))
    )
    Path("labels.jsonl").write_text(labels)

    def call(*args: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        return int(ended.value.code or 0), capsys.readouterr().out

    code, plain = call("show", "--json")
    assert "calibration" not in json.loads(plain)
    code, out = call("calibrate", run.path.name, "--labels", "labels.jsonl")
    assert code == 0, out
    code, out = call("show", "--json")
    assert "faithfulness" in json.loads(out)["calibration"]
    assert "STALE" not in out
    newer = ragauge.evaluate(recorded(), ["faithfulness"])
    manifest = json.loads((newer.path / "manifest.json").read_text())
    manifest["judge"]["fingerprint"] = "another"
    (newer.path / "manifest.json").write_text(json.dumps(manifest))
    code, out = call("show", newer.path.name, "--json")
    assert "STALE" in json.loads(out)["calibration"]
