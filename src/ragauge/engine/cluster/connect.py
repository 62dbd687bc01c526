"""To Ray and back: start a private one, or find a cluster; say nothing, send nothing home, leave nothing behind."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from ragauge.core.environment import environment
from ragauge.engine.cluster import guard
from ragauge.engine.settings import Settings
from ragauge.errors import MissingExtra, RunError

#: How long an address may take to answer.
REACH_S = 5.0
_NAMESPACE = "ragauge"
#: For a Ray that we start: no statistics to its makers, no packing up of the project's folder.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_SCHEDULER_EVENTS": "0",
}


@dataclass(frozen=True)
class Address:
    """Which Ray: `url` None is a private one on this machine."""

    url: str | None

    @property
    def is_private(self) -> bool:
        """Whether it is started for the run and ends with it."""
        return self.url is None


def address_of(executor: str) -> Address:
    """`ray` → RAY_ADDRESS where that is set (as in a Ray job), otherwise private; `ray://…` → that cluster.

    >>> address_of("ray://head:10001"), address_of("ray://auto")
    (Address(url='ray://head:10001'), Address(url='auto'))
    """
    if executor == "ray":
        return Address(os.environ.get("RAY_ADDRESS") or None)
    url = executor.rstrip("/")
    return Address("auto" if url == "ray://auto" else url)


@contextmanager
def connected(address: Address, n_cpus: int) -> Iterator[str]:
    """Inside, Ray can be used; gives the namespace. One that was in use before is used and left as it is.

    `n_cpus`: how many workers a private Ray must have room for. Raises `MissingExtra`, `RunError`.
    """
    try:
        with environment(_QUIET if address.is_private else {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}):
            import ray
    except ImportError:
        raise MissingExtra("Ray", "ray") from None
    if ray.is_initialized():
        with _silence():
            yield _NAMESPACE
        return
    with ExitStack() as stack:
        stack.enter_context(environment(_QUIET if address.is_private else {}))
        stack.enter_context(_silence())
        stack.callback(ray.shutdown)
        if address.is_private:
            _start(ray, n_cpus, stack)
        else:
            _join(ray, str(address.url))
        yield _NAMESPACE


def on_ray(settings: Sequence[Settings]) -> Settings | None:
    """The first of these settings that is carried out on Ray."""
    return next((one for one in settings if one.run.executor != "local"), None)


@contextmanager
def kept_connected(settings: Settings | None) -> Iterator[None]:
    """Inside, the runs of a sweep find the Ray that `settings` name, instead of starting one each."""
    if settings is None:
        yield
        return
    with connected(address_of(settings.run.executor), settings.run.workers or 1):
        yield


def _start(ray: Any, n_cpus: int, stack: ExitStack) -> None:
    folder = tempfile.mkdtemp(prefix="ragauge-ray-", dir="/tmp" if os.path.isdir("/tmp") else None)  # short: sockets
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    stack.enter_context(_guarded(folder))
    stack.callback(ray.shutdown)  # once more, before its folder is taken away
    try:
        ray.init(
            address="local", num_cpus=max(n_cpus, os.cpu_count() or 1), include_dashboard=False, log_to_driver=False,
            configure_logging=False, namespace=_NAMESPACE, object_store_memory=128 * 2**20, _temp_dir=folder,
        )  # fmt: skip
    except Exception as error:
        raise RunError(f"Ray could not be started on this machine: {_first_line(error)}") from None


@contextmanager
def _guarded(folder: str) -> Iterator[None]:
    """Whatever becomes of this process, what Ray starts with its session in `folder` ends with it."""
    command = [sys.executable, "-I", guard.__file__, folder, str(os.getpid())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def _join(ray: Any, url: str) -> None:
    where = url if url.startswith("ray://") else f"a running cluster ({url})"
    hint = "Is it up? The address is ray://HOST:PORT of the head node's client server (10001), or ray://auto on a node."
    if url not in ("auto", "local"):
        _reach(url, hint)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say is in the error as well
            ray.init(address=url, namespace=_NAMESPACE, log_to_driver=False, configure_logging=False)
    except ImportError:
        raise MissingExtra("Ray's client", "ray") from None
    except Exception as error:
        if "RAY_AUTH_MODE" not in os.environ:
            hint += " If it asks for a token, set RAY_AUTH_MODE=token."
        raise RunError(f"Ray at {where} cannot be reached: {_first_line(error)}", hint=hint) from None


def _reach(url: str, hint: str) -> None:
    """Ray itself tries for half a minute and more; a closed port is known at once."""
    host, _, port = url.removeprefix("ray://").partition("/")[0].rpartition(":")
    if not host or not port.isdigit():
        raise RunError(f"Ray at {url} cannot be reached: the address has no port", hint=hint)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S).close()
    except OSError as error:
        what = error.strerror or str(error) or type(error).__name__
        raise RunError(f"Ray at {url} cannot be reached: {what}", hint=hint) from None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


@contextmanager
def _silence() -> Iterator[None]:
    """What Ray would print about workers that died: the driver deals with it. Errors of its own are still logged."""
    from ray._private import worker

    logger = logging.getLogger("ray")
    level, printer = logger.level, getattr(worker, "print_to_stdstream", None)
    logger.setLevel(logging.CRITICAL)
    if printer is not None:
        worker.print_to_stdstream = lambda *_, **__: None
    try:
        yield
    finally:
        logger.setLevel(level)
        if printer is not None:
            worker.print_to_stdstream = printer
