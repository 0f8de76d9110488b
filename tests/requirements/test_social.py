"""The social network: people, posts, likes, comments and follows."""

import asyncio
from dataclasses import replace

from datastore.local import provision
from resolvers.social.post_counters import COUNTER_SHARDS, shard_counters
from tests.requirements.items import days_kept, stored_items
from tests.support.cms import codes, command
from tests.support.graph import id_of, listed, viewer_of
from tests.support.requirements import Document

social = Document("Social network")


@social.access_pattern("User by ID", calls={"GetItem": 1})
async def test_user_by_id(society, ask):
    ada = await society.person("ada")

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { username } }", id=id_of(ada))

    assert asked.data == {"user": {"username": "ada"}}


@social.access_pattern("User by username", calls={"Query": 1})
async def test_user_by_username(society, ask):
    ada = await society.person("ada")

    asked = await ask('{ user(by: {username: "ada"}) { id } }')

    assert asked.data == {"user": {"id": id_of(ada)}}


@social.access_pattern("User by email, for its owner and administrators", calls={"Query": 1})
async def test_user_by_email(society, ask):
    ada = await society.person("ada")

    asked = await ask('{ user(by: {email: "ada@example.org"}) { id } }', viewer_of(ada))

    assert asked.data == {"user": {"id": id_of(ada)}}


@social.access_pattern("Post by ID", calls={"GetItem": 1})
async def test_post_by_id(society, ask):
    post = await society.post(await society.person("ada"), caption="Look.")

    asked = await ask("query ($id: ID!) { post(by: {id: $id}) { caption imageUrl } }", id=id_of(post))

    assert asked.data == {"post": {"caption": "Look.", "imageUrl": post.image_url}}


@social.access_pattern("Posts of a user, newest first", calls={"GetItem": 1, "Query": 1})
async def test_posts_of_a_user(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    first, _, second = await society.post(ada), await society.post(bob), await society.post(ada)

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { posts { nodes { id } } } }", id=id_of(ada))

    assert asked.data == {"user": {"posts": listed(second, first)}}


@social.access_pattern("Global feed of all posts, newest first", calls={"Query": 1})
async def test_global_feed(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    posts = [await society.post(author) for author in (ada, bob, ada)]

    asked = await ask("{ feed { nodes { id } } }")

    assert asked.data == {"feed": listed(*reversed(posts))}


@social.access_pattern("Likes of a post, with the users", calls={"GetItem": 1, "Query": 1, "BatchGetItem": 1})
async def test_likes_of_a_post(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    for person in (bob, ada):
        await society.like(person, post)

    asked = await ask("query ($id: ID!) { post(by: {id: $id}) { likes { nodes { username } } } }", id=id_of(post))

    assert asked.data == {"post": {"likes": {"nodes": [{"username": "ada"}, {"username": "bob"}]}}}


@social.access_pattern("Check if the viewer likes a post", calls={"GetItem": 2})
async def test_viewer_likes_a_post(society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)
    await society.like(ada, post)

    asked = await ask("query ($id: ID!) { post(by: {id: $id}) { viewerHasLiked } }", viewer_of(ada), id=id_of(post))

    assert asked.data == {"post": {"viewerHasLiked": True}}


@social.access_pattern(
    "Posts that a user likes, latest like first", calls={"GetItem": 1, "Query": 1, "BatchGetItem": 1}
)
async def test_posts_a_user_likes(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    first, second = await society.post(ada), await society.post(ada)
    for post in (second, first):
        await society.like(bob, post)

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { likedPosts { nodes { id } } } }", id=id_of(bob))

    assert asked.data == {"user": {"likedPosts": listed(first, second)}}


LIKE = command("likePost", "post { likeCount }")
UNLIKE = command("unlikePost", "post { likeCount }")


@social.operation("Like a post: idempotent, counted once", calls={"GetItem": 2, "TransactWriteItems": 1})
async def test_like_a_post(graph, society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)

    asked = await ask(LIKE, viewer_of(ada), input={"postId": id_of(post)})
    again = await graph.command(LIKE, viewer_of(ada), postId=id_of(post))

    assert asked.data["likePost"] == again == {"post": {"likeCount": 1}, "problems": []}


@social.operation("Remove a like", calls={"GetItem": 2, "TransactWriteItems": 1})
async def test_remove_a_like(society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)
    await society.like(ada, post)

    asked = await ask(UNLIKE, viewer_of(ada), input={"postId": id_of(post)})

    assert asked.data == {"unlikePost": {"post": {"likeCount": 0}, "problems": []}}


@social.access_pattern("Comments on a post, oldest first", calls={"GetItem": 1, "Query": 1})
async def test_comments_on_a_post(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    comments = [await society.comment(author, post) for author in (bob, ada, bob)]

    asked = await ask("query ($id: ID!) { post(by: {id: $id}) { comments { nodes { id } } } }", id=id_of(post))

    assert asked.data == {"post": {"comments": listed(*comments)}}


@social.access_pattern("Comments of a user, newest first", calls={"GetItem": 2, "Query": 1})
async def test_comments_of_a_user(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    first, _, second = [await society.comment(author, post) for author in (bob, ada, bob)]

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { comments { nodes { id } } } }", id=id_of(bob))

    assert asked.data == {"user": {"comments": listed(second, first)}}


@social.access_pattern("Comment by ID, together with its post, which decides who sees it", calls={"BatchGetItem": 1})
async def test_comment_by_id(society, ask):
    ada = await society.person("ada")
    comment = await society.comment(ada, await society.post(ada), "Hm.")

    asked = await ask("query ($id: ID!) { node(id: $id) { ... on Comment { content } } }", id=id_of(comment))

    assert asked.data == {"node": {"content": "Hm."}}


@social.operation("Add a comment", calls={"GetItem": 2, "TransactWriteItems": 1})
async def test_add_a_comment(society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)
    query = command("addComment", "comment { content post { commentCount } }")

    asked = await ask(query, viewer_of(ada), input={"postId": id_of(post), "content": "Hm."})

    assert asked.data == {"addComment": {"comment": {"content": "Hm.", "post": {"commentCount": 1}}, "problems": []}}


@social.operation("Edit a comment", calls={"GetItem": 2, "TransactWriteItems": 1})
async def test_edit_a_comment(society, ask):
    ada = await society.person("ada")
    comment = await society.comment(ada, await society.post(ada))
    query = command("updateComment", "comment { content }")

    asked = await ask(query, viewer_of(ada), input={"commentId": id_of(comment), "content": "Better."})

    assert asked.data == {"updateComment": {"comment": {"content": "Better."}, "problems": []}}


@social.operation("Delete a comment", calls={"GetItem": 3, "TransactWriteItems": 1})
async def test_delete_a_comment(society, ask):
    ada = await society.person("ada")
    comment = await society.comment(ada, await society.post(ada))
    query = command("deleteComment", "deletedCommentId post { commentCount }")

    asked = await ask(query, viewer_of(ada), input={"commentId": id_of(comment)})

    gone = {"deletedCommentId": id_of(comment), "post": {"commentCount": 0}, "problems": []}
    assert asked.data == {"deleteComment": gone}


@social.access_pattern("Users that a user follows", calls={"GetItem": 1, "Query": 1, "BatchGetItem": 1})
async def test_users_that_a_user_follows(society, ask):
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    for followed in (bob, eve):
        await society.follow(ada, followed)

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { following { nodes { id } } } }", id=id_of(ada))

    assert asked.data == {"user": {"following": listed(eve, bob)}}


@social.access_pattern("Followers of a user", calls={"GetItem": 1, "Query": 1, "BatchGetItem": 1})
async def test_followers_of_a_user(society, ask):
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    for follower in (bob, eve):
        await society.follow(follower, ada)

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { followers { nodes { id } } } }", id=id_of(ada))

    assert asked.data == {"user": {"followers": listed(eve, bob)}}


@social.access_pattern("Check if the viewer follows a user", calls={"GetItem": 2})
async def test_viewer_follows_a_user(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    await society.follow(ada, bob)

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { viewerFollows } }", viewer_of(ada), id=id_of(bob))

    assert asked.data == {"user": {"viewerFollows": True}}


FOLLOW = command("followUser", "user { followerCount }")
UNFOLLOW = command("unfollowUser", "user { followerCount }")


@social.operation("Follow a user: idempotent, counted once", calls={"GetItem": 2, "TransactWriteItems": 1})
async def test_follow_a_user(graph, society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")

    asked = await ask(FOLLOW, viewer_of(ada), input={"userId": id_of(bob)})
    again = await graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob))

    assert asked.data["followUser"] == again == {"user": {"followerCount": 1}, "problems": []}


@social.operation("Unfollow a user", calls={"GetItem": 2, "TransactWriteItems": 1})
async def test_unfollow_a_user(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    await society.follow(ada, bob)

    asked = await ask(UNFOLLOW, viewer_of(ada), input={"userId": id_of(bob)})

    assert asked.data == {"unfollowUser": {"user": {"followerCount": 0}, "problems": []}}


@social.operation("Publish a post", calls={"GetItem": 1, "TransactWriteItems": 1})
async def test_publish_a_post(society, ask):
    ada = await society.person("ada")
    query = command("createPost", "post { caption author { postCount } }")

    asked = await ask(query, viewer_of(ada), input={"imageUrl": "https://x.org/y.jpg", "caption": "Look."})

    published = {"post": {"caption": "Look.", "author": {"postCount": 1}}, "problems": []}
    assert asked.data == {"createPost": published}


@social.access_pattern(
    "Home feed: posts of the users that the viewer follows, newest first",
    calls={"GetItem": 1, "Query": 3, "BatchGetItem": 1},
)
async def test_home_feed(graph, society, ask):
    ada, bob, eve, stranger = [await society.person(name) for name in ("ada", "bob", "eve", "stranger")]
    for followed in (bob, eve):
        await society.follow(ada, followed)
    first, _, second, third = [await society.post(author) for author in (bob, stranger, eve, bob)]
    await graph.settle(jobs=True)

    asked = await ask("{ viewer { homeFeed { nodes { id } } } }", viewer_of(ada))

    assert asked.data == {"viewer": {"homeFeed": listed(third, second, first)}}


@social.access_pattern(
    "Post page: counts, first 20 comments and whether the viewer likes it", calls={"GetItem": 2, "Query": 1}
)
async def test_post_page(society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)
    comments = [await society.comment(ada, post) for _ in range(21)]
    await society.like(ada, post)

    asked = await ask(
        """query ($id: ID!) { post(by: {id: $id}) { likeCount commentCount viewerHasLiked
            comments(first: 20) { nodes { id } } } }""",
        viewer_of(ada),
        id=id_of(post),
    )

    page = {"likeCount": 1, "commentCount": 21, "viewerHasLiked": True, "comments": listed(*comments[:20])}
    assert asked.data == {"post": page}


@social.access_pattern("Profile page: counts and the latest 20 posts", calls={"GetItem": 1, "Query": 1})
async def test_profile_page(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    posts = [await society.post(ada) for _ in range(21)]
    await society.follow(bob, ada)

    asked = await ask(
        """query ($id: ID!) { user(by: {id: $id}) { followerCount followingCount postCount
            posts(first: 20) { nodes { id } } } }""",
        id=id_of(ada),
    )

    page = {"followerCount": 1, "followingCount": 0, "postCount": 21, "posts": listed(*posts[:0:-1])}
    assert asked.data == {"user": page}


SIGN_UP = command("signUp", "user { username }")
GOOD = {"username": "ada", "email": "ada@example.org", "password": "correct horse"}


@social.rule("A username belongs to one account", calls={"TransactWriteItems": 1})
async def test_username_is_unique(society, ask):
    await society.person("ada")

    asked = await ask(SIGN_UP, input={**GOOD, "email": "another@example.org"})

    assert codes(asked.data["signUp"]) == [("TAKEN", "username")]


@social.rule("An email address belongs to one account", calls={"TransactWriteItems": 1})
async def test_email_is_unique(society, ask):
    await society.person("ada")

    asked = await ask(SIGN_UP, input={**GOOD, "username": "another"})

    assert codes(asked.data["signUp"]) == [("TAKEN", "email")]


@social.rule("Like and comment counts are stored on the post", calls={"GetItem": 1})
async def test_counts_of_a_post(society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)
    await society.like(ada, post)
    for _ in range(2):
        await society.comment(ada, post)

    asked = await ask("query ($id: ID!) { post(by: {id: $id}) { likeCount commentCount } }", id=id_of(post))

    assert asked.data == {"post": {"likeCount": 1, "commentCount": 2}}


@social.rule("Follower, following and post counts are stored on the user", calls={"GetItem": 1})
async def test_counts_of_a_user(society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    await society.follow(bob, ada)
    await society.post(ada)

    asked = await ask(
        "query ($id: ID!) { user(by: {id: $id}) { followerCount followingCount postCount } }", id=id_of(ada)
    )

    assert asked.data == {"user": {"followerCount": 1, "followingCount": 0, "postCount": 1}}


@social.rule("Of concurrent likes by one user, one is stored and counted", calls={"GetItem": 1})
async def test_concurrent_likes_count_once(graph, society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)

    await asyncio.gather(*(graph.command(LIKE, viewer_of(ada), postId=id_of(post)) for _ in range(5)))

    asked = await ask("query ($id: ID!) { post(by: {id: $id}) { likeCount } }", id=id_of(post))
    assert asked.data == {"post": {"likeCount": 1}}
    assert len(await stored_items(graph, "Like")) == 1


@social.rule("Of concurrent follows by one user, one is stored and counted", calls={"GetItem": 1})
async def test_concurrent_follows_count_once(graph, society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")

    await asyncio.gather(*(graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob)) for _ in range(5)))

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { followerCount } }", id=id_of(bob))
    assert asked.data == {"user": {"followerCount": 1}}
    assert len(await stored_items(graph, "Follow")) == 1


async def second_page(graph, ask, query, id, viewer):
    """The page after the first one, which has one item too."""
    first = (await graph.ask(query, viewer, id=id)).data["node"]["list"]
    assert first["pageInfo"]["hasNextPage"]
    return (await ask(query, viewer, id=id, after=first["pageInfo"]["endCursor"])).data["node"]["list"]


def one_by_one(kind, field):
    return f"""query ($id: ID!, $after: String) {{ node(id: $id) {{ ... on {kind} {{
        list: {field}(first: 1, after: $after) {{ nodes {{ id }} pageInfo {{ hasNextPage endCursor }} }} }} }} }}"""


@social.rule("Comments are paginated", calls={"GetItem": 1, "Query": 1})
async def test_comments_are_paginated(graph, society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)
    comments = [await society.comment(ada, post) for _ in range(2)]

    page = await second_page(graph, ask, one_by_one("Post", "comments"), id_of(post), viewer_of(ada))

    assert page["nodes"] == listed(comments[1])["nodes"]
    assert not page["pageInfo"]["hasNextPage"]


@social.rule("Posts are paginated", calls={"GetItem": 1, "Query": 1})
async def test_posts_are_paginated(graph, society, ask):
    ada = await society.person("ada")
    posts = [await society.post(ada) for _ in range(2)]

    page = await second_page(graph, ask, one_by_one("User", "posts"), id_of(ada), viewer_of(ada))

    assert page["nodes"] == listed(posts[0])["nodes"]
    assert not page["pageInfo"]["hasNextPage"]


@social.rule("Likes are paginated", calls={"GetItem": 2, "Query": 1})
async def test_likes_are_paginated(graph, society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    for person in (ada, bob):
        await society.like(person, post)

    page = await second_page(graph, ask, one_by_one("Post", "likes"), id_of(post), viewer_of(ada))

    assert page["nodes"] == listed(ada)["nodes"]
    assert not page["pageInfo"]["hasNextPage"]


@social.rule("Followers are paginated", calls={"GetItem": 2, "Query": 1})
async def test_followers_are_paginated(graph, society, ask):
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    for follower in (bob, eve):
        await society.follow(follower, ada)

    page = await second_page(graph, ask, one_by_one("User", "followers"), id_of(ada), viewer_of(ada))

    assert page["nodes"] == listed(bob)["nodes"]
    assert not page["pageInfo"]["hasNextPage"]


@social.rule("Followed users are paginated", calls={"GetItem": 2, "Query": 1})
async def test_followed_users_are_paginated(graph, society, ask):
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    for followed in (bob, eve):
        await society.follow(ada, followed)

    page = await second_page(graph, ask, one_by_one("User", "following"), id_of(ada), viewer_of(ada))

    assert page["nodes"] == listed(bob)["nodes"]
    assert not page["pageInfo"]["hasNextPage"]


@social.rule("A post with many writes spreads its counters over 16 shards", calls={"GetItem": 1, "BatchGetItem": 1})
async def test_counters_in_shards(graph, society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await society.like(ada, post)
    await shard_counters(graph.context().load, post)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))

    asked = await ask("query ($id: ID!) { post(by: {id: $id}) { likeCount } }", id=id_of(post))

    assert asked.data == {"post": {"likeCount": 2}}
    assert COUNTER_SHARDS == 16


@social.rule("The global feed can be spread over partitions (`FEED_SHARDS`)", calls={"Query": 5})
async def test_feed_in_shards(graph, society, ask):
    ada = await society.person("ada")
    posts = [await society.post(ada, feed_shard=shard) for shard in (0, 1, 2, 3, 4)]
    graph.services.options = replace(graph.services.options, feed_shards=4)

    asked = await ask("{ feed { nodes { id } } }")

    assert asked.data == {"feed": listed(*reversed(posts))}


@social.rule("Reads are eventually consistent and cost half a read unit", calls={"GetItem": 1})
async def test_reads_are_eventually_consistent(society, ask):
    post = await society.post(await society.person("ada"))

    asked = await ask("query ($id: ID!) { post(by: {id: $id}) { caption } }", id=id_of(post))

    assert asked.usage.read_units == 0.5


@social.rule(
    "A command reads the record that it changes strongly consistently, from the table",
    calls={"GetItem": 2, "TransactWriteItems": 1},
)
async def test_commands_read_consistently(society, sent, ask):
    ada = await society.person("ada")
    comment = await society.comment(ada, await society.post(ada))
    sent.clear()

    asked = await ask(
        command("updateComment", "comment { content }"),
        viewer_of(ada),
        input={"commentId": id_of(comment), "content": "Better."},
    )

    assert asked.data == {"updateComment": {"comment": {"content": "Better."}, "problems": []}}
    (read,) = [request for request in sent if request.get("Key", {}).get("SK") == {"S": comment.own_key.sk}]
    assert read["ConsistentRead"] is True


@social.rule("The table is billed on demand")
def test_on_demand_billing():
    assert provision.definition("heartwood", stream=True)["BillingMode"] == "PAY_PER_REQUEST"


@social.rule("A comment has at most 1,000 characters", calls={})
async def test_length_of_a_comment(society, ask):
    ada = await society.person("ada")
    post = await society.post(ada)

    asked = await ask(
        command("addComment", "comment { id }"), viewer_of(ada), input={"postId": id_of(post), "content": "x" * 1001}
    )

    assert codes(asked.data["addComment"]) == [("INVALID", "content")]


@social.rule("A post stores the https address of its image, not the image", calls={})
async def test_images_are_addresses(society, ask):
    ada = await society.person("ada")

    asked = await ask(
        command("createPost", "post { id }"), viewer_of(ada), input={"imageUrl": "data:image/png;base64,iVBORw0KGgo="}
    )

    assert codes(asked.data["createPost"]) == [("INVALID", "imageUrl")]


@social.retention("Notifications are kept for 30 days", calls={"GetItem": 1, "Query": 1})
async def test_notifications_are_kept_for_30_days(graph, society, ask):
    ada, bob = await society.person("ada"), await society.person("bob")
    await graph.command(FOLLOW, viewer_of(bob), userId=id_of(ada))
    await graph.settle()

    asked = await ask("{ viewer { notifications { nodes { kind } } } }", viewer_of(ada))

    assert asked.data == {"viewer": {"notifications": {"nodes": [{"kind": "FOLLOW"}]}}}
    assert [days_kept(item) for item in await stored_items(graph, "Notification")] == [30]


social.not_built(
    "Counts kept by a stream processor",
    "operation",
    why="counts change in the transaction that writes the like, comment, follow or post",
)


@social.operation("Home feed materialized by a stream processor")
async def test_materialized_home_feed(graph, society):
    ada, bob, stranger = [await society.person(name) for name in ("ada", "bob", "stranger")]
    await society.follow(ada, bob)
    post, _ = [await society.post(author) for author in (bob, stranger)]
    await graph.settle()

    entries = [(item["PK"]["S"], item["postId"]["S"]) for item in await stored_items(graph, "FeedEntry")]
    assert entries == [(f"HOMEFEED#{ada.user_id}", post.post_id)]


social.not_built(
    "Likes and comments of a viral post spread over partitions",
    "rule",
    why="only counters are sharded; DynamoDB splits a hot partition by sort key",
)
social.not_built("Images stored by the service", "operation", why="posts take the address of an image stored elsewhere")
social.not_built(
    "Archive of old posts",
    "operation",
    why="they cost little in the table, where they can be erased and exported with their authors (decision 65)",
)


@social.operation("Cache for hot data")
async def test_a_cache_for_hot_data(hot, society):
    ada = await society.person("ada")
    post = await society.post(ada, caption="An oak")
    await hot.hears()
    hot.waits()
    query = "query ($id: ID!) { post(by: {id: $id}) { caption author { username } } }"
    expected = {"post": {"caption": "An oak", "author": {"username": "ada"}}}

    first, second = [await hot.graph.ask(query, id=id_of(post)) for _ in range(2)]

    assert (first.data, second.data) == (expected, expected)
    assert (first.calls, second.calls) == ({"GetItem": 2}, {})
