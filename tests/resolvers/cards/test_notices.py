"""Notifications of comments and votes on cards, and of cards in collections."""

from tests.support.graph import id_of, mutation, viewer_of
from tests.support.notifications import groups, sources, stored, texts

COMMENT = mutation("addCardComment", "comment { id }")
DELETE_COMMENT = mutation("deleteCardComment", "deletedCommentId")
VOTE = mutation("vote", "vote { direction }")
ADD = mutation("addToCollection", "collection { id }")
REMOVE = mutation("removeFromCollection", "collection { id }")


async def test_comments_on_a_card(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"), title="A shelf")
    said = await graph.command(COMMENT, viewer_of(bob), cardId=id_of(card), content="Fine.")
    await graph.command(COMMENT, viewer_of(ada), cardId=id_of(card), content="Thanks.")

    (group,) = await groups(graph, ada)
    assert group["text"] == "bob commented on your card “A shelf”."
    assert group["target"] == {"__typename": "Card", "id": id_of(card)}

    await graph.command(DELETE_COMMENT, viewer_of(bob), commentId=said["comment"]["id"])
    assert await texts(graph, ada) == []
    assert await stored(graph, ada) == (0, 0)


async def test_upvotes_are_notified_and_downvotes_are_not(graph, workshop):
    ada, bob, cyd = [await workshop.person(name) for name in ("ada", "bob", "cyd")]
    card = await workshop.card(ada, await workshop.category("wood"), title="A shelf")
    comment = await workshop.comment(bob, card, content="Fine.")

    for person, ballot in ((bob, "UP"), (cyd, "UP"), (ada, "UP")):
        await graph.command(VOTE, viewer_of(person), targetId=id_of(card), ballot=ballot)
    await graph.command(VOTE, viewer_of(cyd), targetId=id_of(comment), ballot="UP")

    assert await texts(graph, ada) == ["cyd and bob upvoted your card “A shelf”."]
    assert await texts(graph, bob) == ["cyd upvoted your comment “Fine”."]

    await graph.command(VOTE, viewer_of(bob), targetId=id_of(card), ballot="DOWN")
    await graph.command(VOTE, viewer_of(cyd), targetId=id_of(comment), ballot="WITHDRAW")
    assert await texts(graph, ada) == ["cyd upvoted your card “A shelf”."]
    assert await texts(graph, bob) == []


async def test_cards_in_public_collections_of_others(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"), title="A shelf")
    public, other = await workshop.collection(bob), await workshop.collection(bob)
    secret, own = await workshop.collection(bob, is_public=False), await workshop.collection(ada)

    for person, collection in ((bob, secret), (ada, own), (bob, public)):
        await graph.command(ADD, viewer_of(person), collectionId=id_of(collection), cardId=id_of(card))
    assert await texts(graph, ada) == ["bob added your card “A shelf” to a collection."]

    await graph.command(ADD, viewer_of(bob), collectionId=id_of(other), cardId=id_of(card))
    assert await texts(graph, ada) == ["Your card “A shelf” was added to 2 collections, the latest by bob."]

    for collection in (public, other):
        await graph.command(REMOVE, viewer_of(bob), collectionId=id_of(collection), cardId=id_of(card))
    assert await texts(graph, ada) == []
    assert await sources(graph) == 0
