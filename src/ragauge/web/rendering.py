"""Templates to answers: everything that is somebody's text is escaped, and what cannot be seen is written out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse

from ragauge.report.templating import make_environment
from ragauge.text.normalise import clean, display
from ragauge.web.drawing import tools
from ragauge.web.navigation import ITEMS
from ragauge.web.state import state_of

if TYPE_CHECKING:
    from jinja2 import Environment

#: What a page may say at its top after a form was sent: the address holds only the name.
SAID = {
    "queued": "It is in the review queue now.",
    "queued-before": "It was in the review queue already.",
    "saved": "Saved.",
    "undone": "Taken back: it is before you again.",
    "nothing-to-undo": "There is nothing of yours to take back.",
    "skipped": "Skipped: it goes to others.",
    "calibrated": "Calibrated with the labels as they are now.",
    "filled": "Added to the queue.",
    "promoted": "The golden draft is written.",
    "nothing-new": "Nothing new for the golden draft.",
}


def page(request: Request, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """The page that `template` makes of `values`. `title` is what the browser's tab says, `here` the screen's name."""
    state = state_of(request)
    text = (
        environment()
        .get_template(template)
        .render(
            request_path=request.url.path,
            navigation=ITEMS,
            csrf=request.scope.get("ragauge.csrf", ""),
            signed_in=state.settings.token is not None,
            said=SAID.get(request.query_params.get("said", ""), ""),
            **{"title": "", "here": "", **values},
        )
    )
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


@cache
def environment() -> Environment:
    """The page's templates."""
    made = make_environment("ragauge.web", "ragauge.report")
    made.globals.update(breakable=breakable, static=static, link=link, **tools())
    return made


def breakable(name: str) -> Any:
    """A metric's name as HTML that may break at its joints.

    >>> breakable("hit_rate@5:<b>")
    Markup('hit_<wbr>rate@<wbr>5:<wbr>&lt;b&gt;')
    """
    from markupsafe import Markup, escape

    parts = re.split(r"(?<=[_@:])", display(clean(name)))
    return Markup("<wbr>").join(escape(part) for part in parts)


@cache
def static(name: str) -> str:
    """The address of a file of ours; it changes with the file, so that browsers may keep it."""
    data = files("ragauge.web").joinpath("static", name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(data).hexdigest()[:10]}"


def link(*parts: str, **query: Any) -> str:
    """An address of ours: path segments and a query, everything encoded; what is None or empty is left out.

    >>> link("runs", "a/b", "row", id="x&y", tag=None)
    '/runs/a%2Fb/row?id=x%26y'
    """
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    asked = with_query(query)
    return f"{path}?{asked}" if asked else path


def with_query(query: Mapping[str, Any]) -> str:
    """A query string of what is there."""
    listed = ((name, value if isinstance(value, list | tuple) else (value,)) for name, value in query.items())
    pairs = [(name, str(one)) for name, values in listed for one in values if one is not None and one != ""]
    return urlencode(pairs, errors="replace")
