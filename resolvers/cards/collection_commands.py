"""Commands of collections."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import Card, Collection, CollectionCard
from datastore.client.errors import Conflict
from datastore.client.positions import position_of
from datastore.client.writes import Check, Delete, Put, Update, Write, absent, below, exists
from datastore.model.keys import Key
from datastore.model.times import new_id
from resolvers.accounts.guards import delete_marked, is_open, no_account, write_for_account
from resolvers.background.jobs import queued
from resolvers.cards.card_commands import is_listed
from resolvers.cards.edges import collected
from resolvers.cards.jobs import purge_collection
from resolvers.cards.ordering import at_the_end, between
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import Text
from resolvers.core.context import Context
from resolvers.core.problems import At, ProblemCode, Refused, not_found, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unset import UNSET, given

Name = Annotated[str, Doc("Display name."), Text(at_most=100)]
Description = Text(at_most=1_000)
MAX_CARDS = 2_000
MAX_PLACE = 900


@access(requires=AccessRole.SIGNED_IN)
async def create_collection(
    context: Context,
    *,
    name: Name,
    description: Annotated[str | None, Doc("Description."), Description] = None,
    is_public: Annotated[bool, Doc("True if other users can see it. Defaults to true.")] = True,
) -> Collection:
    """Creates a collection of cards."""
    collection = Collection(
        user_id=context.signed_in, collection_id=new_id(), name=name, description=description, is_public=is_public
    )
    await write_for_account(context, Put(collection, when=absent()))
    return collection


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
async def update_collection(
    context: Context,
    *,
    collection_id: Annotated[Key[Collection], Doc("ID of the collection.")],
    name: Name = UNSET,
    description: Annotated[str | None, Doc("Description; null removes it."), Description] = UNSET,
    is_public: Annotated[bool, Doc("True if other users can see it.")] = UNSET,
) -> Collection:
    """Edits a collection. Omitted fields keep their values."""
    collection = await _own_collection(context, collection_id)
    changed = collection.changed(**given(name=name, description=description, is_public=is_public))
    await write_for_account(context, Update.of(collection, changed, when=exists()))
    return changed


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
async def delete_collection(
    context: Context, *, collection_id: Annotated[Key[Collection], Doc("ID of the collection.")]
) -> Collection:
    """Deletes a collection, but not its cards."""
    collection = await _own_collection(context, collection_id)
    emptied = queued(purge_collection, collection_id=collection.collection_id)
    await write_for_account(context, Delete(collection_id, when=exists()), emptied)
    return collection


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def add_to_collection(
    context: Context,
    *,
    collection_id: Annotated[Key[Collection], Doc("ID of the collection.")],
    card_id: Annotated[Key[Card], Doc("ID of the card.")],
) -> Collection:
    """Adds a card to the end of a collection. Idempotent."""
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
        message = f"a collection holds at most {MAX_CARDS:,} cards; create another one"
        raise refused(ProblemCode.INVALID, message, at=collection_id)
    await _write_link(context, added, counted, is_there, refusals={is_there: not_found(card_id)})
    return await _own_collection(context, collection_id)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def remove_from_collection(
    context: Context,
    *,
    collection_id: Annotated[Key[Collection], Doc("ID of the collection.")],
    card_id: Annotated[Key[Card], Doc("ID of the card.")],
) -> Collection:
    """Removes a card from a collection. Idempotent."""
    collection = await _own_collection(context, collection_id)
    removed = Delete(_link_key(collection, card_id), when=exists() & absent("hidden_at"))
    counted = Update(collection_id, add={"card_count": -1}, when=exists())
    if not await _write_link(context, removed, counted, refusals={}):
        await delete_marked(context, removed.key)
    return await _own_collection(context, collection_id)


async def _write_link(context: Context, link: Write, counted: Update, *checks: Write, refusals: dict[Any, Any]) -> bool:
    """Writes a link and its count. Returns False, and does nothing, if the link already is (or is not) there.

    Raises Conflict if the collection was filled or deleted since it was read.
    """
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    try:
        await write_or_refuse(
            context.load,
            account,
            *checks,
            counted,
            link,
            refusals={account: no_account(), **refusals},
        )
    except Conflict as conflict:
        if link not in conflict:
            raise
        return False
    return True


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
async def move_in_collection(
    context: Context,
    *,
    collection_id: Annotated[Key[Collection], Doc("ID of the collection.")],
    card_id: Annotated[Key[Card], Doc("ID of the card to move.")],
    after_card_id: Annotated[
        Key[Card] | None, Doc("ID of the card to place it after. Omit it to place the card first.")
    ] = None,
) -> Collection:
    """Moves a card within a collection."""
    collection = await _own_collection(context, collection_id)
    keys = [_link_key(collection, key) for key in (card_id, after_card_id or card_id)]
    link, before = await context.load.fresh(*keys)
    if link is None:
        raise _not_in_it(card_id)
    if before is None:
        raise _not_in_it("after_card_id")
    if after_card_id == card_id:
        return collection
    moved = link.changed(place=await _place_behind(context, collection, link, before if after_card_id else None))
    await write_for_account(context, Update.of(link, moved, when=exists()), Check(collection_id, when=exists()))
    return collection


async def _place_behind(
    context: Context, collection: Collection, link: CollectionCard, before: CollectionCard | None
) -> str:
    """Returns a position after `before`, or at the beginning, ignoring the card to be moved."""
    within = collected(collection)
    page = await context.load.page(within, 2, position_of(within, before) if before else None)
    behind = [other for other in page.records if other.card_id != link.card_id]
    if not behind:
        return at_the_end()
    place = between(before.place if before else "", behind[0].place)
    if len(place) > MAX_PLACE:
        message = "there is no room left at this position; move one of its neighbors first"
        raise refused(ProblemCode.INVALID, message, at="after_card_id")
    return place


def _link_key(collection: Collection, card_id: Key[Card]) -> Key[CollectionCard]:
    return CollectionCard.key(collection_id=collection.collection_id, card_id=card_id.values["card_id"])


async def _own_collection(context: Context, key: Key[Collection]) -> Collection:
    """Returns the viewer's collection with a strongly consistent read."""
    keys: list[Key[Any]] = [key, User.key(user_id=key.values["user_id"])]  # its owner decides on its visibility
    await context.load.fresh(*keys)
    collection = await context.load.one(key)
    if collection is None:
        raise not_found(key)
    if collection.user_id != context.signed_in:
        raise refused(ProblemCode.FORBIDDEN, "only its owner may do this", at=key)
    return collection


def _not_in_it(at: At) -> Refused:
    return refused(ProblemCode.NOT_FOUND, "this card is not in the collection", at=at)
