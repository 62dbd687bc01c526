"""What `ragauge doctor` found."""

from __future__ import annotations

from typing import Literal

from ragauge.core.model import Model

State = Literal["ok", "missing", "broken", "info"]


class Check(Model):
    """What was looked at. `missing` can be installed, `broken` should work and does not; `hint`: what to do."""

    name: str
    state: State
    detail: str
    hint: str


class DoctorDocument(Model):
    """What `ragauge doctor --json` prints; the schema in the documentation is this one. `ok`: nothing is broken."""

    ok: bool
    checks: tuple[Check, ...]
