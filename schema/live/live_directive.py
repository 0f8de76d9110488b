"""`@live`: the directive of queries whose answers follow the data."""

from typing import NamedTuple

from graphql import (
    DirectiveLocation,
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLDirective,
    GraphQLInt,
    GraphQLNonNull,
    OperationDefinitionNode,
    get_directive_values,
)
from graphql.execution.values import VariableValues

from schema.declare.errors import BadInput

THROTTLE = 250
LEAST_THROTTLE = 50
MOST_THROTTLE = 3_600_000

LIVE = GraphQLDirective(
    "live",
    [DirectiveLocation.QUERY],
    {
        "if": GraphQLArgument(
            GraphQLNonNull(GraphQLBoolean), default_value=True, description="False runs the query once."
        ),
        "throttle": GraphQLArgument(
            GraphQLNonNull(GraphQLInt),
            default_value=THROTTLE,
            description="Shortest time between two answers, in milliseconds, 50–3,600,000.",
        ),
        "patch": GraphQLArgument(
            GraphQLNonNull(GraphQLBoolean),
            default_value=False,
            description="True sends the first answer in full, and then JSON Patches (RFC 6902) of `data`.",
        ),
    },
    description="Sends the answer of the query, and a new one whenever something that it has read changes. "
    "Over server-sent events and WebSocket; elsewhere the query runs once.",
)


class LiveOptions(NamedTuple):
    """The arguments of the directive. `throttle` is in seconds."""

    throttle: float
    patch: bool


def live_options(node: OperationDefinitionNode, variables: VariableValues) -> LiveOptions | None:
    """Returns the arguments; None unless the operation is live. Raises BadInput."""
    values = get_directive_values(LIVE, node, variables)
    if values is None or not values["if"]:
        return None
    throttle = values["throttle"]
    if not LEAST_THROTTLE <= throttle <= MOST_THROTTLE:
        raise BadInput(f"`throttle` is {throttle}; it goes from {LEAST_THROTTLE} to {MOST_THROTTLE:,} milliseconds")
    return LiveOptions(throttle / 1000, values["patch"])
