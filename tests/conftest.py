"""What every test may use."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A busy machine draws examples slowly, and counts that as a failure: it says nothing about what is tested.
settings.register_profile("ragauge", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ragauge")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with oracles and labelled data beside the repository; the test skips where it is absent."""
    if not (SHARED / "oracles").is_dir():
        pytest.skip("the folder ../shared (oracles, labelled data) is not beside this checkout")
    return SHARED


def _postgres_program(name: str) -> str | None:
    """`initdb` or `pg_ctl`: on PATH, or where distributions put it."""
    found = shutil.which(name)
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return found or next(map(str, places), None)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A private PostgreSQL server for this session, as an ordinary user; mark tests that use it `slow`."""
    initdb, pg_ctl = _postgres_program("initdb"), _postgres_program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("PostgreSQL is not installed: no initdb and pg_ctl on PATH or in /usr/lib/postgresql")
    pytest.importorskip("psycopg", reason="psycopg, which talks to PostgreSQL, is not installed (extra postgres)")
    folder = Path(tempfile.mkdtemp(prefix="ragauge-postgres-"))
    user: dict[str, object] = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        import pwd

        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"

    def run(*command: str) -> None:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, **user)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        run(initdb, "-D", str(data), "-U", "ragauge", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-locale")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c max_connections=200"
        run(pg_ctl, "-D", str(data), "-l", str(folder / "log"), "-o", options, "-w", "-t", "120", "start")
        try:
            yield f"postgresql://ragauge@127.0.0.1:{port}/postgres"
        finally:
            run(pg_ctl, "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def browser() -> str:
    """The program of a browser; the test skips where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)} is on PATH")
    return found


@pytest.fixture(scope="module")
def chromium(browser: str) -> Iterator[Any]:
    """One headless Chromium, driven by Playwright, for one module: its event loop bars `asyncio.run` elsewhere."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (group slow)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield started
        started.close()
