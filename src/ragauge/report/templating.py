"""Jinja as we use it: everything escaped, control and direction characters written out, nothing undefined."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ragauge.errors import MissingExtra
from ragauge.text.normalise import clean, display

if TYPE_CHECKING:
    from jinja2 import Environment


def make_environment(*packages: str) -> Environment:
    """An environment whose templates stand in the folder `templates` of `packages`, the first one that has it.

    Raises `MissingExtra` without Jinja.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtra("Jinja2, which writes HTML,", "report") from error

    def shown(value: Any) -> Any:
        return display(clean(value)) if isinstance(value, str) and not isinstance(value, Markup) else value

    def load(name: str) -> str | None:
        for package in packages:
            file = files(package).joinpath("templates", name)
            if file.is_file():
                return file.read_text(encoding="utf-8")
        return None

    return Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
