"""Calibration on the page: the queue's labels become figures, changed and undone ones count as they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.web.workbench import client, copied, csrf

from ragauge.review import open_queue
from ragauge.review.calibrating import draw, stored
from ragauge.review.recalibrating import recalibrate, standing
from ragauge.review.sources import drawn_candidates
from ragauge.store.rundir import RunDir


def labelled(folder: Path, run: RunDir, n: int = 40, *, wrong: int = 4) -> None:
    """A random draw of `n`, labelled as the judge said but for the first `wrong`, where people say the opposite."""
    drawn = draw(run, "faithfulness", n, 0, by_bands=False)
    with open_queue(str(folder / "queue.sqlite")) as queue:
        queue.add(drawn_candidates(run, drawn))
        for place, item in enumerate(queue.items()):
            good = item.payload["verdict"]["value"] == 1.0
            said = good if place >= wrong else not good
            edits = {"claim_labels": {"c1": "supported", "c2": "supported" if said else "unsupported"}}
            queue.label(item.id, "ann", "faithful" if said else "unfaithful", note="<b>why</b>", edits=edits)


def test_labels_become_figures_with_a_press(two: Any, tmp_path: Path, read_html: Any) -> None:
    _, run = copied(two, tmp_path)
    labelled(tmp_path, run)
    made = client(tmp_path)
    path = f"/runs/{run.path.name}/calibration"
    before = made.get(path).text
    assert "40 labels for faithfulness" in before
    assert "has no calibration of its own" in before
    assert stored(run) == {}  # looking calibrates nothing
    assert made.post(path, data={"csrf": csrf(made, path)}).status_code == 303
    one = stored(run)["faithfulness"]
    assert one.n_labels == 40
    text = made.get(path).text
    read = read_html(text)
    assert f"{one.agreement.value:.3f}" in read
    assert one.sentence in read
    assert "not counted here yet" not in read
    for cell in one.table.values():
        assert f"<b>{cell}</b>" in text
    for row in one.disagreements:
        assert f'href="/runs/{run.path.name}/row?id={row.item}"' in text
    assert len(one.disagreements) == 4
    assert "&lt;b&gt;why&lt;/b&gt;" in text
    assert run.path.name in made.get("/calibration").text


def test_a_label_taken_back_or_changed_counts_as_it_stands_now(two: Any, tmp_path: Path) -> None:
    _, run = copied(two, tmp_path)
    labelled(tmp_path, run)
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        first = recalibrate(run, queue)[0]
        items = list(queue.items())
        queue.label(items[0].id, "ann", "faithful" if queue.labels()[0].label == "unfaithful" else "unfaithful")
        assert standing(run, queue).n_new == {"faithfulness": 1}
        changed = recalibrate(run, queue)[0]
        assert len(changed.disagreements) == len(first.disagreements) - 1
        queue.undo("ann")
        again = recalibrate(run, queue)[0]
    assert again.n_labels == first.n_labels - 1


def test_single_claims_are_calibrated_only_when_asked_for(two: Any, tmp_path: Path) -> None:
    _, run = copied(two, tmp_path)
    labelled(tmp_path, run)
    made = client(tmp_path)
    path = f"/runs/{run.path.name}/calibration"
    assert "by single claims (80)" in made.get(path).text
    made.post(path, data={"csrf": csrf(made, path), "claims": "1"})
    one = stored(run)["faithfulness"]
    assert one.by_target
    assert one.n_labels == 80
    assert "not independent" in made.get(path).text


def test_the_other_run_says_whether_the_calibration_holds_for_it(two: Any, tmp_path: Path) -> None:
    old, run = copied(two, tmp_path)
    labelled(tmp_path, run)
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        recalibrate(run, queue)
    made = client(tmp_path)
    assert "by the same judge" in made.get(f"/runs/{old.path.name}/calibration").text
    file = old.path / "manifest.json"
    file.write_text(file.read_text().replace('"name": "embedded"', '"name": "another"'))
    assert "stale" in client(tmp_path).get(f"/runs/{old.path.name}/calibration").text


def test_without_labels_it_says_what_is_missing(two: Any, tmp_path: Path) -> None:
    _, run = copied(two, tmp_path)
    made = client(tmp_path)
    path = f"/runs/{run.path.name}/calibration"
    answer = made.post(path, data={"csrf": csrf(made, path)})
    assert answer.status_code == 422
    assert "no label can be used" in answer.text or "labels" in answer.text
    assert "No run was calibrated yet" in made.get("/calibration").text


def test_a_damaged_calibration_is_told(two: Any, tmp_path: Path) -> None:
    _, run = copied(two, tmp_path)
    (run.path / "calibration").mkdir()
    (run.path / "calibration" / "calibrations.json").write_text("{broken")
    made = client(tmp_path)
    assert "cannot be read as a calibration" in made.get("/calibration").text
    assert "cannot be read as a calibration" in made.get(f"/runs/{run.path.name}/calibration").text
