"""ragauge: how often is your RAG system wrong, which half is at fault, and what to change."""

from __future__ import annotations

from ragauge._version import __version__

__all__ = ["__version__"]
