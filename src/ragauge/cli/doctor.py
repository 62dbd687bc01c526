"""`ragauge doctor`: what is installed, what works here, what to install."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragauge.cli.common import emit_json, json_option

if TYPE_CHECKING:
    from ragauge.report.doctor import Check, State

#: Extra → the modules that it brings, and what it is for.
EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "reference": (("qdrant_client", "bm25s"), "the built-in pipeline"),
    "parquet": (("pyarrow",), "Parquet files"),
    "pandas": (("pandas",), "to_pandas()"),
    "huggingface": (("datasets",), "Hugging Face Dataset objects"),
    "http": (("httpx2", "jsonpath"), "a system behind HTTP, or a program with a field mapping"),
    "langchain": (("langchain_core",), "LangChain objects"),
    "llamaindex": (("llama_index",), "LlamaIndex objects"),
    "haystack": (("haystack",), "Haystack pipelines"),
    "mcp": (("mcp",), "a tool of an MCP server"),
}
#: Modules whose distribution has another name.
_DISTRIBUTIONS = {"jsonpath": "python-jsonpath", "llama_index": "llama-index-core", "haystack": "haystack-ai"}
#: Environment variables that something may need; only whether they are set is shown.
VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT")


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Check this installation. Exits with 2 when the core does not work."""
    from ragauge.report.doctor import DoctorDocument

    checks = [_core(), *(_extra(name) for name in EXTRAS), *_works(), _space(), _keys()]
    failed = [check for check in checks if check.state == "broken"]
    if as_json:
        emit_json(DoctorDocument(ok=not failed, checks=tuple(checks)).model_dump(mode="json"))
    else:
        marks = {"ok": "✓", "missing": "·", "broken": "✗", "info": " "}
        for check in checks:
            click.echo(f"{marks[check.state]} {check.name:<24}{check.detail}")
            if check.hint:
                click.echo(f"  {'':<24}{check.hint}")
    return 2 if failed else 0


def _check(name: str, state: State, detail: str, hint: str = "") -> Check:
    from ragauge.report.doctor import Check

    return Check(name=name, state=state, detail=detail, hint=hint)


def _core() -> Check:
    from ragauge._version import __version__

    return _check("ragauge", "ok", f"{__version__} on Python {platform.python_version()}, {platform.system()}")


def _extra(name: str) -> Check:
    modules, what = EXTRAS[name]
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        return _check(f"extra {name}", "missing", f"not installed ({what})", f"pip install 'ragauge[{name}]'")
    versions = ", ".join(f"{module} {_version(module)}" for module in modules)
    return _check(f"extra {name}", "ok", versions)


def _version(module: str) -> str:
    try:
        return version(_DISTRIBUTIONS.get(module, module.replace("_", "-")))
    except PackageNotFoundError:
        return "?"


def _works() -> list[Check]:
    return [
        _tried("embedder", _embed),
        _tried("embedded judge", _judge),
        _tried("metrics", _metrics),
    ]


def _tried(name: str, attempt: Callable[[], str]) -> Check:
    try:
        return _check(name, "ok", attempt())
    except Exception as error:
        # A doctor reports whatever is wrong, of whatever kind, and goes on to the next check.
        return _check(name, "broken", f"{type(error).__name__}: {error}", "Reinstall ragauge.")


def _embed() -> str:
    from ragauge.embeddings import load

    embedder = load()
    vector = embedder.encode(["hello"])[0]
    return f"{embedder.name}, {len(vector)} dimensions"


def _judge() -> str:
    from ragauge.registry import load

    info = load("judges", "embedded")().info()
    return f"version {info.version}; {info.agreement or 'agreement with people not measured'}"


def _metrics() -> str:
    from ragauge.registry import load, names

    found = names("metrics")
    for name in found:
        load("metrics", name)
    return f"{len(found)} installed"


def _space() -> Check:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    state: State = "ok" if free > 1 else "broken"
    writable = os.access(Path.cwd(), os.W_OK)
    return _check(
        "this folder",
        state if writable else "broken",
        f"{free:.1f} GB free" + ("" if writable else ", not writable"),
        "" if state == "ok" and writable else "Runs are written to runs/ here: name another place with --out.",
    )


def _keys() -> Check:
    found = [name for name in VARIABLES if os.environ.get(name)]
    return _check("model keys", "info", ", ".join(f"{name} is set" for name in found) or "none set (none is needed)")
