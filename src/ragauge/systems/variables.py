"""Secrets of a system's settings: `${NAME}` is read from the environment, and never stands in what we write down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ragauge.errors import SettingsError

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
#: Header names whose values are no secrets when they are written out.
_PLAIN_HEADERS = frozenset(("accept", "accept-language", "content-type", "user-agent"))
#: A secret shorter than this is not looked for in texts: too much would be struck out.
_SHORTEST = 4


def fill_variables(value: Any) -> Any:
    """`${NAME}` inside strings replaced by the environment's value. Raises `SettingsError` for one that is not set."""
    if isinstance(value, str):
        return VARIABLE.sub(_variable, value)
    if isinstance(value, Mapping):
        return {key: fill_variables(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [fill_variables(entry) for entry in value]
    return value


def _variable(match: re.Match[str]) -> str:
    name = match.group(1)
    if name not in os.environ:
        raise SettingsError(f"the settings use ${{{name}}}, but the environment variable {name} is not set")
    return os.environ[name]


def secrets_in(value: Any) -> tuple[str, ...]:
    """The values of all variables that `value` (not filled in) names, longest first."""
    found: set[str] = set()
    if isinstance(value, str):
        found = {os.environ[name] for name in VARIABLE.findall(value) if os.environ.get(name)}
    elif isinstance(value, Mapping):
        found = {secret for entry in value.values() for secret in secrets_in(entry)}
    elif isinstance(value, list | tuple):
        found = {secret for entry in value for secret in secrets_in(entry)}
    return tuple(sorted((one for one in found if len(one) >= _SHORTEST), key=len, reverse=True))


_PASSWORD = re.compile(r"(://[^/@:\s]*:)[^/@\s]+(@)")
_KEYS = re.compile(r"\b(?:sk|pk|key|xai|gsk)-(?=[\w-]*\d)[\w-]{6,}|(?i:bearer\s+)[\w.~+/=-]{6,}")


def struck(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret, and whatever looks like an API key or a password in an address, replaced by `***`.

    >>> struck("401: key abcd1234 refused", ["abcd1234"])
    '401: key *** refused'
    >>> struck("postgresql://me:hunter2@host/db refused sk-abcdef123456", ())
    'postgresql://me:***@host/db refused ***'
    """
    for secret in secrets:
        text = text.replace(secret, "***")
    return _KEYS.sub("***", _PASSWORD.sub(r"\1***\2", text))


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they may be recorded: names of variables stay, values that were written out are struck out.

    >>> shown_headers({"Authorization": "Bearer ${TOKEN}", "X-Key": "abc", "Accept": "text/plain"})
    {'Authorization': 'Bearer ${TOKEN}', 'X-Key': '***', 'Accept': 'text/plain'}
    """
    return {
        name: value if VARIABLE.search(value) or name.casefold() in _PLAIN_HEADERS else "***"
        for name, value in headers.items()
    }
