"""The one schema, assembled from its domains."""

from functools import cache
from typing import Any

import strawberry
from graphql import DirectiveLocation, GraphQLDirective, GraphQLInputObjectType, GraphQLSchema
from strawberry.schema.config import StrawberryConfig

# Processing and maintenance have no types of their own, but jobs and records.
from resolvers.background import processing
from resolvers.maintenance import jobs, visibility
from schema import accounts, analytics, cards, cms, genealogy, neighborhoods, notifications, search, social, webhooks
from schema.declare import nodes
from schema.declare.scalars import SCALARS
from schema.declare.types import assemble
from schema.execution.incremental.directives import DEFER, STREAM
from schema.live.live_directive import LIVE

WITHOUT_TYPES = (processing, jobs, visibility)
DOMAINS = (nodes, accounts, neighborhoods, cms, social, notifications, cards, genealogy, analytics, webhooks, search)


@cache
def build() -> strawberry.Schema:
    roots, types = assemble(DOMAINS)
    schema = strawberry.Schema(
        query=roots["Query"],
        mutation=roots["Mutation"],
        subscription=roots["Subscription"],
        types=types,
        config=StrawberryConfig(scalar_map=SCALARS),
    )
    _keep_introspection_readable(schema._schema)
    _mark_one_of(schema._schema)
    schema._schema.directives = (*schema._schema.directives, LIVE, DEFER, STREAM)
    return schema


def _mark_one_of(schema: GraphQLSchema) -> None:
    """Lets graphql-core validate @oneOf. Strawberry has a rule of its own for it, which is not in our validation."""
    for of_type in schema.type_map.values():
        if isinstance(of_type, GraphQLInputObjectType):
            of_type.is_one_of = of_type.extensions["strawberry-definition"].is_one_of


def _keep_introspection_readable(schema: GraphQLSchema) -> None:
    """graphql-js before 16.15 stops at a directive location it does not know, and with it most code generators."""
    schema.directives = tuple(map(_with_known_locations, schema.directives))


def _with_known_locations(directive: GraphQLDirective) -> GraphQLDirective:
    known = [location for location in directive.locations if location is not DirectiveLocation.DIRECTIVE_DEFINITION]
    described: dict[str, Any] = {**directive.to_kwargs(), "locations": tuple(known)}
    return GraphQLDirective(**described)


@cache
def sdl() -> str:
    """Returns the schema as text. Printing takes a while, so it is done once."""
    # Strawberry cannot declare the default that the specification of the directive has.
    return build().as_str().replace("(levels: [Int!])", "(levels: [Int!]! = [0])") + "\n"
