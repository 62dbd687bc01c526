"""Labels against verdicts: the figures, what is refused, and that the corrected rate is right."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.calibrate import Drawn, calibrate
from ragauge.analysis.calibration import changes
from ragauge.analysis.label_next import Known, draw_next
from ragauge.analysis.labels import HumanLabel, label_value, settle
from ragauge.analysis.units import Unit, Units, bands, units_of
from ragauge.core.metric import MetricSpec
from ragauge.core.run import Manifest
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.errors import UnknownName, UsageError
from ragauge.judges.families import family_of
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_metric, a_run

CARD = a_metric("faithfulness", needs={"judge"}, half="generation")


def a_judged_run(base: Path, values: Mapping[str, float], **more: Any) -> RunDir:
    rows = {item: {"faithfulness": value} for item, value in values.items()}
    return a_run(base, rows, metrics=[CARD], **more)


def units_from(values: Mapping[str, float], *, confidence: Mapping[str, float] | None = None) -> Units:
    units = tuple(
        Unit(key=(item, 0, None), value=value, failing=value < 1, answer=item, confidence=(confidence or {}).get(item))
        for item, value in values.items()
    )
    return Units("faithfulness", CARD, 1.0, False, units)


def labels_of(values: Mapping[str, float], **more: Any) -> list[HumanLabel]:
    return [HumanLabel(item=item, value=value, metric="faithfulness", **more) for item, value in values.items()]


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """100 answers; the judge fails the first 20."""
    return a_judged_run(tmp_path, {f"q{i:03}": float(i >= 20) for i in range(100)})


@pytest.fixture
def manifest(run: RunDir) -> Manifest:
    return run.manifest


def by_hand(run: RunDir) -> tuple[Manifest, Units]:
    return run.manifest, units_of(run.manifest, run.records(), "faithfulness")


def test_the_figures_of_a_table_are_those_computed_by_hand(run: RunDir) -> None:
    manifest, units = by_hand(run)
    # Of the 20 judged failing, 16 fail; of the 80 others, 4 do.
    truth = {f"q{i:03}": 0.0 if i < 16 or 20 <= i < 24 else 1.0 for i in range(100)}
    found = calibrate(manifest, units, labels_of(truth))
    assert found.table == {"both_fail": 16, "judge_lenient": 4, "judge_strict": 4, "both_pass": 76}
    assert found.agreement.value == pytest.approx(0.92)
    assert found.sensitivity is not None
    assert found.sensitivity.value == pytest.approx(16 / 20)
    assert found.specificity is not None
    assert found.specificity.value == pytest.approx(76 / 80)
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx((0.92 - 0.68) / 0.32)
    assert found.corrected_rate is not None
    assert found.corrected_rate.value == pytest.approx(0.20)
    assert found.dominant.kind == "balanced"
    assert len(found.disagreements) == 8


def test_the_corrected_rate_is_the_post_stratified_one(run: RunDir) -> None:
    manifest, units = by_hand(run)
    truth = {f"q{i:03}": 0.0 if i < 5 else 1.0 for i in range(60)}  # 20 judged failing, 5 of them fail; 40 others fine
    found = calibrate(manifest, units, labels_of(truth))
    assert found.corrected_rate is not None
    assert found.corrected_rate.value == pytest.approx(0.2 * 5 / 20)
    assert found.corrected_rate.method.startswith("post-stratified, MOVER")
    assert found.raw_rate is not None
    assert found.raw_rate.value == pytest.approx(0.2)
    assert found.dominant.kind == "too_strict"
    assert found.sentence.startswith("Between ")
    assert found.sentence.endswith("the judge alone said 20 %.")
    assert "contain an unsupported claim" in found.sentence


def test_few_labels_are_refused_and_it_is_said_how_many_are_missing(run: RunDir) -> None:
    manifest, units = by_hand(run)
    found = calibrate(manifest, units, labels_of({f"q{i:03}": 1.0 for i in range(10, 22)}))
    assert found.corrected_rate is None
    assert found.refused is not None
    assert "18 more" in found.refused
    assert found.n_more == 18
    assert found.human_rate is not None
    assert "Clopper" in found.human_rate.method
    assert "18 more" in found.sentence


def test_a_judge_that_lets_everything_pass_is_not_called_reliable(tmp_path: Path) -> None:
    run = a_judged_run(tmp_path, {f"q{i:03}": 1.0 for i in range(300)})
    manifest, units = by_hand(run)
    found = calibrate(manifest, units, labels_of({f"q{i:03}": float(i >= 15) for i in range(300)}))
    assert found.agreement.value == pytest.approx(0.95)
    assert found.verdict == "provisional"
    assert found.sensitivity is not None
    assert found.sensitivity.value == 0.0


@pytest.mark.parametrize(("wrong", "verdict"), [(2, "reliable"), (12, "provisional"), (30, "retune")])
def test_the_verdict_follows_the_rules(run: RunDir, wrong: int, verdict: str) -> None:
    manifest, units = by_hand(run)
    truth = {unit.key[0]: float(unit.failing if place >= 100 - wrong else not unit.failing)
             for place, unit in enumerate(units.units)}  # fmt: skip
    found = calibrate(manifest, units, labels_of(truth))
    assert found.verdict == verdict
    assert found.reaches_target is (wrong <= 10)


def test_labels_about_another_answer_or_another_row_are_left_out_and_counted(run: RunDir) -> None:
    manifest, units = by_hand(run)
    labels = labels_of({f"q{i:03}": 1.0 for i in range(40)})
    labels += [HumanLabel("q050", 1.0, answer="0000"), HumanLabel("q999", 1.0)]
    found = calibrate(manifest, units, labels)
    assert found.n_labels == 40
    assert found.excluded == {"about another answer than this run's": 1, "not judged in this run": 1}


def test_labels_chosen_for_being_interesting_do_not_enter_the_rate(run: RunDir) -> None:
    manifest, units = by_hand(run)
    fair = labels_of({f"q{i:03}": 1.0 for i in range(0, 100, 3)}, for_estimation=True)
    odd = labels_of({f"q{i:03}": 0.0 for i in range(1, 100, 3)}, for_estimation=False)
    found = calibrate(manifest, units, fair + odd)
    assert found.n_labels == 34
    assert found.excluded == {"not a random draw: used to find mistakes only": 33}
    with pytest.raises(UsageError, match="no label can be used"):
        calibrate(manifest, units, odd)


def test_labels_that_are_plainly_no_random_draw_are_called_out(run: RunDir) -> None:
    manifest, units = by_hand(run)
    found = calibrate(
        manifest, units, labels_of({f"q{i:03}": 0.0 for i in range(20)} | {f"q{i:03}": 1.0 for i in range(20, 32)})
    )
    assert any("do not look like one" in note for note in found.notes)
    fair = calibrate(manifest, units, labels_of({f"q{i:03}": 1.0 for i in range(0, 100, 2)}))
    assert not any("do not look like one" in note for note in fair.notes)


def test_people_who_disagree_settle_nothing_until_somebody_does(run: RunDir) -> None:
    two = [HumanLabel("q1", 1.0, reviewer="a"), HumanLabel("q1", 0.0, reviewer="b")]
    assert settle(two)["q1", 0, None].value is None
    assert settle([*two, HumanLabel("q1", 0.0, reviewer="c", adjudicated=True)])["q1", 0, None].value == 0.0
    manifest, units = by_hand(run)
    more = [HumanLabel(f"q{i:03}", 1.0, reviewer=name) for i in range(40) for name in "ab"]
    found = calibrate(
        manifest, units, [*more, HumanLabel("q050", 1.0, reviewer="a"), HumanLabel("q050", 0.0, reviewer="b")]
    )
    assert found.excluded == {"reviewers disagree": 1}
    assert found.between_people is not None
    assert found.between_people["agreement"] == pytest.approx(40 / 41)


def test_tags_have_figures_of_their_own(tmp_path: Path) -> None:
    values = {f"q{i:03}": float(i % 5 > 0) for i in range(100)}
    tags = {item: {"tags": ("table",) if int(item[1:]) < 40 else ("lookup",)} for item in values}
    run = a_judged_run(tmp_path, values, items=tags)
    found = calibrate(*by_hand(run), labels_of(values))
    assert found.tags["table"].n_labels == 40
    assert found.tags["table"].corrected_rate is not None
    assert found.tags["lookup"].agreement.value == 1.0


def test_single_chunks_are_labelled_by_target(tmp_path: Path) -> None:
    spec = a_metric("context_precision", needs={"judge"})
    verdicts = tuple(
        Verdict(id=name, label=label) for name, label in (("a", "useful"), ("b", "not_useful"), ("c", "useful"))
    )
    rows = {f"q{i}": {"context_precision": Scored(value=1.0, count=3, verdicts=verdicts)} for i in range(30)}
    run = a_run(tmp_path, rows, metrics=[spec])
    units = units_of(run.manifest, run.records(), "context_precision", by_target=True)
    assert [unit.failing for unit in units.units[:3]] == [False, True, False]
    labels = [HumanLabel(f"q{i}", float(t != "b" and (t != "c" or i % 2)), "context_precision", target=t)
              for i in range(30) for t in "abc"]  # fmt: skip
    found = calibrate(run.manifest, units, labels)
    assert found.n_labels == 90
    assert found.table["judge_lenient"] == 15
    position = next(check for check in found.bias if check.name == "position")
    assert position.measurable
    assert position.effect is not None
    assert position.effect > 0


def test_several_labels_on_one_question_widen_the_interval(tmp_path: Path) -> None:
    spec = a_metric("context_precision", needs={"judge"})
    verdicts = tuple(Verdict(id=f"c{n}", label="useful") for n in range(10))
    rows = {f"q{i}": {"context_precision": Scored(value=1.0, count=10, verdicts=verdicts)} for i in range(20)}
    run = a_run(tmp_path, rows, metrics=[spec])
    units = units_of(run.manifest, run.records(), "context_precision", by_target=True)
    # Either all chunks of a question are useful or none is: 20 questions, not 200 labels.
    labels = [
        HumanLabel(f"q{i}", float(i % 4 > 0), "context_precision", target=f"c{n}") for i in range(20) for n in range(10)
    ]
    rate = calibrate(run.manifest, units, labels).corrected_rate
    assert rate is not None
    assert rate.low is not None
    assert rate.high is not None
    assert rate.high - rate.low > 0.3
    assert "widened" in rate.method


def test_grades_give_a_corrected_mean_grade(tmp_path: Path) -> None:
    rng = random.Random(2)
    grades = {f"q{i:03}": rng.choice((0.0, 0.25, 0.5, 1.0)) for i in range(300)}
    values = {item: min(1.0, grade * 0.6 + 0.4) for item, grade in grades.items()}  # a lenient judge
    manifest, units = by_hand(a_judged_run(tmp_path, values))
    found = calibrate(
        manifest, units, labels_of({f"q{i:03}": grades[f"q{i:03}"] for i in range(0, 300, 5)}, graded=True)
    )
    truth = sum(grades.values()) / 300
    assert found.graded_mean is not None
    assert found.graded_mean.low is not None
    assert found.graded_mean.high is not None
    assert found.graded_mean.low <= truth <= found.graded_mean.high
    assert found.graded_mean.high - found.graded_mean.low < 0.12
    plain = calibrate(manifest, units, labels_of({f"q{i:03}": 1.0 for i in range(40)}))
    assert plain.graded_mean is None


def test_a_judge_that_likes_long_answers_is_found_out(tmp_path: Path) -> None:
    rng = random.Random(1)
    values, items, truth = {}, {}, {}
    for i in range(120):
        n = rng.choice((5, 10, 40, 80))
        items[f"q{i}"] = {"answer": "word " * n}
        truth[f"q{i}"] = float(rng.random() < 0.6)
        values[f"q{i}"] = 1.0 if n > 20 else truth[f"q{i}"]
    found = calibrate(*by_hand(a_judged_run(tmp_path, values, items=items)), labels_of(truth))
    length = next(check for check in found.bias if check.name == "length")
    assert "more lenient with longer" in length.verdict
    assert length.low is not None
    assert length.low > 0


def test_a_judge_that_likes_its_own_family_is_found_out(tmp_path: Path) -> None:
    values, items, truth = {}, {}, {}
    for i in range(160):
        own = i % 2 == 0
        items[f"q{i}"] = {"model": "gpt-4o" if own else "claude-haiku"}
        truth[f"q{i}"] = float(i % 4 < 2)
        values[f"q{i}"] = 1.0 if own else truth[f"q{i}"]
    run = a_judged_run(tmp_path, values, items=items, judge="openai:gpt-4.1")
    found = calibrate(*by_hand(run), labels_of(truth), family=family_of)
    family = next(check for check in found.bias if check.name == "own_family")
    assert "more lenient with answers of its own family" in family.verdict
    position = next(check for check in found.bias if check.name == "position")
    assert not position.measurable
    assert position.why


def test_a_changed_judge_prompt_or_metric_makes_the_calibration_stale(run: RunDir) -> None:
    manifest, units = by_hand(run)
    binding = calibrate(manifest, units, labels_of({f"q{i:03}": 1.0 for i in range(40)})).binding
    assert changes(binding, manifest) == []
    assert manifest.judge is not None

    def with_judge(**more: Any) -> Manifest:
        assert manifest.judge is not None
        return manifest.model_copy(update={"judge": manifest.judge.model_copy(update=more)})

    assert "now it is" in changes(binding, with_judge(name="openai:gpt"))[0]
    assert changes(binding, with_judge(prompts={"support": "abc"})) == ["prompts changed: support"]
    assert changes(binding, with_judge(fingerprint="new")) == ["the judge changed"]
    spec = MetricSpec(key="faithfulness", info=CARD.info.model_copy(update={"version": 2}))
    assert "version 2" in changes(binding, manifest.model_copy(update={"metrics": (spec,)}))[0]


def test_a_metric_that_is_unknown_or_has_no_failures_is_refused(run: RunDir) -> None:
    with pytest.raises(UnknownName, match="faithfulnes"):
        units_of(run.manifest, run.records(), "faithfulnes")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Faithful", 1.0),
        ("not faithful", 0.0),
        ("PARTIALLY correct", 0.5),
        ("0.25", 0.25),
        ("1", 1.0),
        ("no", 0.0),
        ("irrelevant", 0.0),
    ],
)
def test_labels_are_read_in_the_words_of_people(text: str, value: float) -> None:
    read = label_value(text)
    assert read is not None
    assert read[0] == value


@pytest.mark.parametrize("text", ["maybe", "2", "-0.1", "nan", "inf", "x" * 10_000])
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"label|between"):
        label_value(text)


def a_population(n: int, seed: int, scores: bool) -> tuple[dict[str, float], dict[str, bool], Units]:
    """A run whose judge errs mostly where it is unsure: judge's values, who truly fails, units."""
    rng = random.Random(seed)
    values, truth, sure = {}, {}, {}
    for i in range(n):
        kind = rng.choices(("clear", "unsure", "bad"), (0.7, 0.2, 0.1))[0]
        p = {"clear": 0.04, "unsure": 0.45, "bad": 0.9}[kind]
        item = f"q{i:04}"
        truth[item] = rng.random() < p
        values[item] = {"clear": 1.0, "unsure": 0.7, "bad": 0.0}[kind]
        sure[item] = {"clear": 0.97, "unsure": 0.45, "bad": 0.05}[kind] + rng.uniform(-0.02, 0.02)
    return values, truth, units_from(values, confidence=sure if scores else None)


@pytest.mark.parametrize("scores", [True, False])
def test_a_draw_by_bands_is_unbiased_and_covers(run: RunDir, scores: bool) -> None:
    _, truth, units = a_population(600, 3, scores)
    true_rate = sum(truth.values()) / len(truth)
    off, covered, n_rounds = 0.0, 0, 150
    for seed in range(n_rounds):
        known: dict[tuple[str, int, str | None], bool] = {}
        for _ in range(2):  # two waves: the second is allotted by what the first one showed
            for one in draw_next(units, 40, seed, Known(frozenset(known), known)):
                known[one.key] = truth[one.item]
        labels = labels_of({key[0]: float(not bad) for key, bad in known.items()})
        found = calibrate(run.manifest, units, labels, drawn=Drawn(frozenset(known), bands(units), True))
        rate = found.corrected_rate
        assert rate is not None
        assert rate.low is not None
        assert rate.high is not None
        off += rate.value - true_rate
        covered += rate.low <= true_rate <= rate.high
    assert abs(off / n_rounds) < 0.01
    assert covered / n_rounds >= 0.92
    # The flaw that this design avoids: averaging the most uncertain ones.
    unsure = sorted(units.units, key=lambda unit: abs((unit.confidence or unit.value) - 0.5))[:80]
    assert abs(sum(truth[unit.key[0]] for unit in unsure) / 80 - true_rate) > 0.15


def test_a_draw_is_the_same_for_the_same_seed_and_never_repeats(run: RunDir) -> None:
    _, _, units = a_population(200, 1, True)
    first = draw_next(units, 30, 7)
    assert first == draw_next(units, 30, 7)
    assert first != draw_next(units, 30, 8)
    second = draw_next(units, 30, 7, Known(frozenset(one.key for one in first)))
    assert not {one.key for one in first} & {one.key for one in second}
    assert len(draw_next(units, 1000, 7)) == 200
    simple = draw_next(units, 50, 7, by_bands=False)
    assert {one.probability for one in simple} == {0.25}


def test_every_band_has_its_floor_and_probabilities_add_up(run: RunDir) -> None:
    _, _, units = a_population(600, 5, True)
    drawn = draw_next(units, 60, 0)
    counts: dict[str | None, int] = {}
    for one in drawn:
        counts[one.band] = counts.get(one.band, 0) + 1
    assert min(counts.values()) >= 10
    assert sum(counts.values()) == 60
    of: Sequence[str] = list(bands(units).values())
    for one in drawn:
        assert one.probability == pytest.approx(counts[one.band] / of.count(str(one.band)))
