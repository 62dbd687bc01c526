"""MLflow for as long as we need it: no telemetry, quiet, few retries; whatever the process had set is put back."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ragauge.core.environment import environment
from ragauge.errors import MissingExtra, RunError
from ragauge.outlets.tracking_settings import MlflowSettings, shown_uri, sqlite_file

#: How long a server may take to take a connection.
CONNECT_S = 5.0
#: MLflow's own defaults wait for many minutes.
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3", "MLFLOW_HTTP_REQUEST_TIMEOUT": "60"}
_SILENCE = {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}
_LOGGERS = ("mlflow", "alembic")


@dataclass(frozen=True)
class Session:
    """MLflow's module, a client, and the experiment that runs go to."""

    mlflow: Any
    client: Any
    experiment: str
    uri: str

    def address(self, run: str) -> str | None:
        """Where people can look at a run; None where no server is."""
        if not self.uri.startswith(("http://", "https://")):
            return None
        return f"{shown_uri(self.uri).rstrip('/')}/#/experiments/{self.experiment}/runs/{run}"


@contextmanager
def session(settings: MlflowSettings) -> Iterator[Session]:
    """Connect. Raises `RunError` when nobody answers, `MissingExtra` when MLflow is not installed."""
    _reachable(settings.uri)
    mlflow = load_mlflow()
    added = {name: value for name, value in (_PATIENCE | _SILENCE).items() if name not in os.environ}
    levels = {name: logging.getLogger(name).level for name in _LOGGERS}
    before = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with environment(added), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mlflow.set_tracking_uri(settings.uri)
            client = mlflow.MlflowClient(tracking_uri=settings.uri)
            yield Session(mlflow, client, _experiment(client, settings), settings.uri)
    finally:
        mlflow.set_tracking_uri(before)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def load_mlflow() -> Any:
    """The module, with its telemetry off: it decides on that when it is imported."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["DO_NOT_TRACK"] = "true"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import mlflow
    except ImportError as error:
        raise MissingExtra("MLflow", "mlflow") from error
    try:
        from mlflow.telemetry import set_telemetry_client
    except ImportError:  # a version without telemetry
        return mlflow
    set_telemetry_client()  # it was imported by somebody else, and perhaps tells: not while we use it
    return mlflow


def _experiment(client: Any, settings: MlflowSettings) -> str:
    found = client.get_experiment_by_name(settings.experiment)
    if found is not None:
        if found.lifecycle_stage != "active":
            raise RunError(
                f"the experiment {settings.experiment!r} was deleted in MLflow",
                hint="Restore it there, or name another one (tracking.mlflow.experiment).",
            )
        return str(found.experiment_id)
    file = sqlite_file(settings.uri)
    # MLflow would put artifacts into the folder that this process happens to run in.
    place = (file.parent / "mlartifacts" / settings.experiment).resolve().as_uri() if file is not None else None
    try:
        return str(client.create_experiment(settings.experiment, artifact_location=place))
    except Exception:
        again = client.get_experiment_by_name(settings.experiment)  # somebody else made it just now
        if again is None:
            raise
        return str(again.experiment_id)


def _reachable(uri: str) -> None:
    """Say at once that nobody is there: MLflow would try for minutes."""
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        return
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout=CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise RunError(f"nobody answers at {shown_uri(uri)}: {error}") from None
