"""What every GraphQL resolver finds in `info.context`."""

from dataclasses import dataclass

from resolvers.context import Context
from schema.cursors import Cursors


@dataclass
class RequestContext(Context):
    """A command's context, and what the graph needs besides."""

    cursors: Cursors
    operation: str | None = None
