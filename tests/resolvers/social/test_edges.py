"""The social network's access patterns, each with its calls, and who sees what."""

import pytest

from datastore.model.times import now
from datastore.notifications import Notification, NotificationKind, about
from datastore.social import Like, Post, PostCounter
from loaders.viewer import Viewer
from schema.declare.types import has_ids
from tests.support.graph import id_of, viewer_of
from tests.support.social import ids, minute


async def test_a_post_by_its_id(graph, society):
    post = await society.post(await society.person("ada"), caption="Look.")

    asked = await graph.ask(
        "query ($id: ID!) { post(by: {id: $id}) { databaseId imageUrl caption likeCount commentCount createdAt } }",
        id=id_of(post),
    )

    assert asked.data["post"] == {
        "databaseId": "post00002",
        "imageUrl": "https://example.org/post00002.jpg",
        "caption": "Look.",
        "likeCount": 0,
        "commentCount": 0,
        "createdAt": minute(2),
    }
    assert asked.calls == {"GetItem": 1}


async def test_the_posts_of_a_user_newest_first(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    first, _, second = await society.post(ada), await society.post(bob), await society.post(ada)

    asked = await graph.ask(
        "query ($id: ID!) { user(by: {id: $id}) { posts { totalCount nodes { id } } } }", id=id_of(ada)
    )

    assert asked.data["user"]["posts"] == {"totalCount": 2, "nodes": [{"id": id} for id in ids(second, first)]}
    assert asked.calls == {"GetItem": 1, "Query": 1}


async def test_the_global_feed_newest_first(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    posts = [await society.post(author) for author in (ada, bob, ada)]

    asked = await graph.ask("{ feed { nodes { id } } }")

    assert asked.data["feed"]["nodes"] == [{"id": id} for id in ids(*reversed(posts))]
    assert asked.calls == {"Query": 1}


async def test_the_likes_of_a_post_with_when_and_by_whom(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await society.like(bob, post)
    await society.like(ada, post)

    asked = await graph.ask(
        """query ($id: ID!) { post(by: {id: $id}) { likes {
            totalCount edges { likedAt node { username } } nodes { username } } } }""",
        id=id_of(post),
    )

    assert asked.data["post"]["likes"] == {
        "totalCount": 2,
        "edges": [
            {"likedAt": minute(5), "node": {"username": "ada"}},
            {"likedAt": minute(4), "node": {"username": "bob"}},
        ],
        "nodes": [{"username": "ada"}, {"username": "bob"}],
    }
    assert asked.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}


async def test_whether_the_viewer_likes_a_post(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await society.like(bob, post)
    query = "query ($id: ID!) { post(by: {id: $id}) { viewerHasLiked } }"

    by_bob = await graph.ask(query, viewer_of(bob), id=id_of(post))
    by_ada = await graph.ask(query, viewer_of(ada), id=id_of(post))
    by_nobody = await graph.ask(query, id=id_of(post))

    assert [asked.data["post"]["viewerHasLiked"] for asked in (by_bob, by_ada, by_nobody)] == [True, False, False]
    assert by_bob.calls == {"GetItem": 2}
    assert by_nobody.calls == {"GetItem": 1}


async def test_the_posts_a_user_likes_newest_like_first(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    first, second = await society.post(ada), await society.post(ada)
    await society.like(bob, second)
    await society.like(bob, first)

    asked = await graph.ask(
        "query ($id: ID!) { user(by: {id: $id}) { likedPosts { edges { likedAt node { id } } } } }", id=id_of(bob)
    )

    assert asked.data["user"]["likedPosts"]["edges"] == [
        {"likedAt": minute(6), "node": {"id": id_of(first)}},
        {"likedAt": minute(5), "node": {"id": id_of(second)}},
    ]
    assert asked.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}


async def test_the_comments_of_a_post_in_the_order_they_were_made(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    for author, content in ((bob, "First."), (ada, "Second."), (bob, "Third.")):
        await society.comment(author, post, content)

    asked = await graph.ask(
        "query ($id: ID!) { post(by: {id: $id}) { comments { totalCount nodes { content createdAt } } } }",
        id=id_of(post),
    )

    assert asked.data["post"]["comments"] == {
        "totalCount": 3,
        "nodes": [
            {"content": "First.", "createdAt": minute(4)},
            {"content": "Second.", "createdAt": minute(5)},
            {"content": "Third.", "createdAt": minute(6)},
        ],
    }
    assert asked.calls == {"GetItem": 1, "Query": 1}


async def test_the_comments_of_a_user_newest_first(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    for content in ("First.", "Second."):
        await society.comment(bob, post, content)

    asked = await graph.ask(
        "query ($id: ID!) { user(by: {id: $id}) { comments { nodes { content post { id } } } } }", id=id_of(bob)
    )

    assert asked.data["user"]["comments"]["nodes"] == [
        {"content": "Second.", "post": {"id": id_of(post)}},
        {"content": "First.", "post": {"id": id_of(post)}},
    ]
    assert asked.calls == {"GetItem": 2, "Query": 1}


async def test_one_comment_by_its_id(graph, society):
    ada = await society.person("ada")
    comment = await society.comment(ada, await society.post(ada), "Hm.")

    asked = await graph.ask("query ($id: ID!) { node(id: $id) { ... on Comment { content } } }", id=id_of(comment))

    assert asked.data["node"] == {"content": "Hm."}
    # The comment, and its post: it is seen as long as that is.
    assert asked.calls == {"BatchGetItem": 1}


async def test_whom_a_user_follows_and_who_follows_them(graph, society):
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    await society.follow(ada, bob)
    await society.follow(eve, bob)
    query = """query ($id: ID!) { user(by: {id: $id}) { followerCount followingCount
        followers { totalCount edges { followedAt node { username } } }
        following { totalCount edges { followedAt node { username } } } } }"""

    of_bob = await graph.ask(query, id=id_of(bob))
    of_ada = await graph.ask(query, id=id_of(ada))

    assert of_bob.data["user"] == {
        "followerCount": 2,
        "followingCount": 0,
        "followers": {
            "totalCount": 2,
            "edges": [
                {"followedAt": minute(5), "node": {"username": "eve"}},
                {"followedAt": minute(4), "node": {"username": "ada"}},
            ],
        },
        "following": {"totalCount": 0, "edges": []},
    }
    assert of_ada.data["user"]["following"]["edges"] == [{"followedAt": minute(4), "node": {"username": "bob"}}]
    assert of_bob.calls == {"GetItem": 1, "Query": 2, "BatchGetItem": 1}


async def test_whether_one_follows_the_other(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    await society.follow(ada, bob)
    query = "query ($id: ID!) { user(by: {id: $id}) { viewerFollows followsViewer } }"

    by_ada = await graph.ask(query, viewer_of(ada), id=id_of(bob))
    by_bob = await graph.ask(query, viewer_of(bob), id=id_of(ada))
    by_nobody = await graph.ask(query, id=id_of(ada))

    assert by_ada.data["user"] == {"viewerFollows": True, "followsViewer": False}
    assert by_bob.data["user"] == {"viewerFollows": False, "followsViewer": True}
    assert by_nobody.data["user"] == {"viewerFollows": False, "followsViewer": False}
    assert by_ada.calls == {"GetItem": 1, "BatchGetItem": 1}


@pytest.mark.engine_contract
async def test_the_post_page_is_three_calls(graph, society):
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    post = await society.post(ada)
    for number in range(25):
        await society.comment((bob, eve)[number % 2], post, f"Comment {number}.")
    await society.like(bob, post)

    asked = await graph.ask(
        """query ($id: ID!) { post(by: {id: $id}) { likeCount commentCount viewerHasLiked author { username }
            comments(first: 20) { nodes { content author { username } } pageInfo { hasNextPage } } } }""",
        viewer_of(bob),
        id=id_of(post),
    )

    found = asked.data["post"]
    assert (found["likeCount"], found["commentCount"], found["viewerHasLiked"]) == (1, 25, True)
    assert found["author"] == {"username": "ada"}
    assert found["comments"]["nodes"] == [
        {"content": f"Comment {number}.", "author": {"username": ("bob", "eve")[number % 2]}} for number in range(20)
    ]
    assert found["comments"]["pageInfo"] == {"hasNextPage": True}
    assert asked.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}


@pytest.mark.engine_contract
async def test_the_profile_page_is_one_query_and_what_it_leads_to(graph, society):
    ada, bob = await society.person("ada", bio="Poet of numbers."), await society.person("bob")
    posts = [await society.post(ada) for _ in range(3)]
    await society.follow(bob, ada)

    asked = await graph.ask(
        """{ user(by: {username: "ada"}) { displayName bio followerCount followingCount postCount viewerFollows
            posts(first: 20) { nodes { id likeCount } } followers(first: 5) { nodes { username } } } }""",
        viewer_of(bob),
    )

    assert asked.data["user"] == {
        "displayName": None,
        "bio": "Poet of numbers.",
        "followerCount": 1,
        "followingCount": 0,
        "postCount": 3,
        "viewerFollows": True,
        "posts": {"nodes": [{"id": id, "likeCount": 0} for id in ids(*reversed(posts))]},
        "followers": {"nodes": [{"username": "bob"}]},
    }
    # The viewer's own follow is among the followers, so only the follower is left to be read.
    assert asked.calls == {"Query": 3, "GetItem": 1}


async def test_a_feed_with_authors_comments_and_commenters_costs_the_least_there_can_be(graph, society):
    people = [await society.person(f"person{number}") for number in range(5)]
    for number in range(20):
        post = await society.post(people[number % 5])
        await society.comment(people[(number + 1) % 5], post)

    asked = await graph.ask(
        """{ feed(first: 20) { nodes { caption viewerHasLiked author { username }
            comments(first: 5) { nodes { content author { username } } } } } }""",
        viewer_of(people[0]),
    )

    assert [node["author"]["username"] for node in asked.data["feed"]["nodes"]] == [
        f"person{number % 5}" for number in reversed(range(20))
    ]
    assert asked.calls == {"Query": 21, "BatchGetItem": 1}


async def test_a_deleted_post_is_nowhere(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada, deleted_at=now(), feed_shard=None)
    await society.like(ada, post)

    asked = await graph.ask(
        """query ($id: ID!) { post(by: {id: $id}) { id } node(id: $id) { id } feed { nodes { id } }
            user(by: {username: "ada"}) { posts { nodes { id } } likedPosts { nodes { id } } } }""",
        id=id_of(post),
    )

    nothing = {"nodes": []}
    assert asked.data == {
        "post": None,
        "node": None,
        "feed": nothing,
        "user": {"posts": nothing, "likedPosts": nothing},
    }


async def test_links_to_a_deleted_account_are_left_out(graph, society):
    ada, gone = await society.person("ada"), await society.person("gone", deleted_at=now(), expires_at=4_000_000_000)
    post = await society.post(ada)
    await society.like(gone, post)
    await society.follow(gone, ada)
    await society.comment(gone, post)

    asked = await graph.ask(
        """query ($id: ID!) { post(by: {id: $id}) { likes { nodes { username } } comments { nodes { author {
            username } } }
            author { followers { nodes { username } } } } }""",
        id=id_of(post),
    )

    assert asked.data["post"] == {
        "likes": {"nodes": []},
        "comments": {"nodes": [{"author": None}]},
        "author": {"followers": {"nodes": []}},
    }


async def test_counts_in_shards_are_added_up(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada, like_count=10, comment_count=3, counter_shards=3)
    shares = [(4, 1), (-1, 0), (2, -1)]
    await graph.table.batch_write(
        puts=[
            PostCounter(post_id=post.post_id, shard=shard, like_count=likes, comment_count=comments)
            for shard, (likes, comments) in enumerate(shares)
        ]
    )

    asked = await graph.ask(
        "query ($id: ID!) { post(by: {id: $id}) { likeCount commentCount likes { totalCount } } }", id=id_of(post)
    )

    assert asked.data["post"] == {"likeCount": 15, "commentCount": 3, "likes": {"totalCount": 15}}


async def test_notifications_are_for_oneself(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    note = Notification(
        user_id=ada.user_id,
        notification_id="n1",
        kind=NotificationKind.LIKE,
        actor_id=bob.user_id,
        expires_at=4_000_000_000,
        **about(post.own_key),
    )
    await graph.table.put(note)
    query = (
        "query ($id: ID!) { user(by: {id: $id}) { notifications { nodes { kind actor { username } post { id } } } } }"
    )

    to_ada = await graph.ask(query, viewer_of(ada), id=id_of(ada))
    to_bob = await graph.ask(query, viewer_of(bob), id=id_of(ada))
    by_id = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", viewer_of(bob), id=id_of(note))

    assert to_ada.data["user"]["notifications"]["nodes"] == [
        {"kind": "LIKE", "actor": {"username": "bob"}, "post": {"id": id_of(post)}}
    ]
    assert to_ada.calls == {"GetItem": 3, "Query": 1}
    assert to_bob.data["user"]["notifications"] is None
    assert by_id.data == {"node": None}


def test_links_are_not_nodes():
    assert has_ids(Post)
    assert not has_ids(Like)


async def test_a_home_feed_is_for_oneself(graph, society):
    ada = await society.person("ada")
    query = "query ($id: ID!) { user(by: {id: $id}) { homeFeed { nodes { id } } } }"

    assert (await graph.ask(query, Viewer("id-bob"), id=id_of(ada))).data["user"]["homeFeed"] is None
    assert (await graph.ask(query, viewer_of(ada), id=id_of(ada))).data["user"]["homeFeed"] == {"nodes": []}
