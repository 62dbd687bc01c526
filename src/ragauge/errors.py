"""Every deliberate exception, drawn as a tree, and the reasons that a score can be missing.

RagaugeError                     anything we raise on purpose; carries a message, what to do next, an exit code
├── UsageError (exit 2)          you asked for something impossible
│   ├── SettingsError            ragauge.yaml or a flag: unknown key, wrong value
│   ├── UnknownName              no such metric, judge, system, verb; nearest names offered
│   ├── InputError               a file of yours cannot be read as what it should be: file, line, field
│   ├── StoreError               a run directory or cache that cannot be used
│   │   ├── NewerVersion         written by a newer ragauge
│   │   └── DiskFull (exit 3)    nothing half-written; free space, then resume
│   └── MissingExtra             an optional part is not installed; says what to install
├── RunError (exit 3)            the run could not finish, or could not be judged
│   └── EndpointUnusable         refused key, unknown model, nobody answers: found before the first sample
└── SampleError                  one sample, one metric: recorded as `Unscored`, never raised past the engine
    ├── SystemFailed             the system under test raised or answered nonsense
    ├── JudgeUnavailable         the judge could not be reached, after the retries
    ├── JudgeUnparseable         the reply cannot be read, or ids are missing, after the re-asks
    ├── TimedOut                 one request or one sample took too long
    ├── WorkerLost               the process that made this sample ended, each time it was tried
    └── BudgetSpent              the budget ended before this sample

Anything that is not a `RagaugeError` is a bug and stops the run loudly.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from enum import StrEnum


class Reason(StrEnum):
    """Why a score is missing. Stable: these words stand in rows, summaries and gates."""

    # not applicable: the metric has nothing to measure on this sample
    NO_ANSWER = "no_answer"
    ABSTAINED = "abstained"
    NO_CLAIMS = "no_claims"
    NO_LABELS = "no_labels"
    NO_RELEVANT = "no_relevant"
    NO_REFERENCE = "no_reference"
    NO_CONTEXTS = "no_contexts"
    NO_CITATIONS = "no_citations"
    NO_KEYWORDS = "no_keywords"
    NOT_RETRIEVED = "not_retrieved"
    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"
    ANSWERABLE_UNKNOWN = "answerable_unknown"
    NO_COMPONENTS = "no_components"
    # error: it should have been scored and was not
    SYSTEM_FAILED = "system_failed"
    JUDGE_UNAVAILABLE = "judge_unavailable"
    JUDGE_UNPARSEABLE = "judge_unparseable"
    JUDGE_INCOMPLETE = "judge_incomplete"
    JUDGE_UNSUPPORTED = "judge_unsupported"
    TIMED_OUT = "timed_out"
    INVALID_SCORE = "invalid_score"
    WORKER_LOST = "worker_lost"
    # skipped: it was never tried
    MISSING_INPUT = "missing_input"
    BUDGET_SPENT = "budget_spent"
    NOT_SAMPLED = "not_sampled"


class RagaugeError(Exception):
    """Anything that we raise on purpose. `hint` says what to do next."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(RagaugeError):
    """You asked for something impossible (exit 2)."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting or a flag is unknown or has a wrong value."""


class UnknownName(UsageError):
    """A name that nothing answers to; the nearest known ones are offered."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = nearest(name, self.known)
        if near:
            hint = f"Did you mean {', '.join(repr(n) for n in near)}?"
        elif len(self.known) <= 40:
            hint = f"Known: {', '.join(self.known)}."
        else:
            hint = f"{len(self.known)} are known."
        super().__init__(f"unknown {kind} {name!r}", hint=hint)


class InputError(UsageError):
    """A file of the user's that cannot be read as what it should be.

    Says the file, the line (from 1), the field, what was found and what would be accepted.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        found: object = None,
        accepted: str = "",
        hint: str = "",
    ) -> None:
        self.problem, self.file, self.line = problem, file, line
        self.field, self.found, self.accepted = field, found, accepted
        self.problems: tuple[InputError, ...] = ()
        where = ":".join(str(part) for part in (file, line) if part is not None)
        text = f"{where}: {problem}" if where else problem
        if field is not None:
            text += f" (field {field!r}"
            text += f", found {shortened(found)})" if found is not None else ")"
        elif found is not None:
            text += f" (found {shortened(found)})"
        if accepted:
            text += f"; accepted: {accepted}"
        super().__init__(text, hint=hint)

    @classmethod
    def several(cls, problems: Sequence[InputError], *, unread: bool = False) -> InputError:
        """One error that lists `problems`, so that they can be mended in one go; a single one is returned as it is.

        `unread`: there may be more of them further on.
        """
        if len(problems) == 1 and not unread:
            return problems[0]
        first = problems[0]
        listed = "\n".join("  " + str(problem).replace("\n", "\n  ") for problem in problems)
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        error = cls(f"{count}{' (and perhaps more further on)' if unread else ''}\n{listed}", file=first.file)
        error.line, error.field, error.problems = first.line, first.field, tuple(problems)
        return error


class StoreError(UsageError):
    """A run directory, cache or table that cannot be used as it is."""


class NewerVersion(StoreError):
    """Written by a newer ragauge than this one."""


class DiskFull(StoreError):
    """The disk took no more bytes; what was finished is kept (exit 3: nothing that was asked for is wrong)."""

    exit_code = 3


class MissingExtra(UsageError):
    """An optional part is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        super().__init__(f"{what} is not installed", hint=f"Install it with: pip install 'ragauge[{extra}]'")


class RunError(RagaugeError):
    """The run could not finish, or could not be judged (exit 3)."""

    exit_code = 3


class EndpointUnusable(RunError):
    """An endpoint that cannot serve this run at all; found before the first sample."""


class SampleError(RagaugeError):
    """One sample could not be answered or judged. The engine records it as `Unscored(reason)`."""

    reason: Reason = Reason.SYSTEM_FAILED

    def __init__(self, message: str, *, hint: str = "", raw: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.raw = raw


class SystemFailed(SampleError):
    """The system under test raised, or answered something that is no answer."""

    reason = Reason.SYSTEM_FAILED


class JudgeUnavailable(SampleError):
    """The judge could not be reached, after the retries."""

    reason = Reason.JUDGE_UNAVAILABLE


class JudgeUnparseable(SampleError):
    """The judge's reply cannot be read, or ids are still missing, after the re-asks. `raw` keeps the reply."""

    reason = Reason.JUDGE_UNPARSEABLE


class JudgeIncomplete(JudgeUnparseable):
    """The reply was readable, but verdicts for some of the asked ids never came."""

    reason = Reason.JUDGE_INCOMPLETE


class JudgeUnsupported(SampleError):
    """This judge cannot do this task at all."""

    reason = Reason.JUDGE_UNSUPPORTED


class TimedOut(SampleError):
    """One request or one sample took longer than its time-out."""

    reason = Reason.TIMED_OUT


class WorkerLost(SampleError):
    """The process that made this sample ended without a word, each time it was tried."""

    reason = Reason.WORKER_LOST


class BudgetSpent(SampleError):
    """The budget ended before this sample could be judged."""

    reason = Reason.BUDGET_SPENT


def nearest(name: str, known: Sequence[str], n: int = 3) -> list[str]:
    """The known names that look most like `name`, best first; possibly none."""
    folded = {k.casefold(): k for k in known}
    hits = difflib.get_close_matches(name.casefold(), list(folded), n=n, cutoff=0.55)
    return [folded[hit] for hit in hits]


#: The message of a row that stands for a golden item without a recorded output; a note of the run counts these.
NOTHING_RECORDED = "nothing was recorded for this question"


def shortened(value: object, limit: int = 80) -> str:
    """`repr(value)` cut to about `limit` characters, for messages."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
