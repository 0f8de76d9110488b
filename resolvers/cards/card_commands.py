"""Commands of cards."""

import time
from datetime import timedelta
from typing import Annotated, NamedTuple

import orjson
from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import Card, CardStatus, Category, Difficulty
from datastore.client.writes import Check, Condition, Put, Update, Write, absent, exists
from datastore.model.codec import JSON
from datastore.model.keys import Key
from datastore.model.times import new_id, now, seconds_from_now
from resolvers.accounts.guards import is_open, no_account
from resolvers.cards.constraints import Instructions, Pictures, Tags
from resolvers.cards.counts import counts_along
from resolvers.cards.edges import card_category
from resolvers.cards.jobs import purging
from resolvers.cards.ranking import in_place, placed_as
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import Each, JsonObject, Number, Text
from resolvers.core.context import Context
from resolvers.core.money import Money, Price, parts_of
from resolvers.core.problems import INPUT, At, ProblemCode, Refused, not_found, outdated, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unset import UNSET, given

Titled = Annotated[str, Doc("Title."), Text(at_most=120)]
Summary = Annotated[str | None, Doc("Short summary of the result."), Text(at_most=5_000)]
MaterialsObject = JsonObject(at_most=10_000)
ToolList = Each(Text(at_most=100), at_most=50)
Minutes = Annotated[int | None, Doc("Estimated time in minutes."), Number(at_most=5_000_000)]
Cost = Annotated[Money | None, Doc("Estimated cost."), Price()]
# The size of a card as JSON: every change by its author rewrites the card in the table and in each of its indexes.
MAX_CARD = 60_000
DRAFTS_KEPT = timedelta(days=30)
CONTENT = (
    "title", "category_id", "difficulty", "description", "image_urls", "instructions", "materials", "tools", "tags",
    "estimated_time", "estimated_cost", "estimated_cost_currency",
)  # fmt: skip


class DeletedCard(NamedTuple):
    deleted_card_id: Card


@access(requires=AccessRole.SIGNED_IN)
async def create_card(
    context: Context,
    *,
    title: Titled,
    category_id: Annotated[Key[Category], Doc("ID of the category.")],
    difficulty: Annotated[Difficulty, Doc("Skill level required.")],
    description: Summary = None,
    image_urls: Annotated[list[str] | None, Doc("URLs of pictures."), Pictures()] = None,
    instructions: Annotated[list[str] | None, Doc("Instructions, one entry per step."), Instructions()] = None,
    materials: Annotated[JSON | None, Doc("Materials."), MaterialsObject] = None,
    tools: Annotated[list[str] | None, Doc("Tools required."), ToolList] = None,
    tags: Annotated[list[str] | None, Doc("Tags for search."), Tags()] = None,
    estimated_time: Minutes = None,
    estimated_cost: Cost = None,
    publish: Annotated[bool, Doc("True to publish it immediately. Defaults to false, a draft.")] = False,
) -> Card:
    """Creates a card of at most 60,000 bytes in total.

    A draft is deleted 30 days after its last change unless it is published.
    """
    cost, currency = parts_of(estimated_cost)
    draft = Card(
        card_id=new_id(),
        author_id=context.signed_in,
        title=title,
        category_id=category_id.values["category_id"],
        difficulty=difficulty,
        description=description,
        image_urls=image_urls or [],
        instructions=instructions or [],
        materials=JSON({}) if materials is None else materials,
        tools=tools or [],
        tags=tags or [],
        estimated_time=estimated_time,
        estimated_cost=cost,
        estimated_cost_currency=currency,
    )
    _check_size(draft)
    card = _published(draft) if publish else in_place(draft, expires_at=_draft_ends())
    await _write(context, card, Put(card, when=absent()), *counts_along(None, card), category=True)
    return card


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR,))
@retries_on_conflict
async def update_card(
    context: Context,
    *,
    card_id: Annotated[Key[Card], Doc("ID of the card.")],
    expected_version: Annotated[int, Doc("The `version` you read. A different current version is a conflict.")],
    title: Titled = UNSET,
    category_id: Annotated[Key[Category], Doc("ID of the category.")] = UNSET,
    difficulty: Annotated[Difficulty, Doc("Skill level required.")] = UNSET,
    description: Summary = UNSET,
    image_urls: Annotated[list[str], Doc("URLs of all pictures."), Pictures()] = UNSET,
    instructions: Annotated[list[str], Doc("All instructions."), Instructions()] = UNSET,
    materials: Annotated[JSON, Doc("All materials."), MaterialsObject] = UNSET,
    tools: Annotated[list[str], Doc("All tools."), ToolList] = UNSET,
    tags: Annotated[list[str], Doc("All tags."), Tags()] = UNSET,
    estimated_time: Minutes = UNSET,
    estimated_cost: Cost = UNSET,
) -> Card:
    """Edits a card. Omitted fields keep their values, lists are replaced."""
    card = await _own_card(context, card_id)
    if card.version != expected_version:
        raise outdated(card.version)
    cost, currency = parts_of(estimated_cost)
    content = given(
        title=title,
        category_id=category_id if category_id is UNSET else category_id.values["category_id"],
        difficulty=difficulty,
        description=description,
        image_urls=image_urls,
        instructions=instructions,
        materials=materials,
        tools=tools,
        tags=tags,
        estimated_time=estimated_time,
        estimated_cost=cost,
        estimated_cost_currency=currency,
    )
    is_draft = card.status is CardStatus.DRAFT
    changed = in_place(card, **content, expires_at=_draft_ends() if is_draft else None)
    _check_size(changed)
    if not is_draft and not changed.instructions:
        raise _no_instructions()
    return await _change(context, card, changed, category=True)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR,))
@retries_on_conflict
async def publish_card(context: Context, *, card_id: Annotated[Key[Card], Doc("ID of the card.")]) -> Card:
    """Publishes a card. An archived one returns to its former position. Idempotent."""
    card = await _own_card(context, card_id)
    if card.status is CardStatus.PUBLISHED:
        return card
    if not card.instructions:
        raise _no_instructions(card_id)
    return await _change(context, card, _published(card), category=True)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR,))
@retries_on_conflict
async def archive_card(context: Context, *, card_id: Annotated[Key[Card], Doc("ID of the card.")]) -> Card:
    """Unpublishes a card with its comments. `publishCard` publishes it again."""
    card = await _own_card(context, card_id)
    if card.status is CardStatus.ARCHIVED:
        return card
    if card.status is CardStatus.DRAFT:
        raise refused(ProblemCode.INVALID, "a draft cannot be archived; publish it or delete it", at=card_id)
    return await _change(context, card, in_place(card, status=CardStatus.ARCHIVED))


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR,))
@retries_on_conflict
async def delete_card(context: Context, *, card_id: Annotated[Key[Card], Doc("ID of the card.")]) -> DeletedCard:
    """Deletes a card immediately, and everything that belongs to it in the background."""
    card = await _own_card(context, card_id)
    gone = in_place(card, deleted_at=now(), expires_at=None)
    await _change(context, card, gone, purging(card))
    return DeletedCard(card)


async def record_view(context: Context, *, card_id: Annotated[Key[Card], Doc("ID of the card.")]) -> bool:
    """Records a view of a published card. It is counted within a few seconds, once per request.

    At most 60 views per minute count for a user or, without a token, for an address.
    """
    if not context.views.admits(context.viewer.user_id or context.client_address):
        return False
    card = await context.load.one(card_id)
    if card is None or card.listed_at is None:
        raise not_found(card_id)
    return context.views.note_once(card.card_id, context.load)


def _check_size(card: Card) -> None:
    """Refuses a card that is too large as JSON."""
    size = len(orjson.dumps({name: getattr(card, name) for name in CONTENT}))
    if size > MAX_CARD:
        message = f"the card has {size:,} bytes in all; at most {MAX_CARD:,} are allowed"
        raise refused(ProblemCode.INVALID, message, at=INPUT)


def _published(card: Card) -> Card:
    if not card.instructions:
        raise _no_instructions()
    return in_place(card, status=CardStatus.PUBLISHED, published_at=card.published_at or now(), expires_at=None)


def _no_instructions(at: At = "instructions") -> Refused:
    return refused(ProblemCode.INVALID, "a published card needs at least one instruction", at=at)


def _draft_ends() -> int:
    return seconds_from_now(DRAFTS_KEPT)


async def _change(context: Context, card: Card, changed: Card, *others: Write, category: bool = False) -> Card:
    """Writes a change by the author, with the version as optimistic lock."""
    changed = changed.changed(version=card.version + 1, updated_at=changed.updated_at)
    when = exists() & absent("deleted_at") & placed_as(card)
    change = Update.of(card, changed, when=when)
    along = counts_along(card, changed)
    await _write(context, changed, change, *along, *others, category=category)
    return changed


async def _write(context: Context, card: Card, *writes: Write, category: bool = False) -> None:
    """Writes on the condition that the account is open and the category exists."""
    account = Check(User.key(user_id=card.author_id), when=is_open())
    in_category = Check(card_category(card), when=exists())
    checks = [account, in_category] if category else [account]
    no_category = not_found(card_category(card))
    refusals: dict[Write, Refused] = {account: no_account(), in_category: no_category}
    await write_or_refuse(context.load, *checks, *writes, refusals=refusals)


def is_listed() -> Condition:
    """Condition that the card is public."""
    return exists("listed_at")


async def _own_card(context: Context, key: Key[Card]) -> Card:
    """Returns the viewer's card with a strongly consistent read."""
    (card,) = await context.load.fresh(key)
    if card is None or card.deleted_at is not None or card.hidden_at is not None or _has_expired(card):
        raise not_found(key)
    if card.author_id != context.signed_in:
        if card.status is not CardStatus.PUBLISHED:
            raise not_found(key)
        raise refused(ProblemCode.FORBIDDEN, "only its author may do this", at=key)
    return card


def _has_expired(card: Card) -> bool:
    """DynamoDB may take days to remove an expired item."""
    return card.expires_at is not None and card.expires_at <= time.time()
