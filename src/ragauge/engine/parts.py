"""Settings → the objects they name: the system under test, the judge, and what their models share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ragauge.core.judge import Judge
from ragauge.core.system import System
from ragauge.engine.settings import Settings, fill_variables
from ragauge.errors import SettingsError
from ragauge.judges.factory import judge_from_settings
from ragauge.judges.judge_settings import EMBEDDED, ENCODER, read_settings
from ragauge.judges.models import model_for
from ragauge.judges.surroundings import Surroundings, split_spec, surroundings
from ragauge.registry import load

#: Settings of systems that are paths: relative ones are taken from the settings file's folder.
_PATHS = ("corpus", "path", "file")
#: Where replies of language models are kept unless `judge.cache` says otherwise, beside the settings file.
REPLIES = ".ragauge/replies.sqlite"


class Shared:
    """What the models of a run share, judge and system alike, made when the first of them needs it.

    `dry`: nothing is sent or written, calls are only added up. `change`: what one worker of several must have in
    common with the others is put in by it.
    """

    def __init__(
        self, settings: Settings, *, dry: bool = False, change: Callable[[Surroundings], Surroundings] | None = None
    ) -> None:
        self._settings, self.dry, self._change = settings, dry, change
        self._made: Surroundings | None = None

    @property
    def made(self) -> Surroundings | None:
        """What has been made so far."""
        return self._made

    def get(self) -> Surroundings:
        """One cache, one budget, one limiter for each endpoint."""
        if self._made is None:
            settings = self._settings
            _, shared = split_spec(fill_variables(settings.judge))
            self._made = surroundings(
                shared, settings.path(REPLIES), seed=settings.run.seed, base=settings.base, dry=self.dry
            )
            if self._change is not None:
                self._made = self._change(self._made)
        return self._made


def make_system(settings: Settings, shared: Shared | None = None) -> System:
    """The system that `system:` names. The reference pipeline reads `corpus:` unless it has its own."""
    kind, values = settings.system_kind()
    values = fill_variables(values)
    if kind == "reference" and "corpus" not in values:
        if settings.corpus is None:
            raise SettingsError(
                "the reference pipeline needs a corpus",
                hint="Set `corpus:` to a folder of .md, .txt, .rst or .html files.",
            )
        values["corpus"] = settings.corpus
    if kind == "reference" and settings.profile == "code":
        values.setdefault("keep_code", True)
    for name in _PATHS:
        if isinstance(values.get(name), str):
            values[name] = str(Path(settings.path(values[name])))
    build = load("systems", kind)
    if kind != "reference":
        wanted = inspect.signature(build).parameters
        more: dict[str, Any] = {"base": settings.base, "shown": settings.system_kind()[1]}
        system: System = build(values, **{name: given for name, given in more.items() if name in wanted})
        return system
    own = shared or Shared(settings)
    reference: System = build(values, model_for=lambda spec: model_for(own.get())(spec))
    return reference


def make_judge(settings: Settings, shared: Shared | None = None) -> Judge | None:
    """The judge that `judge:` names; None for `none`. With `profile: code` exact names are checked after it."""
    judge = _named_judge(settings, shared)
    if judge is None or settings.profile != "code":
        return judge
    from ragauge.judges.exact.judge import ExactNames

    return ExactNames(judge)


def _named_judge(settings: Settings, shared: Shared | None) -> Judge | None:
    spec: Any = fill_variables(settings.judge)
    who, _ = split_spec(spec)
    name = who.get("name") if isinstance(who, dict) else who
    if name in (None, "none") and not (isinstance(who, dict) and "jury" in who):
        return None
    if name == EMBEDDED:
        if isinstance(who, dict):
            read_settings(who)
        judge: Judge = load("judges", EMBEDDED)()
        return judge
    around = None if name == ENCODER else (shared or Shared(settings)).get()
    return judge_from_settings(spec, settings.path(REPLIES), around=around)
