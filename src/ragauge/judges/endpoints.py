"""From settings to a model's API: the address, the key from its variable, the client."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from ragauge.core.provider import Endpoint, Provider
from ragauge.errors import SettingsError
from ragauge.judges.judge_settings import JudgeSettings

Environment = Mapping[str, str]

#: Where each kind of endpoint finds its key.
KEYS = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
AZURE_ENDPOINT = "AZURE_OPENAI_ENDPOINT"
AZURE_VERSION = "2024-10-21"
_PLACED = re.compile(r"(.*?)@([a-z][a-z0-9+.-]{0,20}://.*)", re.DOTALL)


def endpoint_of(settings: JudgeSettings, environment: Environment | None = None) -> Endpoint:
    """Which model, where. Needs no key."""
    variables = os.environ if environment is None else environment
    model, base_url = settings.model, settings.base_url
    if settings.kind == "compatible":
        if placed := _PLACED.fullmatch(model):
            model, base_url = placed[1], placed[2]
        if not base_url or not model:
            raise SettingsError(
                f"judge: {settings.name!r} does not say where the model is",
                hint="Write it as compatible:NAME@http://host:port/v1.",
            )
    if settings.kind == "azure":
        base_url = base_url or variables.get(AZURE_ENDPOINT)
        if not base_url:
            raise SettingsError(
                f"judge: {settings.name} needs the address of your Azure resource",
                hint=f"Set the variable {AZURE_ENDPOINT}, or `base_url`.",
            )
    if base_url is not None:
        base_url = _checked(base_url, settings.name)
    options = []
    if settings.kind == "azure":
        options.append(("api_version", settings.api_version or AZURE_VERSION))
    if settings.reasoning_effort is not None:
        options.append(("reasoning_effort", settings.reasoning_effort))
    if settings.mode is not None:
        options.append(("mode", settings.mode))
    return Endpoint(settings.kind, model, base_url, tuple(options))


def _checked(url: str, name: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(
            f"judge: the address of {name.partition('@')[0]} is not a URL", hint="It starts with http:// or https://."
        )
    if parts.username or parts.password:
        raise SettingsError("judge: the address holds a password", hint="Keys belong in environment variables.")
    return url.rstrip("/")


def base_provider(settings: JudgeSettings, endpoint: Endpoint, environment: Environment | None = None) -> Provider:
    """The API itself, without anything around it. A missing key is a `SettingsError` that names the variable."""
    if settings.kind == "python":
        return _python(settings, endpoint)
    key = _key(settings, endpoint, os.environ if environment is None else environment)
    # The client's own time-out only catches what the wrapper's did not.
    longest = settings.timeout_s + 30
    if settings.kind == "anthropic":
        from ragauge.judges.providers.anthropic import AnthropicProvider

        return AnthropicProvider(endpoint, key, settings.mode, longest)
    if settings.client == "raw" and settings.kind in ("openai", "compatible"):
        from ragauge.judges.providers.raw import RawProvider

        return RawProvider(endpoint, key, settings.mode, longest)
    from ragauge.judges.providers.openai import OpenAIProvider

    version = dict(endpoint.options).get("api_version")
    return OpenAIProvider(endpoint, key, version, settings.mode, longest)


def _key(settings: JudgeSettings, endpoint: Endpoint, variables: Environment) -> str:
    variable = settings.api_key_env or KEYS.get(settings.kind)
    if variable is None:
        return "none"  # a server of one's own that asks for no key; the clients insist on some
    key = variables.get(variable, "").strip()
    if not key:
        raise SettingsError(f"{endpoint.label} needs a key: the variable {variable} is not set")
    return key


def _python(settings: JudgeSettings, endpoint: Endpoint) -> Provider:
    from ragauge.judges.providers.python import PythonProvider

    module, _, name = settings.model.rpartition(":")
    if not module:
        raise SettingsError(f"judge: {settings.name!r} is not python:module:function")
    here = os.getcwd()
    if here not in sys.path:  # as for a system: the module beside the settings
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
    except Exception as problem:
        told = str(problem) if isinstance(problem, ImportError) else f"{type(problem).__name__}: {problem}"
        raise SettingsError(
            f"judge: the module {module!r} cannot be imported: {told}",
            hint=f"Run from the folder that holds it (this one is {here}), or install it."
            if isinstance(problem, ModuleNotFoundError)
            else "",
        ) from problem
    function = getattr(found, name, None)
    if function is None:
        raise SettingsError(f"judge: the module {module!r} has no {name!r}")
    if not callable(function):
        raise SettingsError(f"judge: {settings.model} is not a function")
    return PythonProvider(endpoint, function)
