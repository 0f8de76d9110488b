"""What every GraphQL resolver finds in `info.context`."""

from dataclasses import dataclass, field
from typing import Any

from resolvers.core.context import Context
from schema.declare.cursors import Cursors


@dataclass
class RequestContext(Context):
    """A command's context, and what the graph needs besides."""

    cursors: Cursors
    operation: str | None = None
    # Whether the compiled plan alone made the answer.
    compiled: bool = False
    # What came of the commands of this request, by their keys in the answer.
    outcomes: dict[str, Any] = field(default_factory=dict)
