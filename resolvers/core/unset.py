"""The default of optional arguments: tells a field the caller left out from one set to null."""

from typing import Any

UNSET: Any = object()


def given(**arguments: Any) -> dict[str, Any]:
    """Returns the arguments that the caller did not leave out: the changes of an update."""
    return {name: value for name, value in arguments.items() if value is not UNSET}
