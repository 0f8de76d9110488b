"""Lookups by one of several unique values."""

from types import SimpleNamespace
from typing import Annotated

import pytest
from graphql import GraphQLInputObjectType
from typing_extensions import Doc

from datastore.accounts import User
from datastore.cms import Tenant
from datastore.model.keys import Range
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.core.access import EVERYONE, Access, AccessRelation, AccessRole, access
from resolvers.core.problems import Refused
from schema.build import build
from schema.declare.lookups import lookup
from tests.support.graph import id_of, viewer_of

USER = "query ($by: UserBy!) { user(by: $by) { username } }"
DID = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"


@pytest.mark.parametrize(
    ("by", "calls"),
    [
        ({"id": "VXNlciNpZC1hZGE"}, {"GetItem": 1}),
        ({"databaseId": "id-ada"}, {"GetItem": 1}),
        ({"username": " ADA "}, {"Query": 1}),
    ],
)
async def test_a_record_is_found_by_each_of_its_unique_values(graph, by, calls):
    await graph.add_user("ada")

    asked = await graph.ask(USER, by=by)

    assert asked.data == {"user": {"username": "ada"}}
    assert asked.calls == calls


async def test_a_did_is_a_database_id(graph):
    user = await graph.add_user("ada", user_id=DID)

    asked = await graph.ask(USER, by={"databaseId": DID})
    by_id = await graph.ask(USER, by={"id": id_of(user)})

    assert asked.data == by_id.data == {"user": {"username": "ada"}}


async def test_only_those_who_may_see_an_email_address_find_a_user_by_it(graph):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")

    found = [await graph.ask(USER, viewer, by={"email": ada.email}) for viewer in (viewer_of(ada), viewer_of(bob))]

    assert [asked.data["user"] for asked in found] == [{"username": "ada"}, None]


def test_what_all_ways_require_is_required_by_id_too():
    @access(requires=AccessRole.BUILDER)
    def by_email(*, email: Annotated[str, Doc("Email address.")]) -> Range[User]:
        """The user."""
        raise NotImplementedError

    @access(only=(AccessRelation.SELF,))
    def by_username(*, username: Annotated[str, Doc("Username.")]) -> Range[User]:
        """The user."""
        raise NotImplementedError

    one_way, two_ways = lookup(by_email), lookup(by_email, by_username)

    assert one_way.access == Access(requires=AccessRole.BUILDER)
    assert one_way.description == "The user with this unique value, or null. Requires the `builder` role."
    assert two_ways.access == EVERYONE
    assert two_ways.ways["username"].access == Access(only=(AccessRelation.SELF,))
    with pytest.raises(Refused):
        next(one_way.resolve([None], SimpleNamespace(viewer=ANONYMOUS), {}))


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"id": "id-ada"}, "'id-ada' is not an id; use the field `id` of something this API returned"),
        ({"id": "UG9zdCN4"}, "'UG9zdCN4' is an id of type Post; send one of type User"),
        (
            {"databaseId": "VXNlciNpZC1hZGE"},
            "'VXNlciNpZC1hZGE' is an id, not a databaseId; look it up with `by: {id: …}`",
        ),
    ],
)
async def test_the_wrong_kind_of_id_is_an_error(graph, by, message):
    asked = await graph.ask(USER, by=by)

    assert asked.body["data"] == {"user": None}
    assert (asked.error["message"], asked.error["path"]) == (message, ["user"])
    assert asked.calls == {}


@pytest.mark.parametrize("by", [{}, {"username": "ada", "databaseId": "id-ada"}, {"username": None}])
async def test_a_lookup_takes_exactly_one_value(graph, by):
    asked = await graph.ask(USER, by=by)

    assert asked.body.get("data") is None
    assert asked.calls == {}


@pytest.mark.parametrize("values", [{}, {"name": None}])
async def test_a_lookup_by_a_variable_without_a_value_is_an_error(graph, values):
    await graph.add_user("ada")
    query = 'query ($name: String) { user(by: {username: $name}) { id } ada: user(by: {username: "ada"}) { username } }'
    message = "the variable $name has no value; send one for the field 'username' of UserBy"

    asked = await graph.ask(query, **values)

    assert asked.body["data"] == {"user": None, "ada": {"username": "ada"}}
    assert asked.error["path"] == ["user"]
    assert asked.error["message"] == f"Argument 'by' has an invalid value: {message}"


async def test_without_by_the_tenant_is_that_of_the_request(graph):
    for name in ("acme", "other"):
        await graph.table.put(Tenant(tenant_id=name, name=name))
    query = '{ tenant { name } other: tenant(by: {databaseId: "other"}) { name } }'

    asked = await graph.ask(query, Viewer(tenant_id="acme"))

    assert asked.data == {"tenant": {"name": "acme"}, "other": {"name": "other"}}


def test_every_type_that_is_looked_up_is_looked_up_in_the_same_way():
    query = build()._schema.query_type
    lookups = {name: field for name, field in query.fields.items() if "by" in field.args}
    by_other_ids = [name for name, field in query.fields.items() if "id" in field.args]

    for field in lookups.values():
        of_type = field.args["by"].type
        of_type = getattr(of_type, "of_type", of_type)
        assert isinstance(of_type, GraphQLInputObjectType)
        assert (of_type.is_one_of, of_type.name) == (True, f"{field.type.name}By")
        assert {"id"} < set(of_type.fields)
    assert by_other_ids == ["node"]
    assert {"user", "tree", "person", "content", "product", "neighborhood", "site"} < set(lookups)
