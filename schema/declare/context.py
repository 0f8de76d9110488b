"""The `info.context` of GraphQL resolvers."""

from dataclasses import dataclass, field
from typing import Any

from resolvers.core.context import Context
from schema.declare.cursors import Cursors
from schema.declare.errors import Outcome
from schema.declare.idempotency import IdempotencyKey


@dataclass
class RequestContext(Context):
    """A command's context, with the additions of the executors."""

    cursors: Cursors
    operation: str | None = None
    # The predicted cost of the operation, known before anything is read.
    cost: int = 0
    # True if all fields have been executed.
    executed: bool = False
    # True if the compiled plan alone produced the response.
    compiled: bool = False
    # The class of the exception that ended the plan, if it was unexpected.
    plan_failure: str | None = None
    # The compiled plan, for the log of slow operations.
    plan: Any = None
    # Payloads or errors of the commands that have run, by response key.
    payloads: dict[str, Any] = field(default_factory=dict)
    # Whether these commands changed anything, by response key.
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    idempotency_key: IdempotencyKey | None = None
    # What the field of a subscription does in this run: `schema.declare.appended`.
    listening: Any = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of a mutation without a response, in whole. Exact if all its commands ended in the same way."""
        known = {*self.outcomes.values()}
        if self.executed and len(known) == 1:
            return known.pop()
        may_have_applied = any(outcome is not Outcome.NOT_APPLIED for outcome in self.outcomes.values())
        return Outcome.UNKNOWN if may_have_applied or self.load.may_have_applied else Outcome.NOT_APPLIED
