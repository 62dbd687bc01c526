"""The screens that the head of every page links to, in the order of use."""

from __future__ import annotations

#: (name that `here` is compared with, address, what is written).
ITEMS: tuple[tuple[str, str, str], ...] = (
    ("overview", "/", "Overview"),
    ("runs", "/runs", "Runs"),
    ("compare", "/compare", "Compare"),
    ("debugger", "/debug", "Debugger"),
    ("review", "/review", "Review"),
    ("calibration", "/calibration", "Calibration"),
    ("monitor", "/monitor", "Monitor"),
    ("sweeps", "/sweeps", "Sweeps"),
    ("golden", "/golden", "Golden sets"),
)
