"""Orders of products and content, and assets by media type, each with its calls."""

from typing import Any

import pytest

from datastore.cms import Asset, ContentStatus, Product, ProductStatus
from tests.support.cms import READER, VISITOR
from tests.support.cms_catalog import KINDS, titles
from tests.support.graph import Asked, Graph
from tests.support.social import minute

PRODUCTS = KINDS[0]
DRAFT, PUBLISHED, ARCHIVED = ProductStatus


async def add_products(website: Any) -> dict[str, Product]:
    """Compared as texts, 9 would be after 10."""
    made = {}
    for title, price, currency, status in (
        ("ten", 10, "EUR", PUBLISHED),
        ("nine", 9, "EUR", PUBLISHED),
        ("huge", 2**53 - 1, "EUR", PUBLISHED),
        ("free", 0, "EUR", PUBLISHED),
        ("swiss", 5, "CHF", PUBLISHED),
        ("priceless", None, "EUR", PUBLISHED),
        ("of no currency", 1, None, PUBLISHED),
        ("old", 8, "EUR", ARCHIVED),
    ):
        made[title] = await website.thing(Product, title=title, price=price, currency=currency, status=status)
    await website.thing(Product, "other", title="theirs", price=1, currency="EUR", status=PUBLISHED)
    return made


async def pages(graph: Graph, arguments: str, viewer: Any, size: int = 2) -> list[list[str]]:
    found: list[list[str]] = []
    after = None
    while True:
        asked: Asked = await graph.ask(PRODUCTS.all(arguments=arguments), viewer, first=size, after=after)
        found.append(titles(asked))
        if not asked.data["things"]["pageInfo"]["hasNextPage"]:
            return found
        after = asked.data["things"]["pageInfo"]["endCursor"]


async def test_products_by_price(graph, website):
    await add_products(website)

    lowest = await graph.ask(PRODUCTS.all(arguments=", orderBy: LOWEST_PRICE_FIRST"), VISITOR)
    highest = await graph.ask(PRODUCTS.all(arguments=", orderBy: HIGHEST_PRICE_FIRST"), VISITOR)

    assert titles(lowest) == ["swiss", "free", "nine", "ten", "huge"]
    assert titles(highest) == [*reversed(titles(lowest))]
    assert lowest.calls == highest.calls == {"Query": 1}
    in_pages = await pages(graph, ", orderBy: LOWEST_PRICE_FIRST", VISITOR)
    assert in_pages == [["swiss", "free"], ["nine", "ten"], ["huge"]]


async def test_products_of_all_statuses_by_price(graph, website):
    await add_products(website)

    asked = await graph.ask(PRODUCTS.all(arguments=", orderBy: LOWEST_PRICE_FIRST"), READER)
    of_one = await graph.ask(PRODUCTS.all(arguments=", orderBy: LOWEST_PRICE_FIRST, status: ARCHIVED"), READER)

    assert titles(asked) == ["swiss", "free", "old", "nine", "ten", "huge"]
    assert (asked.calls, of_one.calls) == ({"Query": 3}, {"Query": 1})
    assert titles(of_one) == ["old"]
    highest = await pages(graph, ", orderBy: HIGHEST_PRICE_FIRST", READER)
    assert highest == [["huge", "ten"], ["nine", "old"], ["free", "swiss"]]


async def test_a_new_price_is_another_place(graph, website):
    products = await add_products(website)

    await graph.table.put(products["swiss"].changed(price=11, currency="EUR"))

    asked = await graph.ask(PRODUCTS.all(arguments=", orderBy: LOWEST_PRICE_FIRST"), VISITOR)
    assert titles(asked) == ["free", "nine", "ten", "swiss", "huge"]


@pytest.mark.parametrize("status", [None, "PUBLISHED"])
async def test_products_and_content_longest_unchanged_first(graph, website, status):
    for number in (2, 0, 1):
        moment = {"created_at": minute(number), "updated_at": minute(number)}
        await website.thing(Product, title=f"Thing {number}", status=PUBLISHED, **moment)
        await website.content(title=f"Page {number}", status=ContentStatus.PUBLISHED, **moment)
    arguments = f"orderBy: OLDEST_UPDATE_FIRST, status: {status or 'null'}"

    asked = await graph.ask(
        f"""{{ products({arguments}) {{ nodes {{ title }} }} contents({arguments}) {{ nodes {{ title }} }}
            pages: contents({arguments}, type: "page") {{ nodes {{ title }} }} }}""",
        READER,
    )

    found = {name: [node["title"] for node in each["nodes"]] for name, each in asked.data.items()}
    pages = ["Page 0", "Page 1", "Page 2"]
    assert found == {"products": ["Thing 0", "Thing 1", "Thing 2"], "contents": pages, "pages": pages}
    assert asked.calls == {"Query": 3 if status else 6}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ('"image/"', ["png", "svg"]),
        ('" IMAGE/PNG"', ["png"]),
        ('"video/"', []),
        ('""', ["none", "pdf", "png", "svg"]),
        ("null", ["none", "pdf", "png", "svg"]),
    ],
)
async def test_assets_by_media_type(graph, website, wanted, found):
    media_types = {"png": "image/png", "pdf": "application/pdf", "svg": "image/svg+xml", "none": None}
    for title, media_type in media_types.items():
        await website.thing(Asset, title=title, media_type=media_type)

    asked = await graph.ask(f"{{ things: assets(mediaType: {wanted}) {{ nodes {{ title }} }} }}", VISITOR)

    assert sorted(titles(asked)) == found
    assert asked.calls == {"Query": 1}
