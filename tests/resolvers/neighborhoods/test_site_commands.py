"""Making a site: what can be made, what is refused, and what it costs."""

import base64
import random

import orjson
import pytest

from datastore.model.times import now
from datastore.neighborhoods import NeighborhoodSettings, Site
from loaders.viewer import ANONYMOUS
from resolvers.neighborhoods.constraints import RESERVED_SUBDOMAINS
from resolvers.neighborhoods.edges import subdomain_guard
from resolvers.neighborhoods.site_commands import Config
from tests.resolvers.neighborhoods.test_site_edges import BUILDER
from tests.support.graph import Graph, id_of, mutation, problem, viewer_of
from tests.support.social import minute

CREATE = mutation("createSite", "site { databaseId config owner { username } neighborhood { name } }")

NEW = {"title": "My blog", "template": "blog", "subdomain": "my-blog"}
SHAPE = "a subdomain is 3 to 63 letters a-z, digits and single dashes between them"
NAME = "this is 1 to 40 letters a-z, digits and dashes, with a letter or digit at each end"
NO_OBJECT = "this must be an object, such as {}"
NOT_KEPT = "this cannot be stored: a number has more than 64 bits, or it is nested too deep"
NO_ACCOUNT = problem("NOT_FOUND", "there is no open account for this token")
UNAUTHENTICATED = problem("UNAUTHENTICATED", "sign in first: send `Authorization: Bearer <token>`")


async def in_table(graph: Graph, kind: str) -> list[dict]:
    return [item for item in await graph.items() if item["entityType"]["S"] == kind]


async def subdomains(graph: Graph) -> dict[str, str]:
    """All that are taken, and by which site."""
    guards = [item for item in await in_table(graph, "Unique") if item["kind"]["S"] == "subdomain"]
    return {guard["value"]["S"]: guard["ownerId"]["S"] for guard in guards}


async def nothing_was_made(graph: Graph) -> bool:
    return not await subdomains(graph) and not await in_table(graph, "Site")


async def who_has(graph: Graph, subdomain: str) -> str | None:
    guard = await graph.table.get(subdomain_guard(subdomain), consistent=True)
    return guard and guard.owner_id


def of_bytes(size: int, text: str = "x") -> dict:
    """A config that takes exactly as many bytes."""
    return {"text": text * ((size - len('{"text":""}')) // len(text.encode()))}


async def test_making_a_site(graph, town):
    ada = await town.person("ada")

    asked = await graph.ask(CREATE, viewer_of(ada), input={**NEW, "config": {"author": "Ada"}})

    payload = asked.data["createSite"]
    site_id = payload["site"]["databaseId"]
    assert payload["problems"] == []
    assert payload["site"] == {
        "databaseId": site_id,
        "config": {"author": "Ada"},
        "owner": {"username": "ada"},
        "neighborhood": None,
    }
    assert asked.calls == {"TransactWriteItems": 1, "GetItem": 1}
    site = await graph.table.get(Site.key(user_id="id-ada", site_id=site_id))
    times = {"created_at": site.created_at, "updated_at": site.updated_at}
    assert site == Site(user_id="id-ada", site_id=site_id, **NEW, config={"author": "Ada"}, **times)
    assert await who_has(graph, "my-blog") == site_id


async def test_what_is_sent_is_tidied_up(graph, town):
    ada = await town.person("ada")

    await graph.command(CREATE, viewer_of(ada), title=" My blog ", template=" BLOG ", subdomain=" My-Blog ")

    (item,) = await in_table(graph, "Site")
    assert [item[name]["S"] for name in ("title", "template", "subdomain", "config")] == [
        "My blog",
        "blog",
        "my-blog",
        "{}",
    ]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("title", " \n ", "this needs at least one character"),
        ("title", "x" * 201, "this has 201 characters; at most 200 are allowed"),
        ("title", "a\x00b", "control characters are not allowed"),
        ("title", "a\ud800b", "control characters are not allowed"),
        *(("template", name, NAME) for name in ("", "x" * 41, "-x", "x-", "a b", "a/b", "a_b", "ö")),
        *(("subdomain", name, SHAPE) for name in ("", "ab", "x" * 64, "-abc", "abc-", "a.b.c", "a_b", "a b", "änne")),
        *(("subdomain", name, SHAPE) for name in ("xn--nxasmq6b", "XN--abc", "ab--cd", "abc\n\nd", "a#b", "abc\x00")),
        ("config", [], NO_OBJECT),
        ("config", "{}", NO_OBJECT),
        ("config", 5, NO_OBJECT),
        ("config", False, NO_OBJECT),
        ("config", of_bytes(Config.at_most + 1), "this has 100,001 bytes; at most 100,000 are allowed"),
        ("config", of_bytes(Config.at_most + 1, "öö")["text"], NO_OBJECT),
        ("config", {"n": 2**70}, NOT_KEPT),
        ("config", {"n": -(2**63) - 1}, NOT_KEPT),
        ("config", {"n": float("inf")}, NOT_KEPT),
        ("config", {"n": float("nan")}, NOT_KEPT),
        ("config", {"text": "\ud800"}, NOT_KEPT),
        ("config", {"\udfff": 1}, NOT_KEPT),
    ],
)
async def test_a_site_that_is_refused(graph, town, field, value, message):
    ada = await town.person("ada")

    asked = await graph.ask(CREATE, viewer_of(ada), input={**NEW, field: value})

    assert asked.data["createSite"] == {"site": None, "problems": [problem("INVALID", message, "input", field)]}
    assert asked.calls == {}


@pytest.mark.parametrize("subdomain", sorted(RESERVED_SUBDOMAINS))
async def test_names_that_would_pass_for_something_of_ours_are_reserved(graph, subdomain):
    payload = await graph.command(CREATE, BUILDER, **{**NEW, "subdomain": f" {subdomain.upper()} "})

    message = f"{subdomain} is reserved; choose another one"
    if len(subdomain) < 3:
        message = SHAPE
    assert payload["problems"] == [problem("INVALID", message, "input", "subdomain")]


@pytest.mark.parametrize(
    "given",
    [
        *({"subdomain": name} for name in ("abc", "a-b", "0-0", "a-b-c", "x" * 63)),
        *({"template": name} for name in ("x", "x" * 40, "a-b")),
        {"title": "ö" * 200},
    ],
    ids=lambda given: repr(given)[:30],
)
async def test_names_of_just_the_shape_are_fine(graph, town, given):
    ada = await town.person("ada")

    payload = await graph.command(CREATE, viewer_of(ada), **{**NEW, **given})

    assert payload["problems"] == []


async def test_all_that_is_wrong_is_said_at_once(graph, town):
    ada = await town.person("ada")

    payload = await graph.command(CREATE, viewer_of(ada), title="", template="", subdomain="www", config=[])

    assert payload["problems"] == [
        problem("INVALID", "this needs at least one character", "input", "title"),
        problem("INVALID", NAME, "input", "template"),
        problem("INVALID", "www is reserved; choose another one", "input", "subdomain"),
        problem("INVALID", NO_OBJECT, "input", "config"),
    ]


def nested(levels: int) -> dict:
    value: object = 1
    for _ in range(levels - 1):
        value = [value]
    return {"deep": value}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"": {"": 1}, " ": None, "PK": "x", "a.b": ["#", ":0"]},
        {"text": "Grüße, 世界 👩‍👩‍👧 \x00 \u2028 \ufeff", "ключ": "\\ud800"},
        {"n": [2**64 - 1, -(2**63), 2**53 + 1, 0.1, 1e308, 5e-324, 1.0, True, None]},
        {"list": [[], {}, [[]], [{}]]},
        nested(100),
        of_bytes(Config.at_most),
        of_bytes(Config.at_most - 1, "ö"),
    ],
    ids=lambda config: repr(config)[:20],
)
async def test_a_config_comes_back_as_it_was_sent(graph, town, config):
    ada = await town.person("ada")

    payload = await graph.command(CREATE, viewer_of(ada), **NEW, config=config)
    asked = await graph.ask("{ viewer { sites { edges { node { config } } } } }", viewer_of(ada))

    assert payload["problems"] == []
    assert orjson.dumps(payload["site"]["config"]) == orjson.dumps(config)
    (edge,) = orjson.loads(orjson.dumps(asked.body))["data"]["viewer"]["sites"]["edges"]
    assert orjson.dumps(edge["node"]["config"]) == orjson.dumps(config)


@pytest.mark.parametrize("levels", [101, 250, 254, 255, 1_000])
async def test_a_config_that_is_nested_too_deep_to_be_answered_with_is_refused(graph, town, levels):
    ada = await town.person("ada")

    payload = await graph.command(CREATE, viewer_of(ada), **NEW, config=nested(levels))

    assert payload["problems"] == [problem("INVALID", NOT_KEPT, "input", "config")]


@pytest.mark.parametrize(
    ("literal", "config"),
    [
        ('{author: "Ada", n: 1.5, list: [null, true, RED]}', {"author": "Ada", "n": 1.5, "list": [None, True, "RED"]}),
        ('{text: "\\ud83d\\ude00 \\u{1F600} ö"}', {"text": "😀 😀 ö"}),
        ("{n: 18446744073709551615}", {"n": 2**64 - 1}),
        ("null", {}),
        ("{a: $inner}", {"a": {"b": 1}}),
        ("[]", NO_OBJECT),
        ('"{}"', NO_OBJECT),
        ("{n: 1180591620717411303424}", NOT_KEPT),
        (f"{{n: {'9' * 5000}}}", NOT_KEPT),
        ("{n: 1e400}", NOT_KEPT),
        ("{n: [-1e400]}", NOT_KEPT),
        (f"{{a: {'[' * 101}{']' * 101}}}", NOT_KEPT),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_a_config_written_into_the_query(graph, town, literal, config):
    ada = await town.person("ada")
    query = f"""mutation ($inner: JSON) {{ unused: createSite(input: {{title: "", template: "", subdomain: "",
        config: {{a: $inner}}}}) {{ problems {{ code }} }}
        createSite(input: {{title: "T", template: "blog", subdomain: "my-blog", config: {literal}}}) {{
            site {{ config }} problems {{ code message path }} }} }}"""

    asked = await graph.ask(query, viewer_of(ada), inner={"b": 1})

    refused = [problem("INVALID", config, "input", "config")] if isinstance(config, str) else []
    site = None if refused else {"config": config}
    assert asked.data["createSite"] == {"site": site, "problems": refused}
    assert bool(await in_table(graph, "Site")) is not bool(refused)


async def test_half_a_character_in_the_query_is_a_mistake_in_it(graph, town):
    ada = await town.person("ada")

    asked = await graph.ask(
        """mutation { createSite(input: {title: "T", template: "blog", subdomain: "my-blog", config: {a: "\\ud800"}}) {
            problems { code } } }""",
        viewer_of(ada),
    )

    assert asked.error["extensions"] == {"code": "INVALID_QUERY"}
    assert await nothing_was_made(graph)


@pytest.mark.parametrize("kind", ["text", "numbers"])
async def test_the_largest_config_fits_well_into_an_item(graph, town, kind):
    ada = await town.person("ada")
    chance = random.Random(7)
    config = of_bytes(Config.at_most, base64.b64encode(chance.randbytes(74_991)).decode())
    if kind == "numbers":
        config = {"numbers": [chance.randrange(10**17, 10**18) for _ in range(5_262)]}

    payload = await graph.command(CREATE, viewer_of(ada), **NEW, config=config)

    assert payload["site"]["config"] == config
    assert Config.at_most - 20 < len(orjson.dumps(config)) <= Config.at_most
    (item,) = await in_table(graph, "Site")
    size = len(base64.b64decode(item["config"]["B"])) + len(orjson.dumps({**item, "config": None}))
    assert 40_000 < size < 110_000


async def test_a_subdomain_is_somebodys(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    site = await town.site(ada, subdomain="taken")

    asked = await graph.ask(CREATE, viewer_of(bob), input={**NEW, "subdomain": "Taken"})

    assert asked.data["createSite"] == {
        "site": None,
        "problems": [problem("TAKEN", "this subdomain is taken", "input", "subdomain")],
    }
    assert asked.calls == {"TransactWriteItems": 1}
    assert await who_has(graph, "taken") == site.site_id
    assert len(await in_table(graph, "Site")) == 1


async def test_making_a_site_in_a_neighborhood_one_is_a_member_of(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(bob, private=True)
    await town.member(ada, place)

    asked = await graph.ask(CREATE, viewer_of(ada), input={**NEW, "neighborhoodId": id_of(place)})

    payload = asked.data["createSite"]
    assert payload["problems"] == []
    assert payload["site"]["neighborhood"] == {"name": place.name}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}


@pytest.mark.parametrize(
    ("who", "private", "code"),
    [
        ("stranger", False, "FORBIDDEN"),
        ("invited", False, "FORBIDDEN"),
        ("pending", False, "FORBIDDEN"),
        ("former", False, "FORBIDDEN"),
        ("invited", True, "FORBIDDEN"),
        ("stranger", True, "NOT_FOUND"),
        ("pending", True, "NOT_FOUND"),
    ],
)
async def test_only_members_make_sites_in_a_neighborhood(graph, town, who, private, code):
    place = await town.neighborhood(await town.person("founder"), private=private)
    people = await town.people_in(place)

    payload = await graph.command(CREATE, viewer_of(people[who]), **NEW, neighborhoodId=id_of(place))

    (refusal,) = payload["problems"]
    assert (payload["site"], refusal["code"], refusal["path"]) == (None, code, ["input", "neighborhoodId"])
    assert await nothing_was_made(graph)


async def test_a_private_neighborhood_is_refused_exactly_like_a_missing_or_a_deleted_one(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    private, deleted = await town.neighborhood(bob, private=True), await town.neighborhood(bob, deleted_at=minute(9))
    await town.member(ada, deleted)
    missing = await town.neighborhood(bob)
    await graph.table.delete(missing.own_key)

    asked = [
        await graph.ask(CREATE, viewer_of(ada), input={**NEW, "neighborhoodId": id_of(place)})
        for place in (private, deleted, missing)
    ]

    refusal = problem("NOT_FOUND", "there is no such neighborhood", "input", "neighborhoodId")
    assert [each.data["createSite"] for each in asked] == [{"site": None, "problems": [refusal]}] * 3
    assert [each.calls for each in asked] == [{"BatchGetItem": 1}] * 3


@pytest.mark.parametrize("role", ["member", "owner"])
async def test_a_neighborhood_that_allows_no_sites(graph, town, role):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(bob, settings=NeighborhoodSettings(allow_site_creation=False))
    await town.member(ada, place)

    payload = await graph.command(
        CREATE, viewer_of(ada if role == "member" else bob), **NEW, neighborhoodId=id_of(place)
    )

    message = "this neighborhood does not allow members to create sites"
    assert payload["problems"] == [problem("FORBIDDEN", message, "input", "neighborhoodId")]
    assert await nothing_was_made(graph)


async def test_something_else_than_a_neighborhood_is_no_neighborhood(graph, town):
    ada = await town.person("ada")

    payload = await graph.command(CREATE, viewer_of(ada), **NEW, neighborhoodId=id_of(ada))

    (refusal,) = payload["problems"]
    assert (refusal["code"], refusal["path"]) == ("INVALID", ["input", "neighborhoodId"])


async def test_nobody_and_those_whose_account_is_gone_make_no_sites(graph, town):
    ada = await town.person("ada", deleted_at=now(), expires_at=4_000_000_000)
    place = await town.neighborhood(await town.person("bob"))
    await town.member(ada, place)

    payloads = [
        await graph.command(CREATE, ANONYMOUS, **NEW),
        await graph.command(CREATE, BUILDER, **NEW),
        await graph.command(CREATE, viewer_of(ada), **NEW),
        await graph.command(CREATE, viewer_of(ada), **NEW, neighborhoodId=id_of(place)),
    ]

    assert [payload["problems"] for payload in payloads] == [
        [UNAUTHENTICATED],
        [NO_ACCOUNT],
        [NO_ACCOUNT],
        [NO_ACCOUNT],
    ]
    assert await nothing_was_made(graph)
