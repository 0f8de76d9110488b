"""Live queries over random histories of commands, in all domains at once."""

import pytest

from tests.support.cms import ADMIN
from tests.support.graph import id_of, viewer_of
from tests.support.history import History
from tests.support.live import follow

PEOPLE = """query @live(throttle: 50) {
  feed(first: 4) { nodes { caption likeCount commentCount author { username postCount }
    likes(first: 3) { totalCount nodes { username } } comments(last: 2) { totalCount nodes { content } } }
    pageInfo { hasNextPage endCursor } }
  users(first: 5) { nodes { username followerCount followingCount viewerFollows
    followers(first: 2) { nodes { username } } posts(first: 2) { totalCount nodes { caption } }
    likedPosts(first: 2) { nodes { likeCount } } } }
  viewer { homeFeed(first: 5) { nodes { caption author { username } } pageInfo { endCursor } }
    notifications(first: 3) { nodes { kind } } unreadNotificationCount } }"""
CARDS = """query ($category: ID!) @live(throttle: 50) {
  category(by: {id: $category}) { name cards(first: 3) { nodes { title upvoteCount voteScore commentCount viewCount
    viewerVote { direction } comments(first: 2) { nodes { content voteScore } } } pageInfo { hasNextPage } } } }"""
PAGES = """query @live(throttle: 50) { contents(first: 3) { nodes { title version status } }
  auditLog(first: 4) { nodes { action count } pageInfo { hasNextPage } } }"""


@pytest.mark.parametrize("seed", [1, 2])
async def test_after_any_history_a_live_answer_is_the_answer_of_now(graph, workshop, website, town, seed):
    people = [await workshop.person(name) for name in ("ada", "bob", "cyd")]
    category = id_of(await workshop.category("wood"))
    await website.tenant()
    history = History(graph, seed, people, category, id_of(await town.site(people[0])))
    await graph.settle()
    asked = [(PEOPLE, viewer_of(people[0]), {}), (PEOPLE, viewer_of(people[1]), {})]
    asked += [(CARDS, viewer_of(people[2]), {"category": category}), (PAGES, ADMIN, {})]
    live = [await follow(graph, query, viewer, **given) for query, viewer, given in asked]

    for _ in range(12):
        await history.run(5)
        for each, (query, viewer, given) in zip(live, asked, strict=True):
            await each.settle()
            assert each.latest == (await graph.ask(query, viewer, **given)).data

    # How many answers there were in between depends on the machine.
    assert all(each.query.revision > 1 for each in live)
