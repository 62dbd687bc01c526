"""What a judge said to cases with known verdicts."""

from __future__ import annotations

from ragauge.core.model import Model


class CaseResult(Model):
    """One case: what was expected, what the judge said. `passed` None: the judge cannot do this task."""

    name: str
    kind: str
    passed: bool | None
    expected: str
    got: str
