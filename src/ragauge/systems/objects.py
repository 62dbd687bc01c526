"""Objects of a user's own code, by name: `python:module:object`."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
from pathlib import Path
from typing import Any

from ragauge.errors import SettingsError, nearest


def import_object(name: str, form: str, *, what: str = "an object in a module", folder: Path | None = None) -> Any:
    """What `name` names (`python:module:object`; dots reach into objects), whatever it is.

    Modules are looked for as Python does, the working directory and `folder` first. `form` is how a name should be
    written and `what` it should be, for the message. `SettingsError` says which part of the name leads nowhere.
    """
    scheme, _, rest = name.partition(":")
    module_name, colon, path = (rest if scheme == "python" else name).partition(":")
    if not colon or not module_name or not path:
        raise SettingsError(f"{name!r} does not name {what}", hint=f"Write it as {form}.")
    for place in ([str(folder)] if folder is not None else []) + [os.getcwd()]:
        if place not in sys.path:
            sys.path.insert(0, place)
    found = _module(module_name, name)
    for part in path.split("."):
        if not hasattr(found, part):
            near = nearest(part, [one for one in dir(found) if not one.startswith("_")])
            hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else ""
            where = getattr(found, "__name__", module_name)
            raise SettingsError(f"{name!r}: there is no {part!r} in {where}", hint=hint)
        found = getattr(found, part)
    return found


def _module(module_name: str, name: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(missing + "."):
            raise SettingsError(
                f"there is no module {missing!r} to take {name!r} from",
                hint=f"Run from the folder that holds it (this one is {os.getcwd()}), or install it.",
            ) from error
        raise SettingsError(f"module {module_name!r} needs {missing!r}, which is not installed") from error
    except Exception as error:
        raise SettingsError(f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error


def made(found: Any, name: str) -> Any:
    """`found`, or what it makes when it is a function that takes nothing: an app is often built by one."""
    if not inspect.isfunction(found):
        return found
    needed = [
        one
        for one in inspect.signature(found).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if needed:
        return found
    try:
        return found()
    except Exception as error:
        raise SettingsError(f"{name}() raised {type(error).__name__}: {error}") from error


def source_digest(name: str) -> str:
    """SHA-256 of the source of the module that `name` names: it goes into a system's fingerprint."""
    module_name = name.removeprefix("python:").partition(":")[0]
    module = sys.modules.get(module_name)
    try:
        text = inspect.getsource(module) if module is not None else ""
    except (OSError, TypeError):  # compiled, or made at a prompt
        text = ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
