"""The search index follows the card through interruptions."""

import asyncio

import pytest

from datastore.cards import Card, SearchTerm
from datastore.client.errors import Denied
from resolvers.background.jobs import Worker
from resolvers.cards.jobs import index_card
from resolvers.cards.search import MAX_INDEXED
from tests.resolvers.cards.categories import ADMIN
from tests.resolvers.cards.categories import UPDATE as RENAME
from tests.resolvers.cards.test_collection_commands import command
from tests.support.cards import do_all_jobs
from tests.support.fault_proxy import FOR_EVER, Answer, Call, FaultProxy, denied, nothing_wrong
from tests.support.graph import Graph, id_of, viewer_of

SHOWN = "card { id databaseId version }"
CREATE = command("createCard", SHOWN)
UPDATE = command("updateCard", SHOWN)
ARCHIVE = command("archiveCard", SHOWN)
PUBLISH = command("publishCard", SHOWN)
DELETE = command("deleteCard", "deletedCardId")


async def terms(graph: Graph, card_id: str) -> set[str]:
    page = await graph.table.query(SearchTerm.within(card_id=card_id), limit=1_000, consistent=True)
    return {item.term for item in page.records}


async def words(graph: Graph, card_id: str) -> dict[str, int]:
    """Returns the indexed words of a card with their weights."""
    page = await graph.table.query(SearchTerm.within(card_id=card_id), limit=1_000, consistent=True)
    return {word: worth for item in page.records for word, worth in item.words.items()}


async def test_the_index_follows_the_card_from_its_publication_to_its_end(graph, workshop):
    ada = await workshop.person("ada")
    wood, iron = await workshop.category("wood"), await workshop.category("iron")
    given = {"title": "Oak", "difficulty": "EXPERT", "instructions": ["Go."], "categoryId": id_of(wood)}
    made = (await graph.command(CREATE, viewer_of(ada), **given))["card"]
    await do_all_jobs(graph)
    this, found = {"cardId": made["id"]}, [await words(graph, made["databaseId"])]

    steps = [
        (PUBLISH, {}),
        (UPDATE, {"expectedVersion": 2, "title": "Ash", "tags": ["box", "Oak"]}),
        (UPDATE, {"expectedVersion": 3, "categoryId": id_of(iron)}),
        (ARCHIVE, {}),
        (UPDATE, {"expectedVersion": 5, "title": "Elm", "tags": []}),
        (PUBLISH, {}),
        (DELETE, {}),
    ]
    for step, change in steps:
        payload = await graph.command(step, viewer_of(ada), **this, **change)
        assert payload["problems"] == []
        await do_all_jobs(graph)
        found.append(await words(graph, made["databaseId"]))

    assert found == [
        {},
        {"oak": 8, "wood": 3},
        {"ash": 8, "box": 6, "oak": 6, "wood": 3},
        {"ash": 8, "box": 6, "oak": 6, "iron": 3},
        {},
        {},
        {"elm": 8, "iron": 3},
        {},
    ]
    assert await graph.table.get(Card.key(card_id=made["databaseId"])) is None


async def test_only_what_the_card_is_found_by_is_indexed_again(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))

    await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=1, description="More.")
    same = await graph.jobs()
    await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=2, tags=["new"])
    other = await graph.jobs()

    assert same == []
    assert [(job.kind, job.subject) for job in other] == [("index_card", {"card_id": card.card_id})]


async def test_what_indexing_costs(graph, workshop):
    card = await workshop.card(await workshop.person("ada"), await workshop.category("wood"), title="Oak bed")
    first, again = graph.context().load, graph.context().load

    await index_card(first, card_id=card.card_id)
    await index_card(again, card_id=card.card_id)

    assert await terms(graph, card.card_id) == {"oak", "bed", "woo", "wood"}
    # The card, its category, what is there; and the two once more, whether they are still the same.
    assert dict(again.table.usage.calls) == {"GetItem": 4, "Query": 1}
    assert dict(first.table.usage.calls) == {"GetItem": 4, "Query": 1, "BatchWriteItem": 1}


async def test_of_a_card_of_very_many_words_those_of_the_title_count_first(graph, workshop):
    author, wood = await workshop.person("ada"), await workshop.category("wood")
    title = "".join(map(chr, range(0x4E00, 0x4E00 + 100)))
    tags = ["".join(map(chr, range(at, at + 40))) for at in range(0x5000, 0x5000 + 400, 40)]
    card = await workshop.card(author, wood, title=title, tags=tags)

    await workshop.find_by_words(card)

    found = await words(graph, card.card_id)
    assert len(found) == MAX_INDEXED
    assert {title[at : at + 2] for at in range(99)} | {*title} <= found.keys()


LETTERS = "abcdefghijklm"


@pytest.mark.parametrize("what", ["PutRequest", "DeleteRequest"])
async def test_what_was_half_done_is_done_by_the_next_attempt(graph, faulty_graph, proxy, workshop, what):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    card = await workshop.card(ada, wood, title=" ".join(f"old{letter}word" for letter in LETTERS))
    await workshop.find_by_words(card)
    title = " ".join(f"new{letter}word" for letter in LETTERS)
    payload = await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=1, title=title)
    assert payload["problems"] == []
    passed = iter([True])
    proxy.will("BatchWriteItem", denied, FOR_EVER, when=lambda asked: what in str(asked) and not next(passed, False))

    # Some of it is written, and then the worker has no right to.
    await Worker(faulty_graph.table).do_what_is_due()
    half = await terms(graph, card.card_id)
    proxy.recover()
    await do_all_jobs(graph)

    whole = await terms(graph, card.card_id)
    kept = {"woo", "wood"}
    assert {term for term in half if term.startswith("new")}
    assert {term for term in half if term.startswith("old")}
    assert {term for term in whole if term.startswith("new")} == whole - kept
    assert len(whole - kept) == 1 + 5 * len(LETTERS)


async def test_terms_that_got_lost_or_do_not_belong_are_put_right(graph, workshop):
    card = await workshop.card(await workshop.person("ada"), await workshop.category("wood"), title="Oak bed")
    await workshop.find_by_words(card)
    lost = SearchTerm.key(card_id=card.card_id, term="oak")
    strange = SearchTerm(card_id=card.card_id, term="iron", words={"iron": 8})
    wrong = SearchTerm(card_id=card.card_id, term="bed", words={"bed": 1})
    await graph.table.batch_write(deletes=[lost], puts=[strange, wrong])

    await workshop.find_by_words(card)

    assert await words(graph, card.card_id) == {"oak": 8, "bed": 8, "wood": 3}
    assert await terms(graph, card.card_id) == {"oak", "bed", "woo", "wood"}


async def test_nothing_is_left_behind_when_writing_is_refused(graph, faulty_graph, proxy, workshop):
    card = await workshop.card(await workshop.person("ada"), await workshop.category("wood"), title="Oak bed")
    proxy.will("BatchWriteItem", denied, FOR_EVER)

    with pytest.raises(Denied):
        await index_card(faulty_graph.context().load, card_id=card.card_id)

    assert await terms(graph, card.card_id) == set()


class Held:
    """A fault that keeps the first write waiting until it is let go."""

    def __init__(self, proxy: FaultProxy) -> None:
        self.reached, self.let_go = asyncio.Event(), asyncio.Event()
        proxy.will("BatchWriteItem", self._hold, 1)

    async def _hold(self, call: Call) -> Answer:
        self.reached.set()
        await self.let_go.wait()
        return await nothing_wrong(call)


@pytest.mark.parametrize("change", ["title", "archived", "category", "category's name"])
async def test_of_two_at_once_the_newer_state_stays(graph, faulty_graph, proxy, workshop, change):
    """The one that began earlier writes what it read over what the other one has written meanwhile."""
    ada = await workshop.person("ada")
    wood, iron = await workshop.category("wood"), await workshop.category("iron")
    card = await workshop.card(ada, wood, title="Oak")
    held = Held(proxy)
    early = asyncio.create_task(index_card(faulty_graph.context().load, card_id=card.card_id))
    await held.reached.wait()

    this = {"cardId": id_of(card)}
    if change == "title":
        await graph.command(UPDATE, viewer_of(ada), **this, expectedVersion=1, title="Ash")
    elif change == "archived":
        await graph.command(ARCHIVE, viewer_of(ada), **this)
    elif change == "category":
        await graph.command(UPDATE, viewer_of(ada), **this, expectedVersion=1, categoryId=id_of(iron))
    else:
        await graph.command(RENAME, ADMIN, categoryId=id_of(wood), name="Trees")
    await do_all_jobs(graph)
    held.let_go.set()
    await early

    assert (
        await words(graph, card.card_id)
        == {
            "title": {"ash": 8, "wood": 3},
            "archived": {},
            "category": {"oak": 8, "iron": 3},
            "category's name": {"oak": 8, "trees": 3},
        }[change]
    )


async def test_many_changes_while_many_index_end_in_the_last_state(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    card = await workshop.card(ada, wood, title="Begin")

    async def change() -> None:
        for number in range(6):
            title = f"{'abcdefgh'[number] * 4} state"
            await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=number + 1, title=title)

    async def index() -> None:
        for _ in range(6):
            await index_card(graph.context().load, card_id=card.card_id)

    await asyncio.gather(change(), *(index() for _ in range(4)))
    await do_all_jobs(graph)

    assert await words(graph, card.card_id) == {"ffff": 8, "state": 8, "wood": 3}
    assert await terms(graph, card.card_id) == {"fff", "ffff", "sta", "stat", "state", "woo", "wood"}
