"""Review on the page: blind until the label is stored, nothing lost, nobody steps on another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.web.workbench import client, copied, queued, signed_on

from ragauge.review import open_queue
from ragauge.review.items import Candidate
from ragauge.review.labels import CLAIM_LABELS, claim_words
from ragauge.review.screen import choices, screen


def labels(folder: Path) -> list[Any]:
    with open_queue(str(folder / "queue.sqlite")) as queue:
        return queue.labels()


def test_whoever_reviews_has_a_name(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    queued(tmp_path, new, ["q4"])
    made = client(tmp_path)
    assert "Who are you?" in made.get("/review").text
    token = signed_on(made, "Ann <b>Őz</b>")
    text = made.get("/review").text
    assert "Ann &lt;b&gt;Őz&lt;/b&gt;" in text
    made.post("/review/who", data={"csrf": token, "name": ""})
    assert "Who are you?" in made.get("/review").text
    nameless = made.post("/review/label", data={"csrf": token, "item": "x", "label": "faithful"})
    assert nameless.status_code == 400


def test_the_verdict_is_nowhere_on_the_page_until_the_label_is_stored(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    (item,) = queued(tmp_path, new, ["q4"])
    made = client(tmp_path)
    token = signed_on(made, "ann")
    text = made.get("/review").text
    for secret in ("contradicted", "it is closed", "0.5", "value "):
        assert secret not in text.split("<main")[1], secret
    assert "The port is 4." in text  # the claims themselves are there
    assert "Which port has number 4?" in text
    peek = made.get("/review", params={"last": item}).text
    assert "contradicted" not in peek
    done = made.post("/review/label", data={"csrf": token, "item": item, "label": "unfaithful"})
    assert done.status_code == 303
    after = made.get(done.headers["location"]).text
    assert "you said <b>unfaithful</b>" in after
    assert "contradicted" in after
    shown = client(tmp_path)
    signed_on(shown, "ben")
    assert "contradicted" not in shown.get("/review", params={"last": item}).text  # only for whoever labelled it


def test_without_blind_mode_the_judge_is_shown(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    queued(tmp_path, new, ["q4"])
    made = client(tmp_path)
    signed_on(made, "ann")
    assert "contradicted" in made.get("/review", params={"blind": "0"}).text


def test_label_note_pattern_claims_and_changes_are_stored(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    (item,) = queued(tmp_path, new, ["q4"])
    made = client(tmp_path)
    token = signed_on(made, "ann")
    form = {
        "csrf": token, "item": item, "label": "unfaithful", "note": "shut\x00 today", "systematic": "opening hours",
        "claim-1": "supported", "claim-2": "unsupported", "reference": "Port 4.", "quote": "It is closed",
    }  # fmt: skip
    assert made.post("/review/label", data=form).status_code == 303
    (label,) = labels(tmp_path)
    assert (label.reviewer, label.label, label.systematic) == ("ann", "unfaithful", "opening hours")
    assert "\x00" not in label.note
    assert claim_words(label) == {"c1": "supported", "c2": "unsupported"}
    assert label.edits["answer"] == "Port 4."
    (group,) = label.edits["evidence"]
    assert group["any"][0]["quote"] == "It is closed"
    progress = made.get("/review/progress").text
    assert "opening hours" in progress
    assert "1 item was promoted" in progress
    assert made.post("/review/promote", data={"csrf": token}).status_code == 303
    (line,) = (tmp_path / ".ragauge" / "golden-draft.jsonl").read_text().splitlines()
    draft = json.loads(line)
    assert draft["answer"] == "Port 4."
    assert draft["verified"] is True


def test_what_is_not_right_is_refused_and_nothing_is_stored(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    (item,) = queued(tmp_path, new, ["q4"])
    made = client(tmp_path)
    token = signed_on(made, "ann")
    for form, said in (
        ({"label": "splendid"}, "is not a label"),
        ({"label": ""}, "no label"),
        ({"label": "faithful", "claim-1": "wonderful"}, "not said of a claim"),
        ({"label": "faithful", "quote": "words that nobody wrote"}, "none of the passages"),
        ({"label": "faithful", "note": "x" * 5000}, "at most 4000"),
        ({"label": "faithful", "item": "f" * 16}, "review queue"),
    ):
        answer = made.post("/review/label", data={"csrf": token, "item": item, **form})
        assert answer.status_code in (400, 404), form
        assert said in answer.text, form
    assert labels(tmp_path) == []


def test_skip_undo_and_lease(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    ids = queued(tmp_path, new, ["q4", "q6"])
    ann, ben = client(tmp_path), client(tmp_path)
    token, other = signed_on(ann, "ann"), signed_on(ben, "ben")
    assert f'data-item="{ids[0]}"' in ann.get("/review").text
    assert f'data-item="{ids[1]}"' in ben.get("/review").text  # leased to ann: ben gets the other one
    refused = ben.post("/review/label", data={"csrf": other, "item": ids[0], "label": "faithful"})
    assert refused.status_code == 400
    assert "somebody else is labelling it" in refused.text
    held = ann.post("/review/hold", data={"csrf": token, "item": ids[0]}).json()
    assert held["lost"] is False
    assert ann.post("/review/hold", data={"csrf": token, "item": ids[1]}).json() == {"lost": True}
    ann.post("/review/skip", data={"csrf": token, "item": ids[0], "note": "not my field"})
    assert "Nothing is left for you" in ann.get("/review").text
    assert "said=undone" in ann.post("/review/undo", data={"csrf": token}).headers["location"]
    assert f'data-item="{ids[0]}"' in ann.get("/review").text
    ann.post("/review/label", data={"csrf": token, "item": ids[0], "label": "faithful"})
    ann.post("/review/undo", data={"csrf": token})
    assert labels(tmp_path) == []
    assert "said=nothing-to-undo" in ann.post("/review/undo", data={"csrf": token}).headers["location"]


def test_a_day_has_its_budget(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    ids = queued(tmp_path, new, [f"q{n}" for n in range(22)])
    made = client(tmp_path)
    token = signed_on(made, "ann")
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        for item in ids[:20]:
            queue.label(item, "ann", "faithful")
    text = made.get("/review").text
    assert "20 reviewed today: that is enough" in text
    assert "data-item=" in made.get("/review", params={"more": "1"}).text
    done = made.post("/review/label", data={"csrf": token, "item": ids[20], "label": "faithful", "more": "1"})
    assert "more=1" in done.headers["location"]


def test_people_who_differ_are_shown_and_settled(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    (item,) = queued(tmp_path, new, ["q4"], wanted=2)
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        queue.label(item, "ann", "faithful", note="fine by me")
        queue.label(item, "ben", "unfaithful")
    made = client(tmp_path)
    token = signed_on(made, "cat")
    text = made.get("/review/progress").text
    assert "To be settled" in text
    assert "agreement between people" in text
    page = made.get(f"/review/items/{item}", params={"settle": "1"}).text
    assert "fine by me" in page
    form = {"csrf": token, "item": item, "label": "unfaithful", "settle": "1"}
    assert made.post("/review/label", data=form).status_code == 303
    assert "To be settled" not in made.get("/review/progress").text
    assert [one.adjudicated for one in labels(tmp_path)] == [False, False, True]


def test_the_queue_is_filled_from_a_run(two: Any, tmp_path: Path) -> None:
    _, new = copied(two, tmp_path)
    made = client(tmp_path)
    token = signed_on(made, "ann")
    assert "The queue is empty." in made.get("/review").text
    form = {"csrf": token, "run": new.path.name, "metric": "correctness", "n": "8"}
    assert made.post("/review/fill", data=form).status_code == 303
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        found = list(queue.items())
    assert len(found) == 8
    assert any(item.source == "random" for item in found)
    assert made.post("/review/fill", data=form | {"n": "0"}).status_code == 400
    assert made.post("/review/fill", data=form | {"run": "../../etc"}).status_code == 404
    assert made.post("/review/fill", data=form | {"metric": "nothing"}).status_code in (400, 404)


def test_a_question_from_a_log_is_promoted_or_rejected(tmp_path: Path) -> None:
    one = Candidate(
        run="log.jsonl", item="l1", metric="golden", source="log", reason="thumbs down",
        payload={"question": "Where?", "answer": "There.", "contexts": [{"id": "c", "rank": 1, "text": "Here it is."}]},
    )  # fmt: skip
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        queue.add([one])
    assert [choice.label for choice in choices("golden")] == ["promote", "reject", "unsure"]
    made = client(tmp_path)
    token = signed_on(made, "ann")
    assert "Does this question belong into the golden set?" in made.get("/review").text
    form = {
        "csrf": token,
        "item": one.id,
        "label": "promote",
        "new_question": "Where is it?",
        "reference": "Here.",
        "tags": "plain",
    }
    assert made.post("/review/label", data=form).status_code == 303
    made.post("/review/promote", data={"csrf": token})
    draft = json.loads((tmp_path / ".ragauge" / "golden-draft.jsonl").read_text())
    assert (draft["question"], draft["answer"], draft["tags"]) == ("Where is it?", "Here.", ["plain"])


def test_a_screen_takes_any_payload(tmp_path: Path) -> None:
    odd = {"question": 7, "answer": None, "contexts": ["x", {"id": 3}], "tags": None, "verdict": {"verdicts": [3, {}]}}
    one = Candidate(run="r", item="i", metric="faithfulness", source="asked", reason="r", payload=odd)
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        queue.add([one])
        (item,) = queue.items()
    shown = screen(item, blind=False)
    assert (shown.question, shown.answer, shown.claims) == ("", None, ())
    assert CLAIM_LABELS == "claim_labels"
