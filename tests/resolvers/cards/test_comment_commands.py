"""Comments on cards: authors, cards and counts."""

from dataclasses import replace

import pytest

from datastore.cards import Card, CardComment, CardStatus, VoteDirection
from datastore.client.writes import Update
from datastore.model.times import now
from loaders.viewer import ANONYMOUS
from tests.resolvers.cards.card_mutations import ARCHIVE, EMPTY, NO_CARD, NO_COMMENT
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT, UNAUTHENTICATED, in_table
from tests.support.cards import counts_of_card, do_all_jobs
from tests.support.graph import Graph, id_of, mutation, problem, viewer_of

SAY = mutation("addCardComment", "comment { id content author { username } card { commentCount } }")
EDIT = mutation("updateCardComment", "comment { content }")
UNSAY = mutation("deleteCardComment", "deletedCommentId card { commentCount }")

NOT_ONES_OWN = problem("FORBIDDEN", "only its author may edit a comment", "input", "commentId")
NOT_ONES_OWN_TO_DELETE = problem(
    "FORBIDDEN", "only its author and the author of the card may delete a comment", "input", "commentId"
)


async def comment_counts(graph: Graph, card: Card) -> tuple[int, int]:
    """Returns the comment count of a card and the number of comments stored."""
    found = await counts_of_card(graph, card)
    page = await graph.table.query(CardComment.within(card_id=card.card_id), limit=1_000, consistent=True)
    return found.comment_count, len(page.records)


async def test_saying_something_about_a_card(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))

    asked = await graph.ask(SAY, viewer_of(bob), input={"cardId": id_of(card), "content": " Nice. "})

    comment = asked.data["addCardComment"]["comment"]
    assert asked.data["addCardComment"] == {
        "comment": {
            "id": comment["id"],
            "content": "Nice.",
            "author": {"username": "bob"},
            "card": {"commentCount": 1},
        },
        "problems": [],
    }
    # The card and the transaction; then the selection of the updated card and its author.
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1, "BatchGetItem": 1}
    assert await comment_counts(graph, card) == (1, 1)
    read = await graph.ask("query ($id: ID!) { card(by: {id: $id}) { comments { nodes { id } } } }", id=id_of(card))
    assert read.data["card"]["comments"]["nodes"] == [{"id": comment["id"]}]


async def test_saying_it_otherwise(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))
    comment = await workshop.comment(bob, card)
    await workshop.vote(ada, comment)

    asked = await graph.ask(EDIT, viewer_of(bob), input={"commentId": id_of(comment), "content": " Otherwise. "})

    assert asked.data["updateCardComment"] == {"comment": {"content": "Otherwise."}, "problems": []}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    after = await graph.table.get(comment.own_key)
    assert after == comment.changed(content="Otherwise.", updated_at=after.updated_at)
    assert after.updated_at > comment.updated_at


@pytest.mark.parametrize("who", ["its author", "the author of the card"])
async def test_deleting_a_comment_takes_its_votes_along(graph, workshop, who):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))
    comment, other = await workshop.comment(bob, card), await workshop.comment(bob, card)
    for voter in (ada, bob):
        await workshop.vote(voter, comment, VoteDirection.DOWN)
    kept = [await workshop.vote(ada, other), await workshop.vote(bob, card)]
    viewer = viewer_of(bob if who == "its author" else ada)

    asked = await graph.ask(UNSAY, viewer, input={"commentId": id_of(comment)})
    again = await graph.command(UNSAY, viewer, commentId=id_of(comment))
    await do_all_jobs(graph)

    assert asked.data["deleteCardComment"] == {
        "deletedCommentId": id_of(comment),
        "card": {"commentCount": 1},
        "problems": [],
    }
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1}
    assert again == {"deletedCommentId": None, "card": None, "problems": [NO_COMMENT]}
    assert await comment_counts(graph, card) == (1, 1)
    left = {item["targetId"]["S"] for item in await in_table(graph, "Vote")}
    assert left == {vote.target_id for vote in kept}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", EMPTY),
        (" \n", EMPTY),
        ("x" * 2_001, "this has 2001 characters; at most 2000 are allowed"),
        ("a\x07b", "control characters are not allowed"),
    ],
    ids=["none", "space", "long", "control"],
)
async def test_what_cannot_be_said(graph, workshop, content, message):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))
    comment = await workshop.comment(ada, card)

    said = await graph.ask(SAY, viewer_of(ada), input={"cardId": id_of(card), "content": content})
    edited = await graph.ask(EDIT, viewer_of(ada), input={"commentId": id_of(comment), "content": content})

    expected = {"comment": None, "problems": [problem("INVALID", message, "input", "content")]}
    assert [said.data["addCardComment"], edited.data["updateCardComment"]] == [expected, expected]
    assert [said.calls, edited.calls] == [{}, {}]
    assert await comment_counts(graph, card) == (1, 1)


async def test_a_long_comment_in_any_script_is_fine(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))

    payload = await graph.command(SAY, viewer_of(ada), cardId=id_of(card), content="世" * 2_000)

    assert payload["comment"]["content"] == "世" * 2_000


@pytest.mark.parametrize("kind", ["draft", "own draft", "archived", "own archived", "deleted", "hidden", "no card"])
async def test_what_nothing_can_be_said_about(graph, workshop, kind):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    status = next((status for status in CardStatus if status.value.lower() in kind), CardStatus.PUBLISHED)
    gone = {f"{kind}_at": now()} if kind in ("deleted", "hidden") else {}
    card = await workshop.card(bob if "own" in kind else ada, await workshop.category("wood"), status, **gone)
    target = replace(card, card_id="nothing") if kind == "no card" else card

    payload = await graph.command(SAY, viewer_of(bob), cardId=id_of(target), content="Hm.")

    assert payload == {"comment": None, "problems": [NO_CARD]}
    assert await comment_counts(graph, card) == (0, 0)


async def test_comments_are_changed_by_whose_they_are(graph, workshop):
    author, talker, other = [await workshop.person(name) for name in ("author", "talker", "other")]
    card = await workshop.card(author, await workshop.category("wood"))
    comment = await workshop.comment(talker, card)
    refused = {
        "nobody": (ANONYMOUS, UNAUTHENTICATED, UNAUTHENTICATED),
        "other": (viewer_of(other), NOT_ONES_OWN, NOT_ONES_OWN_TO_DELETE),
        "admin": (viewer_of(other, "admin"), NOT_ONES_OWN, NOT_ONES_OWN_TO_DELETE),
    }

    for viewer, cannot_edit, cannot_delete in refused.values():
        edited = await graph.command(EDIT, viewer, commentId=id_of(comment), content="Mine.")
        deleted = await graph.command(UNSAY, viewer, commentId=id_of(comment))
        assert (edited["problems"], deleted["problems"]) == ([cannot_edit], [cannot_delete])
    by_author = await graph.command(EDIT, viewer_of(author), commentId=id_of(comment), content="Mine.")

    assert by_author["problems"] == [NOT_ONES_OWN]
    assert await graph.table.get(comment.own_key) == comment


async def test_a_closed_account_says_and_takes_back_nothing(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob", deleted_at=now())
    card = await workshop.card(ada, await workshop.category("wood"))
    comment = await workshop.comment(bob, card)

    payloads = [
        await graph.command(SAY, viewer_of(bob), cardId=id_of(card), content="Hm."),
        await graph.command(EDIT, viewer_of(bob), commentId=id_of(comment), content="Hm."),
        await graph.command(UNSAY, viewer_of(bob), commentId=id_of(comment)),
    ]

    assert [payload["problems"] for payload in payloads] == [[NO_ACCOUNT]] * 3
    assert await graph.table.get(comment.own_key) == comment
    assert await comment_counts(graph, card) == (1, 1)


async def test_of_an_archived_card_only_its_author_still_takes_comments_away(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))
    first, second = await workshop.comment(bob, card), await workshop.comment(bob, card)
    await graph.command(ARCHIVE, viewer_of(ada), cardId=id_of(card))

    edited = await graph.command(EDIT, viewer_of(bob), commentId=id_of(first), content="Hm.")
    deleted = await graph.command(UNSAY, viewer_of(bob), commentId=id_of(first))
    by_author = await graph.command(UNSAY, viewer_of(ada), commentId=id_of(second))

    assert [edited["problems"], deleted["problems"]] == [[NO_COMMENT]] * 2
    assert by_author["card"] == {"commentCount": 1}
    assert await comment_counts(graph, card) == (1, 1)


async def test_a_hidden_comment_is_not_there(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))
    comment = await workshop.comment(bob, card)
    await graph.table.update(Update(comment.own_key, set={"hidden_at": now()}))

    edited = await graph.command(EDIT, viewer_of(bob), commentId=id_of(comment), content="Hm.")
    deleted = await graph.command(UNSAY, viewer_of(ada), commentId=id_of(comment))

    assert [edited["problems"], deleted["problems"]] == [[NO_COMMENT]] * 2
