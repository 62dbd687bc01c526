"""The second tier: the packaged encoder, what it reads, and what it may and may not change."""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import CITATION_SUPPORT, CORRECTNESS, COVERAGE, SPLIT_CLAIMS, SUPPORT
from ragauge.core.verdict import Claim
from ragauge.errors import UnknownName
from ragauge.judges.embedded import reading
from ragauge.judges.embedded.encoder import ASSET, Encoder, load_encoder
from ragauge.judges.embedded.evidence import prepare, statement
from ragauge.judges.embedded.features import measure
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.embedded.reading import Pair, pair_of
from ragauge.judges.embedded.support import THRESHOLD, combined, judge_text
from ragauge.judges.factory import make_judge
from ragauge.testing.hostile import HOSTILE, storable
from ragauge.testing.judges import check_judge

JUDGE = EmbeddedJudge(encoder=True)
WORDS = EmbeddedJudge()
TEXTS = (
    "Snapshots are kept for 30 days and then removed automatically. The default port is 9090.",
    "The gateway forwards every request to the collector, which writes it to disk.",
    "Billing is monthly. Invoices are sent by e-mail on the first working day.",
)
CHUNKS = tuple(RetrievedChunk(id=f"k{n}", text=text, rank=n) for n, text in enumerate(TEXTS, start=1))
CLAIMS = (
    "Snapshots are kept for 30 days.", "Snapshots are kept for 60 days.", "The port is 9090 unless changed.",
    "The collector forwards every request to the gateway.", "Invoices come by e-mail every month.",
    "The flag --keep-forever stops the removal.", "Support answers within an hour.",
)  # fmt: skip


def pair(claim: str, *texts: str) -> Pair:
    said, evidence = statement(claim), prepare(texts)
    return pair_of(said, measure(said, evidence), evidence)


def ask(judge: Any, task: Any, **inputs: Any) -> Any:
    return asyncio.run(judge.ask(task, **inputs))


def claims(*texts: str) -> tuple[Claim, ...]:
    return tuple(Claim(id=f"c{n}", text=text) for n, text in enumerate(texts, start=1))


def test_the_asset_is_the_one_that_the_notice_names() -> None:
    data = files("ragauge.judges.embedded").joinpath(ASSET).read_bytes()
    notice = (Path(__file__).resolve().parents[3] / "NOTICE").read_text(encoding="utf-8")
    assert hashlib.sha256(data).hexdigest() in notice


def test_what_is_read_is_the_claim_and_the_evidence_with_every_token_marked() -> None:
    found = pair("The Snapshots expire weekly on port 9090", TEXTS[0], "They expire with Zebra words.")
    tokenizer = load_tokenizer()
    claim = [
        piece
        for word in tokenizer.words("The Snapshots expire weekly on port 9090")
        for piece in tokenizer.pieces(word)
    ]
    assert found.ids[0] == tokenizer.cls
    assert found.ids.count(tokenizer.sep) == 2
    assert found.ids[-1] == tokenizer.sep
    assert len(found.ids) == len(found.marks)
    end = found.ids.index(tokenizer.sep)
    assert list(found.ids[1:end]) == claim
    marks = dict(zip(found.ids[1:end], found.marks[1:end], strict=True))
    of = {
        word: {marks[piece] for piece in tokenizer.pieces(word)}
        for word in ("the", "on", "snapshots", "port", "weekly")
    }
    assert of["the"] == of["on"] == {reading.PLAIN}
    assert of["snapshots"] == of["port"] == {reading.FOUND}
    assert of["weekly"] == {reading.NOWHERE}
    assert set(found.marks[end + 1 : -1]) == {reading.SHARED, reading.OTHER}


def load_tokenizer() -> Any:
    from ragauge.embeddings.minilm import load_minilm

    return load_minilm().tokenizer


def test_a_word_that_only_a_sentence_out_of_reach_holds_is_marked_so() -> None:
    long = " ".join(f"Sentence {n} speaks about matter {n} at some length and says nothing else." for n in range(40))
    found = pair("Snapshots are kept for 30 days in Zanzibar.", TEXTS[0], long, "Zanzibar is far " + "and wide " * 200)
    end = found.ids.index(load_tokenizer().sep)
    assert reading.ELSEWHERE in found.marks[1:end]
    assert len(found.ids) <= reading.CLAIM_TOKENS + reading.EVIDENCE_TOKENS + 3


def test_the_same_pair_has_the_same_log_odds_in_any_order_and_thread() -> None:
    encoder = load_encoder()
    pairs = [pair(claim, *TEXTS) for claim in CLAIMS]
    alone = [encoder.log_odds(one) for one in pairs]
    assert alone == [encoder.log_odds(one) for one in reversed(pairs)][::-1]
    found: list[list[float]] = []
    threads = [threading.Thread(target=lambda: found.append([encoder.log_odds(p) for p in pairs])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4
    assert all(math.isfinite(one) and one == round(one, 3) for one in alone)


def test_two_opinions_are_the_mean_of_their_log_odds_the_words_twice() -> None:
    signals = measure(statement("Backups run daily at night."), prepare(("Backups run each evening.",)))
    assert combined(0.5, 0.0, signals) == 0.5
    assert combined(0.8, math.log(4), signals) == pytest.approx(0.8)
    assert combined(0.8, -2 * math.log(4), signals) == pytest.approx(0.5)
    # worked example: odds of 8 by words and of 1 read are 8^(2/3) = 4 together, so 4 / 5
    assert combined(8 / 9, 0.0, signals) == pytest.approx(0.8)
    assert combined(0.0, 30.0, signals) > combined(0.0, 0.0, signals) > 0.0


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Snapshots are kept for 60 days and then removed.", TEXTS[0]),
        ("Snapshots are not kept for 30 days and then removed.", TEXTS[0]),
        ("The flag --keep-forever stops the removal of snapshots.", TEXTS[0]),
        ("The collector sends requests to the gateway.", "The gateway sends requests to the collector."),
    ],
)
def test_what_the_words_found_different_is_not_overruled(claim: str, text: str) -> None:
    signals = measure(statement(claim), prepare((text,)))
    scale = [combined(0.4, odds, signals) for odds in (-8.0, -2.0, 0.0, 2.0, 8.0, 30.0)]
    assert all(one < THRESHOLD for one in scale)
    assert scale == sorted(scale)
    assert len(set(scale)) == len(scale), "order is kept below the threshold"


def test_what_stands_there_word_for_word_stays_supported() -> None:
    found = judge_text("Snapshots are kept for 30 days", TEXTS, encoder=load_encoder())
    assert found == judge_text("Snapshots are kept for 30 days", TEXTS)


def test_verdicts_have_the_shape_of_the_first_tier_and_say_what_was_read() -> None:
    mine = ask(JUDGE, SUPPORT, claims=claims(*CLAIMS), chunks=CHUNKS).verdicts
    theirs = ask(WORDS, SUPPORT, claims=claims(*CLAIMS), chunks=CHUNKS).verdicts
    assert [v.id for v in mine] == [v.id for v in theirs]
    assert [v.probability for v in mine] != [v.probability for v in theirs]
    for verdict in mine:
        assert 0.0 <= verdict.probability <= 1.0
        assert (verdict.label == "supported") == (verdict.probability >= THRESHOLD)
        chunk = next((c for c in CHUNKS if c.id == verdict.evidence), None)
        assert verdict.quote is None if chunk is None else verdict.quote in chunk.text
    assert any("read beside it" in v.reason for v in mine)
    assert not any("read beside it" in v.reason for v in theirs)
    covered = ask(JUDGE, COVERAGE, claims=claims(CLAIMS[2]), text=TEXTS[0]).verdicts
    cited = ask(JUDGE, CITATION_SUPPORT, claims=claims(CLAIMS[2]), chunks=CHUNKS, cited={"c1": ("k1",)}).verdicts
    assert covered[0].probability == cited[0].probability
    assert covered[0].evidence is None


def test_other_tasks_are_the_first_tiers() -> None:
    for task, inputs in (
        (SPLIT_CLAIMS, {"text": "Snapshots are kept. Billing is monthly."}),
        (CORRECTNESS, {"question": "How long?", "answer": "30 days", "reference": "thirty days"}),
    ):
        assert ask(JUDGE, task, **inputs) == ask(WORDS, task, **inputs)


def test_no_text_breaks_it() -> None:
    for text in map(storable, HOSTILE[::6]):
        for verdict in ask(JUDGE, SUPPORT, claims=claims(text[:2_000]), chunks=CHUNKS).verdicts:
            assert 0.0 <= verdict.probability <= 1.0
        odd = (RetrievedChunk(id="h", text=text, rank=1),)
        assert ask(JUDGE, SUPPORT, claims=claims(CLAIMS[0]), chunks=odd).verdicts[0].id == "c1"
    assert len(pair("", "x").ids) >= 3


def test_long_evidence_is_not_read_more_slowly_than_it_is_long() -> None:
    def seconds(n: int) -> float:
        text = " ".join(f"Unit {i} keeps {i} entries of kind {i % 7}." for i in range(n))
        said, evidence = statement("Unit 7 keeps 7 entries."), prepare((text,))
        signals = measure(said, evidence)
        start = time.process_time()
        for _ in range(3):
            reading._tokens.cache_clear()
            pair_of(said, signals, evidence)
        return time.process_time() - start

    seconds(100)
    assert seconds(8_000) < 40 * seconds(800)


def test_it_keeps_the_laws_of_judges_and_has_a_card_of_its_own() -> None:
    made = make_judge("embedded:encoder")
    assert isinstance(made, EmbeddedJudge)
    assert "split_claims" in check_judge(made)
    mine, theirs = made.info(), WORDS.info()
    assert (mine.name, mine.kind) == ("embedded:encoder", "embedded")
    assert mine.fingerprint != theirs.fingerprint
    assert mine.agreement is not None
    assert theirs.agreement is not None
    assert "with encoder" in mine.agreement
    assert "with encoder" not in theirs.agreement
    with pytest.raises(UnknownName, match="embedded:encodr") as refused:
        make_judge("embedded:encodr")
    assert "embedded:encoder" in str(refused.value.hint)


def test_an_asset_with_code_in_it_is_refused(tmp_path: Path) -> None:
    import numpy as np

    target = tmp_path / "evil.npz"
    np.savez(target, **{"float:marks": np.array([{"a": 1}], dtype=object)})
    with target.open("rb") as asset, pytest.raises(ValueError, match="pickle"):
        Encoder(asset)


def test_a_run_by_name_says_who_judged_and_how_far_to_trust_it(tmp_path: Path) -> None:
    import ragauge

    rows = [
        {
            "id": f"q{n}",
            "question": "How long?",
            "answer": claim,
            "contexts": [{"id": c.id, "text": c.text} for c in CHUNKS],
        }
        for n, claim in enumerate(CLAIMS)
    ]
    run = ragauge.evaluate(rows, ["faithfulness"], judge="embedded:encoder", out=tmp_path)
    assert run.manifest.judge is not None
    assert run.manifest.judge.name == "embedded:encoder"
    assert "with encoder" in (run.manifest.judge.agreement or "")
    again = ragauge.evaluate(rows, ["faithfulness"], judge="embedded:encoder", out=tmp_path)
    assert [r.scores for r in run.rows()] == [r.scores for r in again.rows()]
    plain = ragauge.evaluate(rows, ["faithfulness"], out=tmp_path)
    assert [r.scores for r in run.rows()] != [r.scores for r in plain.rows()]


def test_the_self_test_passes() -> None:
    from ragauge.judges.selfcheck import self_check

    report = asyncio.run(self_check(JUDGE))
    assert [(r.name, r.got) for r in report.results if not r.passed] == []
