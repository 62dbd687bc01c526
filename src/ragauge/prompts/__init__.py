"""Every word said to a model: `name.vN.md`, one loader. A prompt's hash stands in manifests and cache keys."""

from __future__ import annotations

from ragauge.prompts.fences import Fenced, Piece
from ragauge.prompts.loader import Prompt, Rendered, load, names

__all__ = ["Fenced", "Piece", "Prompt", "Rendered", "load", "names"]
