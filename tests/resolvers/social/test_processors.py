"""The processor of home feeds: after any history, the entries show what a merge of all authors' posts shows."""

from itertools import count

import hypothesis
import pytest
from hypothesis import Phase
from hypothesis import strategies as st

from datastore.accounts import User
from datastore.social import FeedAuthor, FeedEntry, FeedMode, FeedState, Post
from loaders.merge import read_merged
from resolvers.social import feed_entries, feed_jobs, processors
from resolvers.social.home_feed import _merged
from tests.conftest import THOROUGH
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT, make_due
from tests.resolvers.social.test_feed_edges import HOME, chunks, page_of, walk
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.social import DELETE, FOLLOW, LIKE, UNFOLLOW, UPDATE, Society, ids, minute

FANOUT = 2
READERS, AUTHORS = 4, 3
NUMBERS = count()


@pytest.fixture
def settings(settings):
    return settings.model_copy(update={"feed_fanout": FANOUT})


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Makes feeds of four entries, so that short histories reach beyond them."""
    patch.setattr(feed_entries, "KEPT", 4)
    patch.setattr(feed_entries, "TRIMMED_EVERY", 1)


async def merged(graph: Graph, reader: User) -> list[str]:
    """The home feed as it is without entries."""
    viewer = graph.context(viewer_of(reader)).viewer
    load = graph.context(viewer).load
    merge = await load.run(_merged(reader.user_id, viewer))
    page = await load.run(read_merged(merge, 500, viewer))
    assert not page.more
    return ids(*page.records)


async def entries(graph: Graph, reader: User) -> list[str]:
    page = await graph.table.query(FeedEntry.within(user_id=reader.user_id).newest_first(), limit=100)
    return [entry.post_id for entry in page.records]


async def run_all_jobs(graph: Graph) -> None:
    await graph.settle(jobs=True)
    await make_due(graph)
    await graph.settle(jobs=True)


async def compare(graph: Graph, reader: User, size: int) -> None:
    expected = await merged(graph, reader)
    assert await walk(graph, HOME, viewer_of(reader), size) == (chunks(expected, size) or [[]])
    backward = await walk(graph, HOME, viewer_of(reader), size, backward=True)
    assert [each for page in reversed(backward) for each in page] == expected
    assert all(len(page) == size for page in backward[:-1])


class History:
    """People who follow, post, and come and go."""

    def __init__(self, graph: Graph, society: Society) -> None:
        self.graph = graph
        self.society = society
        self.posts: list[Post] = []
        self.hidden: set[str] = set()

    async def begin(self, name: str) -> None:
        self.readers = [await self.society.person(f"{name}r{number}") for number in range(READERS)]
        self.authors = [await self.society.person(f"{name}a{number}") for number in range(AUTHORS)]

    async def do(self, what: str, reader: int, author: int, moment: int) -> None:
        one, other = self.readers[reader], self.authors[author]
        if other.user_id in self.hidden and what not in ("restore", "settle"):
            return
        match what:
            case "follow" | "unfollow":
                command = FOLLOW if what == "follow" else UNFOLLOW
                payload = await self.graph.command(command, viewer_of(one), userId=id_of(other))
                assert payload["problems"] == []
            case "post":
                self.posts.append(await self.society.post(other, created_at=minute(10_000 + moment)))
            case "delete":
                await self._delete(other)
            case "hide":
                await self.graph.ask(DELETE_ACCOUNT, viewer_of(other))
                self.hidden.add(other.user_id)
            case "restore":
                await self.graph.ask(RESTORE_ACCOUNT, viewer_of(other))
                self.hidden.discard(other.user_id)
            case "settle":
                await self.graph.settle(jobs=True)
            case _:
                await run_all_jobs(self.graph)

    async def _delete(self, author: User) -> None:
        own = [post for post in self.posts if post.user_id == author.user_id]
        if own:
            self.posts.remove(own[0])
            await self.graph.command(DELETE, viewer_of(author), postId=id_of(own[0]))


WHAT = ["follow"] * 9 + ["post"] * 8 + ["unfollow"] * 4 + ["delete", "hide", "restore", "settle", "run all jobs"]
EVENTS = st.lists(
    st.tuples(st.sampled_from(WHAT), st.integers(0, READERS - 1), st.integers(0, AUTHORS - 1), st.integers(0, 5)),
    min_size=20,
    max_size=50,
)


@hypothesis.settings(
    max_examples=100 if THOROUGH else 8,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[*hypothesis.HealthCheck],
)
@hypothesis.given(events=EVENTS, size=st.integers(1, 7), short=st.booleans())
async def test_after_any_history_the_feed_is_the_merged_one(graph, society, events, size, short):
    with pytest.MonkeyPatch.context() as patch:
        if short:
            shorten(patch)
        history = History(graph, society)
        await history.begin(f"h{next(NUMBERS)}")
        for event in events:
            await history.do(*event)
        await graph.settle(jobs=True)
        # Restored posts come with a job that waits for the others of their author.
        if not any(what == "restore" for what, *_ in events):
            for reader in history.readers:
                await compare(graph, reader, size)
        await run_all_jobs(graph)
        for reader in history.readers:
            await compare(graph, reader, size)


async def people(society: Society, readers: int) -> tuple[list[User], User]:
    """An author, and readers who follow the author."""
    author = await society.person("author")
    crowd = [await society.person(f"reader{number}") for number in range(readers)]
    for reader in crowd:
        await society.follow(reader, author)
    return crowd, author


async def mode_of(graph: Graph, author: User) -> FeedMode | None:
    stored = await graph.table.get(FeedAuthor.key(user_id=author.user_id))
    return stored.mode if stored else None


async def test_posts_come_and_go_with_follows_and_deletions(graph, society):
    (reader,), author = await people(society, 1)
    old, new = await society.post(author), await society.post(author)
    await graph.settle(jobs=True)
    first = await entries(graph, reader)
    newest = await society.post(author)
    await graph.command(DELETE, viewer_of(author), postId=id_of(old))
    await graph.settle(jobs=True)
    second = await entries(graph, reader)
    await graph.command(UNFOLLOW, viewer_of(reader), userId=id_of(author))
    await graph.settle()
    third = await entries(graph, reader)
    await graph.command(FOLLOW, viewer_of(reader), userId=id_of(author))
    await graph.settle()

    assert first == [new.post_id, old.post_id]
    assert second == [newest.post_id, new.post_id]
    assert third == []
    assert await entries(graph, reader) == second


async def test_a_like_or_an_edit_copies_nothing(graph, society):
    (reader,), author = await people(society, 1)
    post = await society.post(author)
    await graph.settle(jobs=True)
    (entry,) = (await graph.table.query(FeedEntry.within(user_id=reader.user_id), limit=9)).records
    await graph.table.delete(entry.own_key)

    await graph.command(LIKE, viewer_of(reader), postId=id_of(post))
    await graph.command(UPDATE, viewer_of(author), postId=id_of(post), caption="Better.")
    await graph.settle(jobs=True)

    assert await entries(graph, reader) == []


async def test_a_deleted_account_takes_its_posts_along_and_brings_them_back(graph, society):
    (reader,), author = await people(society, 1)
    post = await society.post(author)
    await graph.settle(jobs=True)
    await graph.ask(DELETE_ACCOUNT, viewer_of(author))
    await graph.settle(jobs=True)
    hidden = await entries(graph, reader)
    await graph.ask(RESTORE_ACCOUNT, viewer_of(author))
    await graph.settle(jobs=True)

    assert hidden == []
    assert await entries(graph, reader) == [post.post_id]


async def test_an_author_who_gets_too_many_followers_is_merged_and_one_who_loses_them_is_copied(graph, society):
    crowd, author = await people(society, FANOUT)
    old = await society.post(author)
    await graph.settle(jobs=True)
    late = await society.person("late")
    await graph.command(FOLLOW, viewer_of(late), userId=id_of(author))
    await run_all_jobs(graph)
    modes = [await mode_of(graph, author)]
    new = await society.post(author)
    await run_all_jobs(graph)
    copied = [await entries(graph, reader) for reader in (*crowd, late)]
    for reader in (*crowd, late):
        await compare(graph, reader, 1)

    for reader in (crowd[0], late):
        await graph.command(UNFOLLOW, viewer_of(reader), userId=id_of(author))
    await graph.settle()
    modes.append(await mode_of(graph, author))
    await compare(graph, crowd[1], 1)
    await run_all_jobs(graph)
    modes.append(await mode_of(graph, author))

    assert modes == [FeedMode.MERGED, FeedMode.RETURNING, FeedMode.COPIED]
    assert copied == [[], [], []]
    assert await entries(graph, crowd[1]) == [new.post_id, old.post_id]
    await compare(graph, crowd[1], 1)


async def test_a_page_costs_one_more_query_for_each_merged_author(graph, society):
    reader = await society.person("reader")
    authors = [await society.person(f"author{number}") for number in range(4)]
    for author in authors:
        await society.follow(reader, author)
        await society.post(author)
        await society.post(author)
    for follower in [await society.person(f"other{number}") for number in range(FANOUT)]:
        await society.follow(follower, authors[0])
        await society.follow(follower, authors[1])
    await run_all_jobs(graph)
    expected = await merged(graph, reader)

    asked = await graph.ask(HOME, viewer_of(reader), first=5)

    assert [node["id"] for node in page_of(asked.data)["nodes"]] == expected[:5]
    assert asked.calls == {"GetItem": 1, "Query": 3 + 2, "BatchGetItem": 1}


async def test_a_post_of_many_followers_is_copied_by_a_job(graph, society, monkeypatch):
    monkeypatch.setattr(processors, "BATCH", 1)
    monkeypatch.setattr(feed_jobs, "BATCH", 1)
    monkeypatch.setattr(feed_jobs, "PAGES", 1)
    crowd, author = await people(society, FANOUT)
    await graph.settle(jobs=True)
    post = await society.post(author)
    await graph.settle()
    before = [await entries(graph, reader) for reader in crowd]
    await graph.settle(jobs=True)

    assert before == [[], []]
    assert [await entries(graph, reader) for reader in crowd] == [[post.post_id], [post.post_id]]


async def test_a_feed_is_trimmed_and_merged_beyond(graph, society, monkeypatch):
    shorten(monkeypatch)
    (reader,), author = await people(society, 1)
    await graph.settle(jobs=True)
    posts = [await society.post(author) for _ in range(7)]
    await graph.settle(jobs=True)

    assert await entries(graph, reader) == [post.post_id for post in posts[:2:-1]]
    assert (await graph.table.get(FeedState.key(user_id=reader.user_id))).floor == posts[2].created_at
    for size in (1, 3, 4, 5, 20):
        await compare(graph, reader, size)
