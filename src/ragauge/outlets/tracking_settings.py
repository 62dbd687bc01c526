"""The section `tracking:` of `ragauge.yaml`: where runs are logged besides disk.

    tracking:
      mlflow:
        uri: http://mlflow.example:5000     # default: sqlite:///mlflow.db beside the settings file
        experiment: search                  # default: ragauge
        traces: failures                    # auto | all | failures | sample:N | none
        tags: {team: search}

`tracking: {mlflow: {}}` takes all defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator

from ragauge.core.model import Model
from ragauge.engine.settings import fill_variables
from ragauge.outlets.settings_errors import explained

DEFAULT_URI, DEFAULT_EXPERIMENT = "sqlite:///mlflow.db", "ragauge"
_TRACES = re.compile(r"auto|all|failures|none|sample:[1-9][0-9]*")


class MlflowSettings(Model):
    """See the module. `traces` auto: all rows of a run of at most 200 rows, else those that fail (200 at most)."""

    uri: str = DEFAULT_URI
    experiment: str = Field(default=DEFAULT_EXPERIMENT, min_length=1)
    traces: str = "auto"
    tags: dict[str, str] = Field(default_factory=dict)
    report: bool = True

    @field_validator("traces")
    @classmethod
    def _known(cls, value: str) -> str:
        if not _TRACES.fullmatch(value):
            raise ValueError("give auto, all, failures, none or sample:N")
        return value

    @field_validator("uri")
    @classmethod
    def _no_files(cls, value: str) -> str:
        scheme = urlsplit(value).scheme if "://" in value else value.partition(":")[0] if value[:5] == "file:" else ""
        if scheme in ("", "file") and not value.startswith(("databricks", "${")):
            raise ValueError(
                "MLflow keeps no runs in folders any more; give sqlite:///mlflow.db or a server's address "
                "(an old folder: `mlflow migrate-filestore`)"
            )
        return value


class TrackingSettings(Model):
    """All of the section."""

    mlflow: MlflowSettings | None = None


def tracking_settings(section: Mapping[str, Any], base: Path, **flags: Any) -> MlflowSettings | None:
    """Where runs go, flags over the file; None where nothing is set. Variables are filled in, a relative SQLite file
    is one beside the settings file. Raises `SettingsError`.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    found: dict[str, Any] = dict(section)
    if not found and not given:
        return None
    below = found.get("mlflow")
    if below is None or isinstance(below, Mapping):
        found["mlflow"] = {**(below or {}), **given}
    try:
        settings = TrackingSettings.model_validate(fill_variables(found)).mlflow
    except ValidationError as error:
        raise explained(error, "tracking", TrackingSettings, MlflowSettings) from None
    if settings is None:
        return None
    return settings.model_copy(update={"uri": _absolute(settings.uri, base)})


def shown_uri(uri: str) -> str:
    """An address as it may be printed: without a password.

    >>> shown_uri("http://ada:secret@mlflow:5000")
    'http://ada:***@mlflow:5000'
    """
    return re.sub(r"(://[^/@:\s]*:)[^/@\s]+(@)", r"\1***\2", uri)


def sqlite_file(uri: str) -> Path | None:
    """The file of a SQLite address; None for any other."""
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


def _absolute(uri: str, base: Path) -> str:
    file = sqlite_file(uri)
    if file is None or file.is_absolute():
        return uri
    return f"sqlite:///{(base / file).resolve().as_posix()}"
