"""Settings as they go into a manifest: secrets struck out."""

from __future__ import annotations

import re
from typing import Any

#: A password in an address, unless it is a variable: postgresql://user:PASSWORD@host.
_PASSWORD = re.compile(r"(://[^/@:\s]*:)(?!\$\{)[^/@\s]+(@)")
_SECRET_WORDS = ("key", "token", "secret", "password", "authorization", "webhook", "slack", "apprise")


def shown_settings(settings: Any) -> dict[str, Any]:
    """The settings as they go into the manifest: variables not filled in, literal secrets struck out."""
    shown: dict[str, Any] = _struck(settings.model_dump(mode="json", exclude_defaults=True))
    return shown | {"base": str(settings.base)}


def _struck(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _struck(entry, key.lower()) for key, entry in value.items()}
    if isinstance(value, list):
        return [_struck(entry, name) for entry in value]
    if isinstance(value, str):
        value = _PASSWORD.sub(r"\1***\2", value)
    named = any(word in name for word in _SECRET_WORDS) and not name.endswith("_env")  # that is a variable's name
    secret = isinstance(value, str) and named and not value.startswith("${")
    return "***" if secret and name not in ("keywords",) else value
