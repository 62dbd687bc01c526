"""Making a run: plan it, ask the system, judge, score, and append each row to disk as it finishes."""
