"""Arrays in, numbers out: intervals, paired tests, agreement, correction, power, multiplicity, control charts.

Every formula stands in a docstring with its source and agrees with the oracle cases (tests/agreement).
Nothing here imports `scipy.stats`; `scipy.special` is imported on first use.
"""
