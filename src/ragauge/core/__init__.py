"""The vocabulary: pure data and protocols. Imports only the standard library, pydantic and `ragauge.errors`."""
