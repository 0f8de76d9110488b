"""Services of the process that jobs and processors may ask for, by the types of their parameters."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_type_hints

from resolvers.background.mail import Mail
from resolvers.background.webhook_sender import WebhookSender
from resolvers.core.options import Options

TYPES: tuple[type, ...] = (Mail, Options, WebhookSender)

Tools = Mapping[type, Any]
"""The services, by type."""


def tools(*services: object) -> Tools:
    return {type(each): each for each in services}


def asked_for(function: Callable[..., Any], given: Tools) -> dict[str, Any]:
    """Returns the services that a function takes, by the names of its parameters."""
    return {name: given[kind] for name, kind in _parameters(function).items()}


@cache
def _parameters(function: Callable[..., Any]) -> dict[str, type]:
    return {name: hint for name, hint in get_type_hints(function).items() if hint in TYPES and name != "return"}
