"""The default of optional arguments: tells a field the caller left out from one set to null."""

from typing import Any

UNSET: Any = object()
