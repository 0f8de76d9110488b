"""The order of a collection: as its owner arranges it, however often."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from datastore.cards import CollectionCard
from resolvers.cards.ordering import at_the_end, between
from tests.resolvers.cards.test_collection_commands import ADD, MOVE, READ, REMOVE, ids, listed, stocked
from tests.support.graph import id_of, problem, viewer_of


@pytest.mark.parametrize(
    ("moved", "behind", "order"),
    [
        (3, None, [3, 0, 1, 2, 4]),
        (0, None, [0, 1, 2, 3, 4]),
        (0, 2, [1, 2, 0, 3, 4]),
        (3, 0, [0, 3, 1, 2, 4]),
        (1, 0, [0, 1, 2, 3, 4]),
        (1, 4, [0, 2, 3, 4, 1]),
        (4, 4, [0, 1, 2, 3, 4]),
        (4, 3, [0, 1, 2, 3, 4]),
        (2, 2, [0, 1, 2, 3, 4]),
    ],
)
async def test_a_card_is_put_elsewhere(graph, workshop, moved, behind, order):
    ada, cards, collection = await stocked(workshop)
    after = {} if behind is None else {"afterCardId": id_of(cards[behind])}

    payload = await graph.command(
        MOVE, viewer_of(ada), collectionId=id_of(collection), cardId=id_of(cards[moved]), **after
    )

    assert payload["problems"] == []
    assert listed(payload["collection"]) == [cards[place].card_id for place in order]


async def test_many_moves_adds_and_removals_keep_the_order_of_a_list(graph, workshop):
    ada, cards, collection = await stocked(workshop, 8)
    chance = random.Random(3)
    model = list(cards)
    here = {"collectionId": id_of(collection)}

    for _ in range(80):
        card = chance.choice(cards)
        if card not in model:
            await graph.command(ADD, viewer_of(ada), **here, cardId=id_of(card))
            model.append(card)
        elif chance.random() < 0.1:
            await graph.command(REMOVE, viewer_of(ada), **here, cardId=id_of(card))
            model.remove(card)
        else:
            after = chance.choice([None, *(other for other in model if other is not card)])
            behind = {"afterCardId": id_of(after)} if after else {}
            payload = await graph.command(MOVE, viewer_of(ada), **here, cardId=id_of(card), **behind)
            assert payload["problems"] == []
            model.remove(card)
            model.insert(model.index(after) + 1 if after else 0, card)

    asked = await graph.ask(READ, viewer_of(ada), id=id_of(collection))
    assert listed(asked.data["collection"]) == ids(model)
    assert asked.data["collection"]["cardCount"] == len(model)


async def test_what_is_added_comes_behind_what_was_put_last(graph, workshop):
    ada, cards, _ = await stocked(workshop)
    collection = await workshop.collection(ada)
    here = {"collectionId": id_of(collection)}
    for card in cards[:3]:
        await graph.command(ADD, viewer_of(ada), **here, cardId=id_of(card))

    await graph.command(MOVE, viewer_of(ada), **here, cardId=id_of(cards[0]), afterCardId=id_of(cards[2]))
    payload = await graph.command(ADD, viewer_of(ada), **here, cardId=id_of(cards[3]))

    assert listed(payload["collection"]) == ids([cards[1], cards[2], cards[0], cards[3]])


async def test_only_what_is_in_a_collection_can_be_moved_and_only_behind_what_is(graph, workshop):
    ada, cards, _ = await stocked(workshop)
    collection = await workshop.collection(ada, cards[0])
    inside, outside = id_of(cards[0]), id_of(cards[1])
    message = "this card is not in the collection"

    stranger = await graph.command(MOVE, viewer_of(ada), collectionId=id_of(collection), cardId=outside)
    behind = await graph.command(
        MOVE, viewer_of(ada), collectionId=id_of(collection), cardId=inside, afterCardId=outside
    )

    assert stranger["problems"] == [problem("NOT_FOUND", message, "input", "cardId")]
    assert behind["problems"] == [problem("NOT_FOUND", message, "input", "afterCardId")]


async def test_where_no_place_is_left_a_move_says_so_and_others_still_work(graph, workshop):
    ada, cards, collection = await stocked(workshop, 3)
    places = ["5" * 899, "5" * 899 + "1", "6"]
    links = [
        CollectionCard(collection_id=collection.collection_id, user_id=ada.user_id, card_id=card.card_id, place=place)
        for card, place in zip(cards, places, strict=True)
    ]
    await graph.table.batch_write(puts=links)
    moved = {"collectionId": id_of(collection), "cardId": id_of(cards[2])}

    full = await graph.command(MOVE, viewer_of(ada), **moved, afterCardId=id_of(cards[0]))
    first = await graph.command(MOVE, viewer_of(ada), **moved)

    message = "there is no room left at this position; move one of its neighbors first"
    assert full["problems"] == [problem("INVALID", message, "input", "afterCardId")]
    assert listed(first["collection"]) == ids([cards[2], cards[0], cards[1]])


PLACES = some.text("0123456789", min_size=1, max_size=30).filter(lambda text: not text.endswith("0"))


@given(PLACES, PLACES)
def test_a_place_between_two_is_strictly_between_them(one, other):
    low, high = sorted([one, other])
    if low == high:
        assert between(low, high) > low
        return

    place = between(low, high)

    assert low < place < high
    assert between("", low) < low
    assert not place.endswith("0")


@pytest.mark.parametrize("pattern", ["behind the same", "before the same", "each behind the one before", "anywhere"])
def test_thousands_of_places_at_one_spot_are_in_order_and_fit_a_key(pattern):
    chance = random.Random(1)
    places = sorted([at_the_end(), at_the_end()])
    spot = 1

    for _ in range(5_000):
        if pattern == "before the same":
            spot = len(places) - 1
        elif pattern == "each behind the one before":
            spot = min(spot + 1, len(places) - 1)
        elif pattern == "anywhere":
            spot = chance.randrange(len(places))
        places.insert(spot, between(places[spot - 1] if spot else "", places[spot]))

    assert places == sorted(set(places))
    assert max(map(len, places)) < 900


def test_the_front_takes_thousands_too():
    places = [at_the_end()]

    for _ in range(5_000):
        places.append(between("", places[-1]))

    assert places == sorted(set(places), reverse=True)
    assert max(map(len, places)) < 900


def test_places_at_the_end_are_in_the_order_they_were_given_out_in():
    places = []
    for _ in range(50):
        places.append(at_the_end())
        before = places[-1][:17]
        while at_the_end()[:17] == before:
            pass

    assert places == sorted(places)
