"""Settings → the objects they name: the system under test and the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragauge.core.judge import Judge
from ragauge.core.system import System
from ragauge.engine.settings import Settings, fill_variables
from ragauge.errors import SettingsError
from ragauge.judges.factory import judge_from_settings
from ragauge.registry import load

#: Settings of systems that are paths: relative ones are taken from the settings file's folder.
_PATHS = ("corpus", "path", "file")
#: Where replies of language models are kept unless `judge.cache` says otherwise, beside the settings file.
REPLIES = ".ragauge/replies.sqlite"


def make_system(settings: Settings) -> System:
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
    for name in _PATHS:
        if isinstance(values.get(name), str):
            values[name] = str(Path(settings.path(values[name])))
    system: System = load("systems", kind)(values)
    return system


def make_judge(settings: Settings) -> Judge | None:
    """The judge that `judge:` names; None for `none`."""
    spec: Any = fill_variables(settings.judge)
    if spec in (None, "none", "None"):
        return None
    if spec == "embedded":
        judge: Judge = load("judges", "embedded")()
        return judge
    return judge_from_settings(spec, settings.path(REPLIES), seed=settings.run.seed, base=settings.base)
