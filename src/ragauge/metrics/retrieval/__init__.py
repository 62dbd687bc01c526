"""Retrieval metrics: ids only; no language model, free, deterministic."""
