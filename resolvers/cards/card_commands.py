"""The commands of cards and of what is said about them."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any, NamedTuple

import orjson
from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import Card, CardComment, CardStatus, Category, Difficulty
from datastore.client.writes import Check, Condition, Delete, Put, Update, Write, absent, equals, exists
from datastore.model.codec import JSON, camel
from datastore.model.keys import Key
from datastore.model.times import new_id, now, seconds_from_now
from resolvers.accounts.guards import is_open, no_account, write_for_account
from resolvers.background.jobs import queued
from resolvers.cards.edges import card_category
from resolvers.cards.jobs import index_card, purging, purging_votes
from resolvers.cards.ranking import in_place, placed_as
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, outdated, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.unset import UNSET
from resolvers.core.validation import MAX_URL, Checks

MAX_TITLE = 120
MAX_DESCRIPTION = 5_000
MAX_PICTURES = 10
MAX_STEPS = 200
MAX_STEP = 5_000
MAX_INSTRUCTIONS = 40_000
MAX_MATERIALS = 10_000
MAX_TOOLS = 50
MAX_TOOL = 100
MAX_TAGS = 10
MAX_TAG = 40
MAX_MINUTES = 5_000_000
MAX_COST = 1_000_000_000
# All of it as JSON: whoever votes has the whole card written once more, in the table and in each of its indexes.
MAX_CARD = 60_000
MAX_COMMENT = 2_000
DRAFTS_KEPT = timedelta(days=30)


class DeletedCard(NamedTuple):
    deleted_card_id: Card


class DeletedCardComment(NamedTuple):
    deleted_comment_id: CardComment
    card: Card | None


async def create_card(
    context: Context,
    *,
    title: Annotated[str, Doc("What it is about, up to 120 characters.")],
    category_id: Annotated[Key[Category], Doc("The `id` of its category.")],
    difficulty: Annotated[Difficulty, Doc("What one has to know before.")],
    description: Annotated[str | None, Doc("What one gets, up to 5,000 characters.")] = None,
    image_urls: Annotated[list[str] | None, Doc("The https addresses of up to 10 pictures, 2,048 bytes each.")] = None,
    instructions: Annotated[list[str] | None, Doc("What to do: up to 200 steps, 40,000 bytes in all.")] = None,
    materials: Annotated[JSON | None, Doc("What it takes: an object of up to 10,000 bytes.")] = None,
    tools: Annotated[list[str] | None, Doc("What to do it with: up to 50.")] = None,
    tags: Annotated[list[str] | None, Doc("Words to find it by: up to 10, of up to 40 characters.")] = None,
    estimated_time: Annotated[int | None, Doc("How long it takes, in minutes.")] = None,
    estimated_cost: Annotated[int | None, Doc("What it costs, in whole units of your currency.")] = None,
    publish: Annotated[bool, Doc("Whether to publish it at once; otherwise it is a draft.")] = False,
) -> Card:
    """Write a card, of up to 60,000 bytes in all.

    A draft is gone 30 days after its last change unless it is published.
    """
    content = _content(
        title=title,
        category_id=category_id,
        difficulty=difficulty,
        description=description,
        image_urls=image_urls or [],
        instructions=instructions or [],
        materials={} if materials is None else materials,
        tools=tools or [],
        tags=tags or [],
        estimated_time=estimated_time,
        estimated_cost=estimated_cost,
    )
    draft = Card(card_id=new_id(), author_id=context.signed_in, **content)
    _check_size(draft)
    card = _published(draft) if publish else in_place(draft, expires_at=_draft_ends())
    await _write(context, card, Put(card, when=absent()), category=True, indexed=publish)
    return card


async def update_card(
    context: Context,
    *,
    card_id: Annotated[Key[Card], Doc("The `id` of the card.")],
    expected_version: Annotated[int, Doc("The `version` that was read; nothing is changed if it is another by now.")],
    title: Annotated[str | None, Doc("What it is about.")] = UNSET,
    category_id: Annotated[Key[Category] | None, Doc("The `id` of another category.")] = UNSET,
    difficulty: Annotated[Difficulty | None, Doc("What one has to know before.")] = UNSET,
    description: Annotated[str | None, Doc("What one gets; null removes it.")] = UNSET,
    image_urls: Annotated[list[str] | None, Doc("The addresses of all its pictures.")] = UNSET,
    instructions: Annotated[list[str] | None, Doc("All the steps.")] = UNSET,
    materials: Annotated[JSON | None, Doc("What it takes; takes the place of all that was.")] = UNSET,
    tools: Annotated[list[str] | None, Doc("All the tools.")] = UNSET,
    tags: Annotated[list[str] | None, Doc("All the tags.")] = UNSET,
    estimated_time: Annotated[int | None, Doc("How long it takes, in minutes; null removes it.")] = UNSET,
    estimated_cost: Annotated[int | None, Doc("What it costs; null removes it.")] = UNSET,
) -> Card:
    """Change one's card. What is left out stays as it is."""
    content = _content(
        title=title,
        category_id=category_id,
        difficulty=difficulty,
        description=description,
        image_urls=image_urls,
        instructions=instructions,
        materials=materials,
        tools=tools,
        tags=tags,
        estimated_time=estimated_time,
        estimated_cost=estimated_cost,
    )
    return await settled(lambda: _update(context, card_id, expected_version, content))


async def _update(context: Context, key: Key[Card], expected_version: int, content: dict[str, Any]) -> Card:
    card = await _own_card(context, key)
    if card.version != expected_version:
        raise outdated(card.version)
    is_draft = card.status is CardStatus.DRAFT
    changed = in_place(card, **content, expires_at=_draft_ends() if is_draft else None)
    _check_size(changed)
    if not is_draft and not changed.instructions:
        raise _nothing_to_do("instructions")
    found_by = (card.title, card.tags, card.category_id) != (changed.title, changed.tags, changed.category_id)
    is_listed = changed.listed_at is not None
    return await _change(context, card, changed, category=True, indexed=is_listed and found_by)


async def publish_card(context: Context, *, card_id: Annotated[Key[Card], Doc("The `id` of the card.")]) -> Card:
    """Show one's card to everybody. One that was archived is back where it was. Doing so again changes nothing."""
    return await settled(lambda: _publish(context, card_id))


async def _publish(context: Context, key: Key[Card]) -> Card:
    card = await _own_card(context, key)
    if card.status is CardStatus.PUBLISHED:
        return card
    return await _change(context, card, _published(card), category=True, indexed=True)


async def archive_card(context: Context, *, card_id: Annotated[Key[Card], Doc("The `id` of the card.")]) -> Card:
    """Take one's card back from everybody else, with all that was said about it; `publishCard` shows it again."""
    return await settled(lambda: _archive(context, card_id))


async def _archive(context: Context, key: Key[Card]) -> Card:
    card = await _own_card(context, key)
    if card.status is CardStatus.ARCHIVED:
        return card
    if card.status is CardStatus.DRAFT:
        message = "a draft cannot be archived; publish it or delete it"
        raise refused(ProblemCode.INVALID, message, "input", "cardId")
    return await _change(context, card, in_place(card, status=CardStatus.ARCHIVED), indexed=True)


async def delete_card(context: Context, *, card_id: Annotated[Key[Card], Doc("The `id` of the card.")]) -> DeletedCard:
    """Delete one's card for good. It is gone at once; what belongs to it is cleared away in the background."""
    return await settled(lambda: _delete(context, card_id))


async def _delete(context: Context, key: Key[Card]) -> DeletedCard:
    card = await _own_card(context, key)
    gone = in_place(card, deleted_at=now(), expires_at=None)
    await _change(context, card, gone, purging(card))
    return DeletedCard(card)


async def record_view(context: Context, *, card_id: Annotated[Key[Card], Doc("The `id` of the card.")]) -> bool:
    """Say that somebody looks at a card that everybody sees. It is counted within a few seconds, once for a request.

    Of one person, or without a token of one address, 60 views in each minute by the clock count.
    """
    if not context.views.admits(context.viewer.user_id or context.client_address):
        return False
    card = await context.load.one(card_id)
    if card is None or card.listed_at is None:
        raise no_such_card()
    if card.card_id not in context.viewed and not context.views.note(card.card_id):
        return False
    context.viewed.add(card.card_id)
    return True


async def add_card_comment(
    context: Context,
    *,
    card_id: Annotated[Key[Card], Doc("The `id` of the card.")],
    content: Annotated[str, Doc("What to say, up to 2,000 characters.")],
) -> CardComment:
    """Say something about a card."""
    content = _said(content)
    user_id = context.signed_in
    card = await context.load.one(card_id)
    if card is None:
        raise no_such_card()
    comment = CardComment(card_id=card.card_id, comment_id=new_id(), author_id=user_id, content=content)
    account = Check(User.key(user_id=user_id), when=is_open())
    counted = Update(card.own_key, add={"comment_count": 1}, when=is_listed())
    refusals: dict[Write, Refused] = {account: no_account(), counted: no_such_card()}
    await write_or_refuse(context.load, account, counted, Put(comment, when=absent()), refusals=refusals)
    return comment


async def edit_card_comment(
    context: Context,
    *,
    comment_id: Annotated[Key[CardComment], Doc("The `id` of the comment.")],
    content: Annotated[str, Doc("What to say instead, up to 2,000 characters.")],
) -> CardComment:
    """Say it otherwise: for its author."""
    content = _said(content)
    comment, _ = await _comment(context, comment_id)
    if comment.author_id != context.signed_in:
        raise refused(ProblemCode.FORBIDDEN, "only its author may change a comment", "input", "commentId")
    changed = comment.changed(content=content)
    await write_for_account(context, Update.of(comment, changed, when=exists() & absent("hidden_at")))
    return changed


async def delete_card_comment(
    context: Context, *, comment_id: Annotated[Key[CardComment], Doc("The `id` of the comment.")]
) -> DeletedCardComment:
    """Remove a comment: for its author and for the author of the card."""
    comment, card = await _comment(context, comment_id)
    if context.signed_in not in (comment.author_id, card.author_id):
        message = "only its author and the author of the card may delete a comment"
        raise refused(ProblemCode.FORBIDDEN, message, "input", "commentId")
    removal = Delete(comment_id, when=exists())
    counted = Update(card.own_key, add={"comment_count": -1}, when=exists())
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    refusals: dict[Write, Refused] = {account: no_account(), removal: no_such_comment(), counted: no_such_comment()}
    await write_or_refuse(context.load, account, removal, counted, purging_votes(comment), refusals=refusals)
    return DeletedCardComment(comment, await context.load.one(card.own_key))


def _content(**given: Any) -> dict[str, Any]:
    """What a card says, of what was given, as it is stored; all that is wrong with it at once."""
    checks = Checks()
    said: dict[str, Any] = {}
    for name, value in given.items():
        if value is UNSET:
            continue
        path = camel(name)
        if name in MAY_BE_NULL or checks.given(path, value) is not None:
            said[name] = CONTENT[name](checks, path, value)
    checks.done()
    return said


def _pictures(checks: Checks, path: str, urls: list[str]) -> list[str]:
    given = checks.texts(path, urls, at_most=MAX_PICTURES, each_at_most=MAX_URL)
    return [checks.https_url(path, url) for url in given]


def _instructions(checks: Checks, path: str, steps: list[str]) -> list[str]:
    given = checks.texts(path, steps, at_most=MAX_STEPS, each_at_most=MAX_STEP)
    checks.json_list(path, given, at_most=MAX_INSTRUCTIONS)
    return given


def _tags(checks: Checks, path: str, tags: list[str]) -> list[str]:
    """Each once, in whatever case."""
    given = checks.texts(path, tags, at_most=MAX_TAGS, each_at_most=MAX_TAG)
    each: dict[str, str] = {}
    for tag in given:
        each.setdefault(tag.casefold(), tag)
    return [*each.values()]


MAY_BE_NULL = {"description", "estimated_time", "estimated_cost"}
CONTENT: dict[str, Callable[[Checks, str, Any], Any]] = {
    "title": lambda checks, path, text: checks.required_text(path, text, at_most=MAX_TITLE),
    "category_id": lambda _, __, key: key.values["category_id"],
    "difficulty": lambda _, __, difficulty: difficulty,
    "description": lambda checks, path, text: checks.text(path, text, at_most=MAX_DESCRIPTION),
    "image_urls": _pictures,
    "instructions": _instructions,
    "materials": lambda checks, path, value: checks.json_object(path, value, at_most=MAX_MATERIALS),
    "tools": lambda checks, path, tools: checks.texts(path, tools, at_most=MAX_TOOLS, each_at_most=MAX_TOOL),
    "tags": _tags,
    "estimated_time": lambda checks, path, minutes: checks.number(path, minutes, at_most=MAX_MINUTES),
    "estimated_cost": lambda checks, path, cost: checks.number(path, cost, at_most=MAX_COST),
}
"""How each thing a card says is checked, and what is stored of it."""


def _check_size(card: Card) -> None:
    """As large as it is written in JSON without spaces."""
    size = len(orjson.dumps({name: getattr(card, name) for name in CONTENT}))
    if size > MAX_CARD:
        message = f"the card has {size:,} bytes in all; at most {MAX_CARD:,} are allowed"
        raise refused(ProblemCode.INVALID, message, "input")


def _published(card: Card) -> Card:
    if not card.instructions:
        raise _nothing_to_do("instructions")
    return in_place(card, status=CardStatus.PUBLISHED, published_at=card.published_at or now(), expires_at=None)


def _nothing_to_do(path: str) -> Refused:
    return refused(ProblemCode.INVALID, "a card for everybody needs at least one instruction", "input", path)


def _draft_ends() -> int:
    return seconds_from_now(DRAFTS_KEPT)


async def _change(
    context: Context, card: Card, changed: Card, *others: Write, category: bool = False, indexed: bool = False
) -> Card:
    """A change by its author: the version tells whether it was made of what is there."""
    changed = changed.changed(version=card.version + 1, updated_at=changed.updated_at)
    when = exists() & equals("version", card.version) & absent("deleted_at") & placed_as(card)
    change = Update.of(card, changed, when=when)
    await _write(context, changed, change, *others, category=category, indexed=indexed)
    return changed


async def _write(context: Context, card: Card, *writes: Write, category: bool = False, indexed: bool = False) -> None:
    """With an open account, in a category that is there, and with the index of words following."""
    account = Check(User.key(user_id=card.author_id), when=is_open())
    in_category = Check(card_category(card), when=exists())
    checks = [account, in_category] if category else [account]
    index = [queued(index_card, card_id=card.card_id)] if indexed else []
    no_category = refused(ProblemCode.NOT_FOUND, "there is no such category", "input", "categoryId")
    refusals: dict[Write, Refused] = {account: no_account(), in_category: no_category}
    await write_or_refuse(context.load, *checks, *writes, *index, refusals=refusals)


def is_listed() -> Condition:
    """Everybody sees it."""
    return exists("listed_at")


async def _own_card(context: Context, key: Key[Card]) -> Card:
    """One's card as it is now."""
    user_id = context.signed_in
    (card,) = await context.load.fresh(key)
    if card is None or card.deleted_at is not None or card.hidden_at is not None or _has_expired(card):
        raise no_such_card()
    if card.author_id != user_id:
        if card.status is not CardStatus.PUBLISHED:
            raise no_such_card()
        raise refused(ProblemCode.FORBIDDEN, "only its author may do this", "input", "cardId")
    return card


def _has_expired(card: Card) -> bool:
    """DynamoDB takes up to days to remove it."""
    return card.expires_at is not None and card.expires_at <= time.time()


async def _comment(context: Context, key: Key[CardComment]) -> tuple[CardComment, Card]:
    """A comment as it is now, and its card, if the viewer may see them."""
    _ = context.signed_in
    card_key: Key[Any] = Card.key(card_id=key.values["card_id"])
    await context.load.fresh(key, card_key)
    comment, card = await context.load.one(key), await context.load.one(card_key)
    if comment is None or card is None:
        raise no_such_comment()
    return comment, card


def _said(content: str) -> str:
    checks = Checks()
    content = checks.required_text("content", content, at_most=MAX_COMMENT)
    checks.done()
    return content


def no_such_card() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such card", "input", "cardId")


def no_such_comment() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such comment", "input", "commentId")
