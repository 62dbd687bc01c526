"""Bytes ↔ models: run directories, tables, TREC files, caches."""
