"""The commands of collections."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import Card, Collection, CollectionCard
from datastore.client.errors import Conflict
from datastore.client.table import position_of
from datastore.client.writes import Check, Delete, Put, Update, Write, absent, below, exists
from datastore.model.keys import Key
from datastore.model.times import new_id
from resolvers.accounts.guards import is_open, no_account, write_for_account
from resolvers.background.jobs import queued
from resolvers.cards.card_commands import is_listed, no_such_card
from resolvers.cards.edges import collected
from resolvers.cards.jobs import purge_collection
from resolvers.cards.ordering import at_the_end, between
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import write_or_refuse
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks

MAX_NAME = 100
MAX_DESCRIPTION = 1_000
MAX_CARDS = 2_000
MAX_PLACE = 900


async def create_collection(
    context: Context,
    *,
    name: Annotated[str, Doc("What to call it, up to 100 characters.")],
    description: Annotated[str | None, Doc("What there is to say about it, up to 1,000 characters.")] = None,
    is_public: Annotated[bool, Doc("Whether others see it.")] = True,
) -> Collection:
    """Begin a collection of cards."""
    checks = Checks()
    name = checks.required_text("name", name, at_most=MAX_NAME)
    description = checks.text("description", description, at_most=MAX_DESCRIPTION)
    checks.done()
    collection = Collection(
        user_id=context.signed_in, collection_id=new_id(), name=name, description=description, is_public=is_public
    )
    await write_for_account(context, Put(collection, when=absent()))
    return collection


async def update_collection(
    context: Context,
    *,
    collection_id: Annotated[Key[Collection], Doc("The `id` of the collection.")],
    name: Annotated[str | None, Doc("What to call it.")] = UNSET,
    description: Annotated[str | None, Doc("What there is to say about it; null removes it.")] = UNSET,
    is_public: Annotated[bool | None, Doc("Whether others see it.")] = UNSET,
) -> Collection:
    """Change one's collection. What is left out stays as it is."""
    checks = Checks()
    changes: dict[str, Any] = {}
    if name is not UNSET:
        changes["name"] = checks.required_text("name", name or "", at_most=MAX_NAME)
    if description is not UNSET:
        changes["description"] = checks.text("description", description, at_most=MAX_DESCRIPTION)
    if is_public is not UNSET:
        changes["is_public"] = checks.given("isPublic", is_public)
    checks.done()
    collection = await _own_collection(context, collection_id)
    changed = collection.changed(**changes)
    await write_for_account(context, Update.of(collection, changed, when=exists()))
    return changed


async def delete_collection(
    context: Context, *, collection_id: Annotated[Key[Collection], Doc("The `id` of the collection.")]
) -> Collection:
    """Delete one's collection; the cards that were in it stay."""
    collection = await _own_collection(context, collection_id)
    emptied = queued(purge_collection, collection_id=collection.collection_id)
    await write_for_account(context, Delete(collection_id, when=exists()), emptied)
    return collection


async def add_to_collection(
    context: Context,
    *,
    collection_id: Annotated[Key[Collection], Doc("The `id` of one's collection.")],
    card_id: Annotated[Key[Card], Doc("The `id` of the card.")],
) -> Collection:
    """Put a card at the end of one's collection. Adding it again changes nothing."""
    collection = await _own_collection(context, collection_id)
    link = CollectionCard(
        collection_id=collection.collection_id,
        user_id=collection.user_id,
        card_id=card_id.values["card_id"],
        place=at_the_end(),
    )
    added = Put(link, when=absent())
    counted = Update(collection_id, add={"card_count": 1}, when=exists() & below("card_count", MAX_CARDS))
    is_there = Check(card_id, when=is_listed())
    if collection.card_count >= MAX_CARDS:
        message = f"a collection holds {MAX_CARDS:,} cards at most; begin another one"
        raise refused(ProblemCode.INVALID, message, "input", "collectionId")
    await _write_link(context, added, counted, is_there, refusals={is_there: no_such_card()})
    return await _own_collection(context, collection_id)


async def remove_from_collection(
    context: Context,
    *,
    collection_id: Annotated[Key[Collection], Doc("The `id` of one's collection.")],
    card_id: Annotated[Key[Card], Doc("The `id` of the card.")],
) -> Collection:
    """Take a card out of one's collection. Where it was not in it, nothing changes."""
    collection = await _own_collection(context, collection_id)
    removed = Delete(_link_key(collection, card_id), when=exists())
    counted = Update(collection_id, add={"card_count": -1}, when=exists())
    await _write_link(context, removed, counted, refusals={})
    return await _own_collection(context, collection_id)


async def _write_link(context: Context, link: Write, counted: Update, *checks: Write, refusals: dict[Any, Any]) -> None:
    """A link and its count; nothing at all where it is (or is not) there already."""
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    try:
        await write_or_refuse(
            context.load,
            account,
            *checks,
            counted,
            link,
            refusals={account: no_account(), counted: _too_much(), **refusals},
        )
    except Conflict:
        return


async def move_in_collection(
    context: Context,
    *,
    collection_id: Annotated[Key[Collection], Doc("The `id` of one's collection.")],
    card_id: Annotated[Key[Card], Doc("The `id` of the card to move.")],
    after_card_id: Annotated[
        Key[Card] | None, Doc("The `id` of the card to put it behind; left out, it becomes the first.")
    ] = None,
) -> Collection:
    """Put a card elsewhere in one's collection."""
    collection = await _own_collection(context, collection_id)
    keys = [_link_key(collection, key) for key in (card_id, after_card_id or card_id)]
    link, before = await context.load.fresh(*keys)
    if link is None:
        raise _not_in_it("cardId")
    if before is None:
        raise _not_in_it("afterCardId")
    if after_card_id == card_id:
        return collection
    moved = link.changed(place=await _place_behind(context, collection, link, before if after_card_id else None))
    await write_for_account(context, Update.of(link, moved, when=exists()), Check(collection_id, when=exists()))
    return collection


async def _place_behind(
    context: Context, collection: Collection, link: CollectionCard, before: CollectionCard | None
) -> str:
    """A place between a card, or the beginning, and the next one that is not the card to be moved."""
    within = collected(collection)
    page = await context.load.page(within, 2, position_of(within, before) if before else None)
    behind = [other for other in page.records if other.card_id != link.card_id]
    if not behind:
        return at_the_end()
    place = between(before.place if before else "", behind[0].place)
    if len(place) > MAX_PLACE:
        message = "no place is left there after so many moves; put what comes before or after it elsewhere first"
        raise refused(ProblemCode.INVALID, message, "input", "afterCardId")
    return place


def _link_key(collection: Collection, card_id: Key[Card]) -> Key[CollectionCard]:
    return CollectionCard.key(collection_id=collection.collection_id, card_id=card_id.values["card_id"])


async def _own_collection(context: Context, key: Key[Collection]) -> Collection:
    """One's collection as it is now."""
    user_id = context.signed_in
    keys: list[Key[Any]] = [key, User.key(user_id=key.values["user_id"])]  # what it is inside of comes along
    await context.load.fresh(*keys)
    collection = await context.load.one(key)
    if collection is None:
        raise refused(ProblemCode.NOT_FOUND, "there is no such collection", "input", "collectionId")
    if collection.user_id != user_id:
        raise refused(ProblemCode.FORBIDDEN, "only its owner may do this", "input", "collectionId")
    return collection


def _too_much() -> Refused:
    message = "it is full, or gone in the meantime; read it again"
    return refused(ProblemCode.CONFLICT, message, "input", "collectionId")


def _not_in_it(path: str) -> Refused:
    return refused(ProblemCode.NOT_FOUND, "this card is not in the collection", "input", path)
