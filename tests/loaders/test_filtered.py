"""Filtered lists: the same pages for every kind of list, within a read budget, and only of what the viewer sees."""

from typing import Any

import pytest

from datastore.cms import ContentStatus, ContentVersion
from datastore.model.times import now
from datastore.social import Post
from loaders import pages
from loaders.filtered import Filtered, filtered
from loaders.merge import Merge, read_merged
from loaders.needs import Step
from loaders.numbered import Numbered, read_numbered
from loaders.pages import HonestPage, read_pages
from loaders.ranked import Ranked, read_ranked
from loaders.viewer import ANONYMOUS, Viewer
from tests.support.graph import Graph
from tests.support.social import Society

STAFF = Viewer("id-eve", tenant_id="acme", tenants=frozenset({("acme", "viewer")}))


def red(post: Post) -> bool:
    return post.caption == "red"


def the_page_of(listed: Filtered[Any], size: int, after: Any, *, backward: bool) -> Step[HonestPage]:
    source, keeps = listed
    if isinstance(source, Merge):
        return (yield from read_merged(source, size, STAFF, after, backward=backward, keeps=keeps))
    if isinstance(source, Ranked):
        return (yield from read_ranked(source, size, STAFF, after, backward=backward, keeps=keeps))
    if isinstance(source, Numbered):
        return (yield from read_numbered(source, size, STAFF, after, backward=backward, keeps=keeps))
    (page,) = yield from read_pages([source], size, STAFF, after, backward=backward, keeps=keeps)
    return page


async def walked(graph: Graph, listed: Filtered[Any], size: int, *, backward: bool = False) -> list[list[Any]]:
    """Returns all pages of a list, in the direction of reading."""
    found, after = [], None
    while True:
        load = graph.context(STAFF).load
        page = await load.run(the_page_of(listed, size, after, backward=backward))
        found.append(list(page.records))
        if not page.more:
            return found
        last = page.records[0 if backward else -1] if page.records else None
        after = page.resume or _position(listed, last)


def _position(listed: Filtered[Any], record: Any) -> Any:
    if hasattr(listed.source, "position_of"):
        return listed.source.position_of(record)
    return record.own_key.pk, record.own_key.sk, record.indexes["GSI1"].sk.fill(record.__dict__)


async def colored_posts(society: Society, *, authors: int, count: int) -> list[Post]:
    """Every third is red."""
    people = [await society.person(f"author{number}") for number in range(authors)]
    colors = ("red", "green", "blue")
    return [
        await society.post(people[number % authors], caption=colors[number % 3], post_id=f"p{number:03d}")
        for number in range(count)
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("backward", [False, True])
async def test_pages_of_every_kind_of_list_are_full(graph, society, size, backward):
    posts = await colored_posts(society, authors=2, count=24)
    wanted = [post.post_id for post in reversed(posts) if red(post)]
    ranges = tuple(Post.by_author(user_id=f"id-author{number}").newest_first() for number in range(2))
    by_key = {post.own_key: post for post in posts}
    lists: list[Any] = [
        Merge(ranges, "posts"),
        Ranked({post.own_key: post.post_id for post in posts}, {}, "ranked"),
        Ranked({post.own_key: post.post_id for post in posts}, by_key, "at hand"),
    ]

    for source in lists:
        found = await walked(graph, filtered(source, red), size, backward=backward)
        flat = [post.post_id for page in (reversed(found) if backward else found) for post in page]
        assert flat == wanted
        assert {len(page) for page in found[:-1]} <= {size}
    for number, within in enumerate(ranges):
        found = await walked(graph, filtered(within, red), size, backward=backward)
        flat = [post.post_id for page in (reversed(found) if backward else found) for post in page]
        assert flat == [post_id for post_id in wanted if int(post_id[1:]) % 2 == number]


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("backward", [False, True])
async def test_numbered_lists_are_filtered_too(graph, size, backward):
    versions = [a_version(number) for number in range(1, 12)]
    await graph.table.batch_write(puts=versions[:-1])
    listed = Numbered(versions[-1], lambda number: a_version(number).own_key, "version", "page")

    found = await walked(graph, filtered(listed, lambda version: version.version % 4 == 1), size, backward=backward)

    flat = [version.version for page in (reversed(found) if backward else found) for version in page]
    assert flat == [9, 5, 1]


def a_version(number: int) -> ContentVersion:
    return ContentVersion(
        tenant_id="acme",
        node_id="page",
        version=number,
        content_type="page",
        title=f"Version {number}",
        status=ContentStatus.DRAFT,
        author_id="eve",
        blocks=[],
    )


async def test_all_conditions_are_met(graph, society):
    posts = await colored_posts(society, authors=1, count=12)
    within = Post.by_author(user_id="id-author0")

    found = await walked(graph, filtered(within, red, None, lambda post: post.post_id > "p003"), 100)

    assert found == [[posts[6], posts[9]]]


async def test_when_nothing_matches_the_page_says_where_to_go_on(graph, society, monkeypatch):
    monkeypatch.setattr(pages, "READS_A_PAGE", 2)
    monkeypatch.setattr(pages, "REFILL", 3)
    await colored_posts(society, authors=1, count=11)
    listed = filtered(Post.by_author(user_id="id-author0"), lambda post: post.post_id == "p010")
    context = graph.context(ANONYMOUS)

    first = await context.load.run(the_page_of(listed, 1, None, backward=False))

    # Two records to begin with, and three to make up for them.
    assert (first.records, first.more) == ([], True)
    assert first.resume[0] == "POST#p004"
    assert dict(context.load.table.usage.calls) == {"Query": 2}
    assert [len(page) for page in await walked(graph, listed, 1)] == [0, 0, 1]


async def test_a_filter_never_gets_a_hidden_record(graph, society):
    author = await society.person("author")
    shown = await society.post(author)
    await society.post(author, deleted_at=now())
    given: list[Post] = []

    await walked(graph, filtered(Post.by_author(user_id=author.user_id), lambda post: not given.append(post)), 10)

    assert given == [shown]
