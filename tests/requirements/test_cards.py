"""How-to cards: categories, votes, comments, collections, rankings and search."""

import zlib
from base64 import b64decode

import orjson

from datastore.cards import CardStatus, VoteDirection
from datastore.local import provision
from datastore.model.times import now
from resolvers.search.documents import document_key
from tests.conftest import services_at
from tests.requirements.items import days_kept, stored_items
from tests.support.cards import Workshop, do_all_jobs
from tests.support.cms import codes, command
from tests.support.graph import Graph, id_of, listed, viewer_of
from tests.support.requirements import Document
from tests.support.scripted_service import EmptyNode, scripted_service
from tests.support.social import ids
from tests.system.test_deploy_aws import resources

cards = Document("How-to cards")

UP, DOWN = VoteDirection


async def three_cards(workshop):
    """Their author, and the cards in the order they were published."""
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    return ada, [await workshop.card(ada, wood) for _ in range(3)]


@cards.access_pattern("User profile by ID", calls={"GetItem": 1})
async def test_user_profile(workshop, ask):
    ada = await workshop.person("ada")

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { username } }", id=id_of(ada))

    assert asked.data == {"user": {"username": "ada"}}


@cards.access_pattern("User by username", calls={"Query": 1})
async def test_user_by_username(workshop, ask):
    ada = await workshop.person("ada")

    asked = await ask('{ user(by: {username: "ada"}) { id } }')

    assert asked.data == {"user": {"id": id_of(ada)}}


@cards.access_pattern("Cards of a category, newest first", calls={"GetItem": 1, "Query": 1})
async def test_cards_of_a_category(workshop, ask):
    _, (first, second, third) = await three_cards(workshop)

    asked = await ask('{ category(by: {databaseId: "wood"}) { cards { nodes { id } } } }')

    assert asked.data == {"category": {"cards": listed(third, second, first)}}


@cards.access_pattern("Cards of an author, newest first", calls={"GetItem": 1, "Query": 1})
async def test_cards_of_an_author(workshop, ask):
    ada, (first, second, third) = await three_cards(workshop)

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { cards { nodes { id } } } }", id=id_of(ada))

    assert asked.data == {"user": {"cards": listed(third, second, first)}}


@cards.access_pattern("Card by ID, with instructions and materials", calls={"GetItem": 1})
async def test_card_by_id(workshop, ask):
    _, (card, *_) = await three_cards(workshop)

    asked = await ask("query ($id: ID!) { card(by: {id: $id}) { title instructions materials } }", id=id_of(card))

    steps = {"instructions": card.instructions, "materials": card.materials}
    assert asked.data == {"card": {"title": card.title, **steps}}


@cards.access_pattern("Comments on a card, oldest first", calls={"GetItem": 1, "Query": 1})
async def test_comments_on_a_card(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)
    comments = [await workshop.comment(ada, card) for _ in range(2)]

    asked = await ask("query ($id: ID!) { card(by: {id: $id}) { comments { nodes { id } } } }", id=id_of(card))

    assert asked.data == {"card": {"comments": listed(*comments)}}


@cards.access_pattern("Comments of a user on cards, newest first", calls={"GetItem": 2, "Query": 1})
async def test_comments_of_a_user(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)
    comments = [await workshop.comment(ada, card) for _ in range(2)]

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { cardComments { nodes { id } } } }", id=id_of(ada))

    assert asked.data == {"user": {"cardComments": listed(*reversed(comments))}}


@cards.access_pattern("Collections of a user", calls={"GetItem": 1, "Query": 1})
async def test_collections_of_a_user(workshop, ask):
    ada = await workshop.person("ada")
    collections = [await workshop.collection(ada) for _ in range(2)]

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { collections { nodes { id } } } }", id=id_of(ada))

    assert asked.data == {"user": {"collections": listed(*collections)}}


@cards.access_pattern("Collection by its own ID, without knowing the owner", calls={"Query": 1, "GetItem": 1})
async def test_collection_by_id(workshop, ask):
    collection = await workshop.collection(await workshop.person("ada"))

    asked = await ask("query ($id: String!) { collection(by: {databaseId: $id}) { id } }", id=collection.collection_id)

    assert asked.data == {"collection": {"id": id_of(collection)}}


@cards.access_pattern("Cards of a collection", calls={"Query": 1, "BatchGetItem": 2})
async def test_cards_of_a_collection(workshop, ask):
    ada, (first, second, _) = await three_cards(workshop)
    collection = await workshop.collection(ada, second, first)

    asked = await ask("query ($id: ID!) { collection(by: {id: $id}) { cards { nodes { id } } } }", id=id_of(collection))

    assert asked.data == {"collection": {"cards": listed(second, first)}}


@cards.access_pattern("Vote of the viewer on a card", calls={"GetItem": 2})
async def test_vote_of_the_viewer(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)
    await workshop.vote(ada, card, DOWN)

    asked = await ask(
        "query ($id: ID!) { card(by: {id: $id}) { viewerVote { direction } } }", viewer_of(ada), id=id_of(card)
    )

    assert asked.data == {"card": {"viewerVote": {"direction": "DOWN"}}}


@cards.access_pattern("Votes on a card, newest first", calls={"GetItem": 1, "Query": 1})
async def test_votes_on_a_card(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)
    votes = [await workshop.vote(voter, card) for voter in (ada, await workshop.person("bob"))]

    asked = await ask("query ($id: ID!) { card(by: {id: $id}) { votes { nodes { id } } } }", id=id_of(card))

    assert asked.data == {"card": {"votes": listed(*reversed(votes))}}


@cards.access_pattern("Trending cards: one query for each day", calls={"Query": 2, "BatchGetItem": 1})
async def test_trending_cards(workshop, ask):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    today = {"created_at": now(), "published_at": now()}
    quiet, popular = [await workshop.card(ada, wood, **today, vote_score=score) for score in (0, 10)]

    asked = await ask("{ trendingCards(days: 2, first: 20) { nodes { id } } }")

    assert asked.data == {"trendingCards": listed(popular, quiet)}


@cards.access_pattern("Cards of a day, newest first", calls={"Query": 1})
async def test_cards_of_a_day(workshop, ask):
    _, (first, second, third) = await three_cards(workshop)

    asked = await ask('{ cardsOn(date: "2026-01-01") { nodes { id } } }')

    assert asked.data == {"cardsOn": listed(third, second, first)}


@cards.access_pattern("Cards with the highest score", calls={"Query": 1, "BatchGetItem": 1})
async def test_top_cards(workshop, ask):
    ada, (first, second, third) = await three_cards(workshop)
    await workshop.vote(ada, second, UP)
    await workshop.vote(ada, third, DOWN)

    asked = await ask("{ topCards { nodes { id } } }")

    assert asked.data == {"topCards": listed(second, first, third)}


@cards.access_pattern("Cards that votes are most divided about", calls={"Query": 1, "GetItem": 1})
async def test_controversial_cards(workshop, ask):
    ada, (agreed, divided, _) = await three_cards(workshop)
    bob = await workshop.person("bob")
    for voter, card, direction in ((ada, agreed, UP), (bob, agreed, UP), (ada, divided, UP), (bob, divided, DOWN)):
        await workshop.vote(voter, card, direction)

    asked = await ask("{ controversialCards(first: 1) { nodes { id } } }")

    assert asked.data == {"controversialCards": listed(divided)}


@cards.access_pattern("Search by words in title, tags and category", calls={"GetItem": 1})
async def test_search(workshop, ask):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    oil, wax = [await workshop.card(ada, wood, title=title) for title in ("Oil a table", "Wax a chair")]
    await workshop.find_by_words(oil, wax)

    asked = await ask('{ searchCards(text: "table") { nodes { id } } }')

    assert asked.data == {"searchCards": listed(oil)}


@cards.access_pattern("Category by ID", calls={"GetItem": 1})
async def test_category_by_id(workshop, ask):
    await workshop.category("wood", name="Woodworking")

    asked = await ask('{ category(by: {databaseId: "wood"}) { name } }')

    assert asked.data == {"category": {"name": "Woodworking"}}


@cards.access_pattern("Subcategories in their sort order", calls={"GetItem": 1, "Query": 1})
async def test_subcategories(workshop, ask):
    wood = await workshop.category("wood")
    oak, ash = [await workshop.category(name, wood) for name in ("oak", "ash")]

    asked = await ask('{ category(by: {databaseId: "wood"}) { children { nodes { id } } } }')

    assert asked.data == {"category": {"children": listed(oak, ash)}}


CREATE = command("createCard", "card { status }")
VOTE = command("vote", "card { voteScore }")


@cards.operation("Write a card", calls={"TransactWriteItems": 1})
async def test_write_a_card(workshop, ask):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    given = {"title": "Oil a table", "categoryId": id_of(wood), "difficulty": "INTERMEDIATE", "instructions": ["Oil."]}

    asked = await ask(CREATE, viewer_of(ada), input={**given, "publish": True})

    assert asked.data == {"createCard": {"card": {"status": "PUBLISHED"}, "problems": []}}


@cards.operation("Vote on a card", calls={"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1})
async def test_vote_on_a_card(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)

    asked = await ask(VOTE, viewer_of(ada), input={"targetId": id_of(card), "ballot": "UP"})

    assert asked.data == {"vote": {"card": {"voteScore": 1}, "problems": []}}


@cards.operation("Comment on a card", calls={"GetItem": 1, "TransactWriteItems": 1})
async def test_comment_on_a_card(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)

    asked = await ask(
        command("addCardComment", "comment { content }"),
        viewer_of(ada),
        input={"cardId": id_of(card), "content": "Hm."},
    )

    assert asked.data == {"addCardComment": {"comment": {"content": "Hm."}, "problems": []}}


@cards.operation("Add a card to a collection", calls={"BatchGetItem": 2, "TransactWriteItems": 1})
async def test_add_to_a_collection(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)
    collection = await workshop.collection(ada)

    asked = await ask(
        command("addToCollection", "collection { cardCount }"),
        viewer_of(ada),
        input={"collectionId": id_of(collection), "cardId": id_of(card)},
    )

    assert asked.data == {"addToCollection": {"collection": {"cardCount": 1}, "problems": []}}


@cards.operation("Record a view, added to the card within seconds", calls={"GetItem": 1})
async def test_record_a_view(graph, workshop, ask):
    _, (card, *_) = await three_cards(workshop)

    asked = await ask(command("recordView", "recorded"), input={"cardId": id_of(card)})

    assert asked.data == {"recordView": {"recorded": True, "problems": []}}
    await graph.services.views.flush()
    viewed = await graph.ask("query ($id: ID!) { card(by: {id: $id}) { viewCount } }", id=id_of(card))
    assert viewed.data == {"card": {"viewCount": 1}}


@cards.rule("A user has one vote on a card; a new one replaces it", calls={"GetItem": 2})
async def test_one_vote_for_each_user(graph, workshop, ask):
    ada, (card, *_) = await three_cards(workshop)
    for ballot in ("UP", "UP", "DOWN"):
        await graph.command(VOTE, viewer_of(ada), targetId=id_of(card), ballot=ballot)

    asked = await ask(
        "query ($id: ID!) { card(by: {id: $id}) { voteScore upvoteCount downvoteCount } }", id=id_of(card)
    )

    assert asked.data == {"card": {"voteScore": -1, "upvoteCount": 0, "downvoteCount": 1}}


@cards.rule("The ranking follows the votes by a processor", calls={"Query": 1, "BatchGetItem": 1})
async def test_ranking_follows_votes(graph, workshop, ask):
    ada, (first, second, third) = await three_cards(workshop)
    await graph.command(VOTE, viewer_of(ada), targetId=id_of(first), ballot="UP")
    await do_all_jobs(graph)

    asked = await ask("{ topCards { nodes { id } } }")

    assert asked.data == {"topCards": listed(first, third, second)}


@cards.rule("A draft is visible to its author only", calls={"GetItem": 1})
async def test_drafts_are_private(workshop, ask):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    draft = await workshop.card(ada, wood, CardStatus.DRAFT)

    asked = await ask("query ($id: ID!) { card(by: {id: $id}) { title } }", id=id_of(draft))

    assert asked.data == {"card": None}


@cards.rule("A private collection is visible to its owner only", calls={"BatchGetItem": 1})
async def test_private_collections(workshop, ask):
    collection = await workshop.collection(await workshop.person("ada"), is_public=False)

    asked = await ask("query ($id: ID!) { collection(by: {id: $id}) { name } }", id=id_of(collection))

    assert asked.data == {"collection": None}


@cards.rule("A change of a card names the version it is based on", calls={"GetItem": 1})
async def test_version_of_a_card(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)

    asked = await ask(
        command("updateCard", "card { version }"),
        viewer_of(ada),
        input={"cardId": id_of(card), "expectedVersion": 7, "title": "New"},
    )

    assert codes(asked.data["updateCard"]) == [("CONFLICT", "expectedVersion")]


@cards.rule("Long instructions are stored compressed", calls={"TransactWriteItems": 1})
async def test_long_text_is_compressed(graph, workshop, ask):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    steps = ["Rub the oil in, along the grain." * 50]
    given = {"title": "Oil a table", "categoryId": id_of(wood), "difficulty": "EXPERT", "instructions": steps}

    asked = await ask(CREATE, viewer_of(ada), input=given)

    assert asked.data["createCard"]["problems"] == []
    (item,) = await stored_items(graph, "Card")
    packed = b64decode(item["instructions"]["B"])
    assert orjson.loads(zlib.decompress(packed)) == steps
    assert len(packed) < 200


@cards.rule("Records are read in batches", calls={"BatchGetItem": 1})
async def test_batches(workshop, ask):
    _, made = await three_cards(workshop)

    asked = await ask("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=ids(*made))

    assert asked.data == listed(*made)


@cards.rule("The table in AWS has a stream of new and old images")
def test_stream():
    stream = provision.definition("heartwood", stream=True)["StreamSpecification"]

    assert stream == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@cards.rule("The table is billed on demand")
def test_on_demand_billing():
    assert provision.definition("heartwood", stream=True)["BillingMode"] == "PAY_PER_REQUEST"


@cards.retention("Drafts are kept for 30 days after the last change", calls={"TransactWriteItems": 1})
async def test_drafts_are_kept_for_30_days(graph, workshop, ask):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")

    asked = await ask(
        CREATE, viewer_of(ada), input={"title": "Oil a table", "categoryId": id_of(wood), "difficulty": "BEGINNER"}
    )

    assert asked.data == {"createCard": {"card": {"status": "DRAFT"}, "problems": []}}
    assert [days_kept(item, since="updatedAt") for item in await stored_items(graph, "Card")] == [30]


@cards.retention("Notifications are kept for 30 days", calls={"GetItem": 2, "TransactWriteItems": 1})
async def test_notifications_are_kept_for_30_days(graph, workshop, ask):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")

    asked = await ask(command("followUser", "user { username }"), viewer_of(bob), input={"userId": id_of(ada)})

    assert asked.data == {"followUser": {"user": {"username": "ada"}, "problems": []}}
    await graph.settle()
    assert [days_kept(item) for item in await stored_items(graph, "Notification")] == [30]


@cards.operation("Notification processor on the stream, for real-time updates", calls={"GetItem": 3, "Query": 1})
async def test_votes_and_comments_notify_the_author(graph, workshop, ask):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"), title="A shelf")
    vote = {"targetId": id_of(card), "ballot": "UP"}
    await graph.command(command("vote", "vote { direction }"), viewer_of(bob), **vote)
    await graph.settle()

    asked = await ask("{ viewer { notificationGroups { nodes { kind count } } } }", viewer_of(ada))

    assert asked.data == {"viewer": {"notificationGroups": {"nodes": [{"kind": "CARD_VOTE", "count": 1}]}}}


DAILY = "query ($id: ID!) { card(by: {id: $id}) { analytics { points { at } totals { views votes comments } } } }"


@cards.access_pattern("Daily analytics", calls={"GetItem": 1, "Query": 1})
async def test_daily_analytics(workshop, ask):
    ada, (card, *_) = await three_cards(workshop)

    asked = await ask(DAILY, viewer_of(ada), id=id_of(card))

    found = asked.data["card"]["analytics"]
    assert len(found["points"]) == 30
    assert found["totals"] == {"views": 0, "votes": 0, "comments": 0}


@cards.operation("Analytics aggregator on the stream", calls={"GetItem": 1, "Query": 1})
async def test_analytics_aggregator(graph, workshop, ask):
    ada, (card, *_) = await three_cards(workshop)
    graph.services.views.note(card.card_id)
    await graph.services.views.flush()
    await graph.settle()

    asked = await ask(DAILY, viewer_of(ada), id=id_of(card))

    assert asked.data["card"]["analytics"]["totals"] == {"views": 1, "votes": 0, "comments": 0}


@cards.operation("Search indexer on the stream, for OpenSearch")
async def test_search_indexer_for_opensearch(endpoint, settings):
    async with scripted_service(EmptyNode()) as node:
        there = settings.model_copy(update={"opensearch_url": node.url, "opensearch_index": "oak"})
        async with services_at(endpoint, there) as services:
            graph = Graph(services)
            _, (card, *_) = await three_cards(Workshop(graph))
            assert await services.search_index.engine.lock()
            await graph.settle_search()
    lines = [line for asked in node.asked if asked.path.endswith("/_bulk") for line in asked.lines]
    written = [line["index"]["_id"] for line in lines if "index" in line]
    assert document_key(card.own_key) in written
    assert {asked.path for asked in node.asked} >= {"/_index_template/oak-v1", "/_aliases"}


@cards.operation("Provisioned capacity, once usage is stable")
def test_provisioned_capacity():
    """A parameter of deploy/aws/heartwood.yaml, with auto-scaling of the table and of each index."""
    found = resources()
    assert found["Table"]["Properties"]["BillingMode"]["If"][:2] == ["IsProvisioned", "PROVISIONED"]
    scaled = [each["Properties"] for each in found.values() if each["Type"].endswith("::ScalableTarget")]
    of_the_table = [each for each in scaled if each["ServiceNamespace"] == "dynamodb"]
    places = {each["ResourceId"]["Sub"].rpartition("/")[2] for each in of_the_table}
    assert places == {"${Table}", *(f"GSI{number}" for number in range(1, 6))}
    assert len(of_the_table) == 2 * len(places)


cards.not_built("Cache for images and popular queries", "operation", why="left to a CDN in front of the server")
