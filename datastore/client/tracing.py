"""Interface of traces to the data path. Without a trace, `Usage.trace` is None and nothing is measured."""

from typing import Any, Protocol


class Span(Protocol):
    """A timed part of a request."""

    def end(self, **attributes: Any) -> None:
        """Ends the span. `error` is the class of the error that ended it, if any."""


class Trace(Protocol):
    """The trace of one request. Calls belong to the level that began last, if it has not ended."""

    def level(self, reads: str, keys: int) -> Span:
        """Begins a level of a plan, which reads so many keys or pages."""

    def call(self, operation: str) -> Span:
        """Begins a DynamoDB call."""
