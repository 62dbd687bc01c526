"""Every statistic against cases computed elsewhere (R, mpmath, exact fractions, statsmodels, confseq's C++).

The oracle file stands beside the repository; where it is absent the cases skip with a message. `NOT_OURS` is asserted
to be exact: a method that is neither implemented nor listed fails.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragauge.stats import (
    agreement,
    bootstrap,
    charts,
    composite,
    correction,
    coverage,
    drift,
    intervals,
    judge_bias,
    judge_noise,
    multiplicity,
    noninferiority,
    paired,
    permutation,
    power,
    prediction_powered,
    sampling,
    sequential,
)
from ragauge.stats.agreement import Table
from ragauge.stats.correction import Judged
from ragauge.stats.quantiles import two_sided_z

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "stats_oracles.json"
CASES: list[dict[str, Any]] = json.loads(ORACLES.read_text()) if ORACLES.is_file() else []

#: Methods of the oracle file that ragauge does not have. Exact: see the last test.
NOT_OURS: set[str] = set()


def _ends(estimate: Any, value: str | None = None) -> dict[str, float]:
    ends = {"low": estimate.low, "high": estimate.high}
    return ends | {value: estimate.value} if value else ends


def _differences(a: list[float], b: list[float]) -> list[float]:
    return [y - x for x, y in zip(a, b, strict=True)]


def _judged(**cells: Any) -> Judged:
    table = Table(
        cells["human_fail_judge_fail"],
        cells["human_fail_judge_pass"],
        cells["human_pass_judge_fail"],
        cells["human_pass_judge_pass"],
    )
    return Judged(table, cells["unlabelled_judge_fail"], cells["unlabelled_total"])


def _table(**cells: int) -> Table:
    return Table(cells["human1_judge1"], cells["human1_judge0"], cells["human0_judge1"], cells["human0_judge0"])


def mean_t_ci(x: list[float], confidence: float) -> dict[str, float]:
    estimate = intervals.mean_interval(x, level=confidence, kind="number")
    return _ends(estimate, "mean") | {"se": intervals.standard_error(x)}


def bounded_mean_neff_wilson_ci(x: list[float], confidence: float) -> dict[str, float]:
    mean, n_eff = math.fsum(x) / len(x), intervals.effective_n(x)
    low, high = intervals.wilson_bounds(mean, n_eff, two_sided_z(confidence))
    return {"mean": mean, "n_eff": n_eff, "low": low, "high": high}


def cluster_se_mean(y: list[float], cluster: list[str], confidence: float) -> dict[str, float]:
    estimate = intervals.mean_interval(y, level=confidence, clusters=cluster, kind="number")
    return (
        _ends(estimate, "mean")
        | {
            "se_cr0_miller": intervals.cluster_standard_error(y, cluster, corrected=False)[0],
            "se_cr1": intervals.cluster_standard_error(y, cluster)[0],
            "se_naive": intervals.standard_error(y),
        }
        | {"low_t": estimate.low, "high_t": estimate.high}
    )


def cluster_wilson_neff_ci(y: list[float], cluster: list[str], confidence: float) -> dict[str, float]:
    deff = intervals.design_effect(y, cluster)
    estimate = intervals.mean_interval(y, level=confidence, clusters=cluster, kind="rate")
    return _ends(estimate, "mean") | {"deff": deff, "n_eff": len(y) / deff}


def stratified_mean(strata: dict[str, list[float]], weights: dict[str, float]) -> dict[str, float]:
    estimate, se = composite.stratified_mean(strata, weights)
    return {"mean": estimate.value, "se": se}


def paired_permutation_exact(a: list[float], b: list[float], alternative: str) -> dict[str, float]:
    assert alternative == "two-sided"
    d = _differences(a, b)
    return {"mean_diff": math.fsum(d) / len(d), "p": permutation.sign_flip_test(d, exact_up_to=20).p}


def wilcoxon_exact(a: list[float], b: list[float]) -> dict[str, float | None]:
    test = permutation.signed_rank_test(_differences(a, b))
    return {"V": test.statistic, "p": test.p}


def paired_t(a: list[float], b: list[float], confidence: float) -> dict[str, float | None]:
    d = _differences(a, b)
    estimate, test = paired.difference_interval(d, level=confidence), paired.paired_t_test(d)
    return _ends(estimate, "mean_diff") | {"t": test.statistic, "p": test.p, "cohen_dz": paired.cohen_dz(d)}


def noninferiority_paired_t(a: list[float], b: list[float], margin: float, alpha: float) -> dict[str, float]:
    test, low = noninferiority.noninferiority_paired_t(_differences(a, b), margin, alpha=alpha)
    return {"p": test.p, "lower_bound": low}


def noninferiority_tango(b: int, c: int, n: int, margin: float) -> dict[str, float | None]:
    test = noninferiority.noninferiority_tango(b, c, n, margin)
    return {"z": test.statistic, "p": test.p}


def variance_components_icc(scores: list[list[float]]) -> dict[str, float | None]:
    v = judge_noise.variance_components(scores)
    names = ("ms_between", "ms_within", "var_between", "var_within", "icc1", "icc1k", "se_mean")
    return {name: getattr(v, name) for name in names}


def flip_rate(verdicts: list[list[int]]) -> dict[str, float]:
    flips = judge_noise.flip_rate(verdicts)
    return {"pairwise_flip_rate": flips.pairwise, "any_flip_share": flips.any_flip}


def repeats_vs_questions(
    var_between: float,
    var_within: float,
    cost_per_question: float,
    cost_per_judgment: float,
    n: int,
    K: int,  # noqa: N803
) -> dict[str, float]:
    return {
        "se_mean": judge_noise.standard_error_with_repeats(var_between, var_within, n, K),
        "optimal_K": judge_noise.best_repeats(var_between, var_within, cost_per_question, cost_per_judgment),
        "var_reduction_vs_K1": judge_noise.variance_saved_by_repeats(var_between, var_within, K),
    }


def cohen_kappa(**cells: int) -> dict[str, float | None]:
    table = _table(**cells)
    kappa = agreement.cohen_kappa(table)
    assert kappa is not None
    return {"kappa": kappa.value, "se": agreement.cohen_kappa_standard_error(table)}


def sens_spec_ci(**cells: int) -> dict[str, float]:
    a = agreement.accuracy(_table(**cells))
    assert None not in (a.sensitivity, a.specificity, a.positive_predictive, a.negative_predictive)
    return {
        "sens": a.sensitivity.value, "sens_low": a.sensitivity.low, "sens_high": a.sensitivity.high,
        "spec": a.specificity.value, "spec_low": a.specificity.low, "spec_high": a.specificity.high,
        "ppv": a.positive_predictive.value, "npv": a.negative_predictive.value,
    }  # fmt: skip


def agreement_threshold_decision(agree: int, n: int, reliable: float, retune: float) -> dict[str, float]:
    low, high = agreement.one_sided_bounds(agree, n)
    return {
        "cp_lower_95_one_sided": low,
        "cp_upper_95_one_sided": high,
        "post_prob_ge_088_uniform_prior": agreement.posterior_at_least(agree, n, reliable),
        "post_prob_lt_080_uniform_prior": 1.0 - agreement.posterior_at_least(agree, n, retune),
    }


def position_bias_test(**counts: int) -> dict[str, float]:
    bias = judge_bias.position_bias(*counts.values())
    assert bias.share_first is not None
    return _ends(bias.share_first, "share_first") | {"p": bias.p}


def self_preference_did(**rates: list[int]) -> dict[str, float | None]:
    s = judge_bias.self_preference(**{name: tuple(rate) for name, rate in rates.items()})
    return {"did": s.difference, "se_independent": s.standard_error, "z": s.z}


def poststrat_failure_rate(confidence: float, **cells: int) -> dict[str, float]:
    parts = correction.post_stratified(_judged(**cells))
    return {
        "estimate": parts.value, "se": parts.standard_error, "q": parts.q,
        "ppv_fail": parts.p_fail, "fail_given_pass": parts.p_pass,
    }  # fmt: skip


def poststrat_bayes_ci(confidence: float, **cells: int) -> dict[str, float]:
    posterior = correction.bayesian_rate(_judged(**cells), level=confidence)
    return {
        "post_mean": posterior.mean, "post_var": posterior.variance, "low": posterior.low, "high": posterior.high
    }  # fmt: skip


def rogan_gladen(confidence: float, **cells: int) -> dict[str, float]:
    r = correction.rogan_gladen(_judged(**cells))
    assert r is not None
    return {
        "sens": r.sensitivity, "spec": r.specificity, "raw_estimate": r.raw, "estimate_clipped": r.value,
        "se": r.standard_error,
    }  # fmt: skip


def ppi(y: list[float], f: list[float], f_unlabelled: list[float], alpha: float, **options: Any) -> dict[str, float]:
    estimate = prediction_powered.ppi_mean(y, f, f_unlabelled, level=1 - alpha, **options)
    return _ends(estimate, "estimate") | {"lam": prediction_powered.tuning(y, f, f_unlabelled)}


def regression_estimator_t(y: list[float], f: list[float], f_unlabelled: list[float], alpha: float) -> dict[str, float]:
    estimate = prediction_powered.regression_mean(y, f, f_unlabelled, level=1 - alpha)
    return _ends(estimate, "estimate") | {"slope": prediction_powered.regression_slope(y, f)}


def stratified_poststrat_mover(weights: list[float], strata_cells: list[dict[str, int]]) -> dict[str, float]:
    strata = [Judged(Table(c["n11"], c["n10"], c["n01"], c["n00"]), c["M"], c["N"]) for c in strata_cells]
    return _ends(correction.corrected_rate_stratified(strata, weights), "estimate")


def active_aipw_mean(
    prediction: list[float], inclusion_prob: list[float], sampled: list[int], label: list[float | None]
) -> dict[str, float]:
    labels = [y if s else None for s, y in zip(sampled, label, strict=True)]
    estimate = sampling.active_mean(prediction, inclusion_prob, labels)
    return {
        "estimate": estimate.value,
        "se": sampling.active_standard_error(prediction, inclusion_prob, labels),
    }


def ewma_chart(
    successes: list[int],
    n_per_day: int,
    baseline: float,
    lam: float,
    L: float,  # noqa: N803
) -> dict[str, Any]:
    z = charts.z_scores(successes, [n_per_day] * len(successes), baseline)
    chart = charts.ewma(z, lam=lam, limit=L)
    return {
        "ewma_z": chart.statistic, "lower_limit": chart.limit,
        "first_alarm_day": None if chart.first_alarm is None else chart.first_alarm + 1,
    }  # fmt: skip


def cusum_chart(successes: list[int], n_per_day: int, baseline: float, k: float, h: float) -> dict[str, Any]:
    chart = charts.cusum(charts.z_scores(successes, [n_per_day] * len(successes), baseline), k=k, h=h)
    return {"cusum": chart.statistic, "first_alarm_day": None if chart.first_alarm is None else chart.first_alarm + 1}


def e_cusum_bernoulli(
    successes: list[int], n_per_day: int, p_null: float, p_alt: float, threshold: str
) -> dict[str, Any]:
    assert threshold == "ln(1000)"
    chart = charts.e_cusum(successes, [n_per_day] * len(successes), p_null, p_alt)
    first = None if chart.first_alarm is None else chart.first_alarm + 1
    return {"log_statistic": chart.statistic, "first_alarm_day": first}


def zero_result_spike(zero_results: int, n: int, baseline: float) -> dict[str, float]:
    return {
        "p": drift.spike_p(zero_results, n, baseline),
        "alarm_at_count_alpha_0.001": drift.spike_count(n, baseline),
    }


def ks_2samp_exact(a: list[float], b: list[float]) -> dict[str, float | None]:
    test = drift.kolmogorov_smirnov(a, b)
    return {"D": test.statistic, "p": test.p}


def quantile_order_stat_ci_ranks(n: int, q: float, confidence: float) -> dict[str, float]:
    ranks = drift.quantile_ranks(n, q, level=confidence)
    return {"lower_rank": ranks.low, "upper_rank": ranks.high, "coverage": ranks.coverage}


def normal_mixture_boundary(
    v: float, alpha: float, v_opt: float, alpha_opt: float, two_sided: bool
) -> dict[str, float]:
    assert alpha == alpha_opt
    return {"bound": sequential.normal_mixture_boundary(v, alpha=alpha, v_opt=v_opt, two_sided=two_sided)}


def weighted_composite(scores: dict[str, list[float]], weights: dict[str, float]) -> dict[str, float]:
    estimate = composite.weighted_composite(scores, weights)
    per_question = [
        math.fsum(weights[name] * scores[name][i] for name in weights) for i in range(len(scores["recall"]))
    ]
    return _ends(estimate, "mean") | {"se": intervals.standard_error(per_question)}


def geometric_composite_delta(scores: dict[str, list[float]], weights: dict[str, float]) -> dict[str, float]:
    value, se = composite.geometric_composite(scores, weights)
    return {"value": value, "se": se}


def micro_claim_ratio(supported: list[float], claims: list[float]) -> dict[str, float]:
    estimate = composite.claim_rate(supported, claims)
    return {"ratio": estimate.value, "se": composite.claim_rate_standard_error(supported, claims)}


def selective_risk_coverage(confidence: list[float], correct: list[int], threshold: float) -> dict[str, Any]:
    risk = coverage.selective_risk(confidence, correct, threshold)
    return {"coverage": risk.coverage, "selective_error": risk.error, "aurc": risk.aurc}


OURS: dict[str, Callable[..., dict[str, Any]]] = {
    "wilson_ci": lambda k, n, confidence: _ends(intervals.proportion_interval(k, n, level=confidence)),
    "clopper_pearson_ci": lambda k, n, confidence: _ends(
        intervals.proportion_interval(k, n, "clopper-pearson", level=confidence)
    ),
    "jeffreys_ci": lambda k, n, confidence: dict(
        zip(("low", "high"), intervals.jeffreys_bounds(k, n, level=confidence, closed=False), strict=True)
    ),
    "mean_t_ci": mean_t_ci,
    "bounded_mean_neff_wilson_ci": bounded_mean_neff_wilson_ci,
    "bca_bootstrap_mean_ci": lambda x, confidence, min_resamples: _ends(
        bootstrap.bca_mean(x, level=confidence, n_resamples=min_resamples)
    ),
    "cluster_se_mean": cluster_se_mean,
    "cluster_wilson_neff_ci": cluster_wilson_neff_ci,
    "stratified_mean": stratified_mean,
    "mcnemar_exact": lambda b, c: {"p": paired.mcnemar_exact(b, c)},
    "mcnemar_midp": lambda b, c: {"p": paired.mcnemar_midp(b, c)},
    "paired_permutation_exact": paired_permutation_exact,
    "wilcoxon_exact": wilcoxon_exact,
    "wilcoxon_pratt_exact": lambda d: {"p": permutation.signed_rank_test(d, zeros="pratt").p},
    "paired_t": paired_t,
    "noninferiority_paired_t": noninferiority_paired_t,
    "tost_paired": lambda a, b, low, high: {"p": noninferiority.equivalence_paired_t(_differences(a, b), low, high)},
    "tango_paired_diff_ci": lambda b, c, n, confidence: _ends(paired.tango_interval(b, c, n, level=confidence), "diff"),
    "noninferiority_tango": noninferiority_tango,
    "newcombe10_paired_diff_ci": lambda a, b, c, d, confidence: _ends(
        paired.newcombe_paired_interval(a, b, c, d, level=confidence), "diff"
    ),
    "p_adjust_holm": lambda p: {"adjusted": multiplicity.holm(p)},
    "p_adjust_benjamini_hochberg": lambda p: {"adjusted": multiplicity.benjamini_hochberg(p)},
    "p_adjust_benjamini_yekutieli": lambda p: {"adjusted": multiplicity.benjamini_yekutieli(p)},
    "sample_size_paired_t": lambda delta, sd_diff, alpha, power: {
        "n": _power.sample_size_paired_t(delta, sd_diff, alpha=alpha, power=power)
    },
    "mde_paired_t": lambda n, sd_diff, alpha, power: {"mde": _power.mde_paired_t(n, sd_diff, alpha=alpha, power=power)},
    "sample_size_mcnemar": lambda p_discordant, delta, alpha, power: {
        "n": _power.sample_size_mcnemar(p_discordant, delta, alpha=alpha, power=power)
    },
    "sample_size_noninferiority": lambda p_discordant, true_delta, margin, alpha, power: {
        "n": _power.sample_size_noninferiority(p_discordant, margin, true_delta=true_delta, alpha=alpha, power=power)
    },
    "power_mcnemar_midp_exact": lambda n, p10, p01, alpha: {
        "power": _power.power_mcnemar_midp(n, p10, p01, alpha=alpha)
    },
    "expected_best_of_k_noise": lambda k, se: {"expected_max": multiplicity.best_of_noise(k, se)},
    "variance_components_icc": variance_components_icc,
    "flip_rate": flip_rate,
    "repeats_vs_questions": repeats_vs_questions,
    "cohen_kappa": cohen_kappa,
    "mcc": lambda **cells: {"mcc": agreement.matthews_correlation(_table(**cells))},
    "gwet_ac1": lambda **cells: {"ac1": agreement.gwet_ac1(_table(**cells))},
    "sens_spec_ci": sens_spec_ci,
    "weighted_kappa": lambda human, judge, weights, labels: {
        "kappa": agreement.weighted_kappa(human, judge, labels, weights=weights)
    },
    "krippendorff_alpha": lambda ratings, level: {"alpha": agreement.krippendorff_alpha(ratings, level=level)},
    "agreement_threshold_decision": agreement_threshold_decision,
    "min_agreements_to_certify": lambda n, threshold, confidence: {
        "min_agree": agreement.min_agreements_to_certify(n, threshold, confidence=confidence)
    },
    "position_bias_test": position_bias_test,
    "length_bias_spearman": lambda judge_minus_human, answer_tokens: {
        "rho": judge_bias.spearman(judge_minus_human, answer_tokens)
    },
    "self_preference_did": self_preference_did,
    "poststrat_failure_rate": poststrat_failure_rate,
    "poststrat_mover_wilson_ci": lambda confidence, **cells: _ends(
        correction.corrected_rate(_judged(**cells), level=confidence, limits="wilson"), "estimate"
    ),
    "poststrat_mover_jeffreys_ci": lambda confidence, **cells: _ends(
        correction.corrected_rate(_judged(**cells), level=confidence), "estimate"
    ),
    "poststrat_bayes_ci": poststrat_bayes_ci,
    "rogan_gladen": rogan_gladen,
    "lang_reiczigel_ci": lambda confidence, **cells: _ends(
        correction.lang_reiczigel(_judged(**cells), level=confidence)
    ),
    "se_gain": lambda n, N, rho: {  # noqa: N803
        "n_effective": correction.labels_worth(n, N, rho),
        "min_rho_for_gain": correction.min_correlation_for_gain(n),
    },
    "ppi_mean": ppi,
    "ppi_plus_plus_mean": lambda **given: ppi(**given, lam=None),
    "ppi_plus_plus_mean_t": lambda **given: ppi(**given, lam=None, student=True),
    "regression_estimator_t": regression_estimator_t,
    "stratified_poststrat_mover": stratified_poststrat_mover,
    "active_aipw_mean": active_aipw_mean,
    "neyman_allocation": lambda budget, weights, sds: {
        "allocation": [budget * share for share in sampling.neyman_shares(weights, sds)]
    },
    "ewma_chart": ewma_chart,
    "cusum_chart": cusum_chart,
    "e_cusum_bernoulli": e_cusum_bernoulli,
    "cusum_arl0_siegmund": lambda k, h: {"arl0": charts.cusum_run_length(k, h)},
    "psi": lambda expected_counts, actual_counts: {"psi": drift.psi(expected_counts, actual_counts)},
    "psi_null_threshold": lambda n, m, bins, alpha: {
        "expected_psi": drift.psi_expected(n, m, bins),
        "threshold": drift.psi_threshold(n, m, bins, alpha=alpha),
    },
    "ks_2samp_exact": ks_2samp_exact,
    "mmd2_unbiased_rbf": lambda x, y, gamma: {"mmd2": drift.mmd2(x, y, gamma)},
    "zero_result_spike": zero_result_spike,
    "zero_result_spike_estimated_baseline": lambda base_k, base_n, today_k, today_n: {
        "p": drift.spike_p_estimated(base_k, base_n, today_k, today_n)
    },
    "quantile_order_stat_ci_ranks": quantile_order_stat_ci_ranks,
    "normal_mixture_boundary": normal_mixture_boundary,
    "bernoulli_confidence_sequence": lambda successes, trials, alpha, t_opt: _ends(
        sequential.confidence_sequence(successes, trials, alpha=alpha, t_opt=t_opt)
    ),
    "beta_binomial_e_value": lambda successes, trials, p0, prior: {
        "log_e": sequential.beta_binomial_log_e(successes, trials, p0, prior=tuple(prior))
    },
    "unpaired_two_proportions_newcombe": lambda k1, n1, k2, n2, confidence: _ends(
        paired.newcombe_unpaired_interval(k1, n1, k2, n2, level=confidence), "diff"
    ),
    "weighted_composite": weighted_composite,
    "geometric_composite_delta": geometric_composite_delta,
    "micro_claim_ratio": micro_claim_ratio,
    "coverage_good_turing_chao1": lambda queries_per_topic: {
        "unseen_mass_good_turing": coverage.unseen_mass(queries_per_topic),
        "chao1_bias_corrected": coverage.chao1(queries_per_topic),
    },
    "selective_risk_coverage": selective_risk_coverage,
}
_power = power


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_agrees_with_the_oracle(case: dict[str, Any]) -> None:
    ours = OURS[case["method"]](**case["input"])
    for name, expected in case["expected"].items():
        if expected is None or isinstance(expected, str):
            assert ours[name] == expected, name
        else:
            assert ours[name] == pytest.approx(expected, abs=case["tolerance"], rel=0), name


@pytest.mark.usefixtures("shared")
def test_every_method_of_the_oracle_file_is_ours_or_listed() -> None:
    methods = {case["method"] for case in CASES}
    assert methods - set(OURS) == NOT_OURS
    assert set(OURS) <= methods
