"""Commands of categories."""

import asyncio
from typing import Annotated

from typing_extensions import Doc

from datastore.cards import ROOT, Category
from datastore.client.errors import Conflict
from datastore.client.writes import Condition, Put, Update, Write, absent, equals, exists
from datastore.model.keys import Key
from resolvers.cards.edges import DEEPEST, MOST_CATEGORIES, category_key, children_of
from resolvers.core.access import AccessRole, access
from resolvers.core.constraints import Name, Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unset import UNSET, given
from resolvers.core.validation import Checks
from resolvers.neighborhoods.edges import slug_of

CategoryName = Annotated[str, Doc("Display name."), Text(at_most=200)]
Description = Text(at_most=1_000)
LAST_PLACE = 99_999_999
WRITES_AT_ONCE = 50


@access(requires=AccessRole.ADMIN)
async def create_category(
    context: Context,
    *,
    name: CategoryName,
    database_id: Annotated[str | None, Doc("Permanent identifier. Defaults to one made from the name."), Name()] = None,
    description: Annotated[str | None, Doc("Description of the cards it holds."), Description] = None,
    parent_id: Annotated[Key[Category] | None, Doc("ID of the parent category. Omit it for a top-level one.")] = None,
) -> Category:
    """Creates a category as the last among its siblings."""
    checks = Checks()
    made = database_id or checks.satisfies("database_id", slug_of(name)[:40].strip("-"), Name())
    checks.done()
    category = Category(category_id=made, name=name, description=description, parent_id=_id_of(parent_id))
    return await _create(context, category)


@retries_on_conflict
async def _create(context: Context, category: Category) -> Category:
    above = await _path_to(context, category.parent_id)
    category = category.changed(sort_order=await _last_place(context, category.parent_id))
    made = Put(category, when=absent())
    counted = [Update(each.own_key, add={"child_count": 1}, when=exists()) for each in above[:1]]
    taken = refused(ProblemCode.TAKEN, f"the category ID {category.category_id} is taken", at="database_id")
    await write_or_refuse(context.load, made, *counted, refusals={made: taken})
    return category


@access(requires=AccessRole.ADMIN)
async def update_category(
    context: Context,
    *,
    category_id: Annotated[Key[Category], Doc("ID of the category.")],
    name: CategoryName = UNSET,
    description: Annotated[str | None, Doc("Description; null removes it."), Description] = UNSET,
) -> Category:
    """Edits a category. Omitted fields keep their values."""
    category = await _category(context, category_id)
    changed = category.changed(**given(name=name, description=description))
    await context.load.write(Update.of(category, changed, when=exists()))
    return changed


@access(requires=AccessRole.ADMIN)
@retries_on_conflict
async def move_category(
    context: Context,
    *,
    category_id: Annotated[Key[Category], Doc("ID of the category.")],
    parent_id: Annotated[
        Key[Category] | None, Doc("ID of the new parent category. Omit it to move the category to the top level.")
    ] = None,
) -> Category:
    """Moves a category with its subcategories to the end of another one."""
    return await _move(context, category_id, _id_of(parent_id))


async def _move(context: Context, key: Key[Category], parent_id: str) -> Category:
    """Writes on the condition that no new ancestor has moved, so that concurrent moves cannot form a cycle."""
    category = await _category(context, key)
    if category.parent_id == parent_id:
        return category
    above = await _path_to(context, parent_id)
    if category.category_id in [each.category_id for each in above]:
        message = "a category cannot move into itself or one of its subcategories"
        raise refused(ProblemCode.INVALID, message, at="parent_id")
    await _check_depth(context, category, len(above))
    moved = category.changed(parent_id=parent_id, sort_order=await _last_place(context, parent_id))
    await context.load.write(
        Update.of(category, moved, when=_still_in(category.parent_id)), *_counted(category.parent_id, above)
    )
    return moved


async def _check_depth(context: Context, category: Category, levels_above: int) -> None:
    """Refuses a move that exceeds the maximum depth. Reads the subcategories one level at a time."""
    level, count, depth = [category], 0, levels_above + 1
    while level := [each for each in level if each.child_count]:
        depth += 1
        count += sum(each.child_count for each in level)
        if depth > DEEPEST:
            raise _too_deep()
        if count > MOST_CATEGORIES:
            message = f"it has over {MOST_CATEGORIES:,} subcategories; move some of them first"
            raise refused(ProblemCode.INVALID, message, at="category_id")
        ranges = [children_of(each.category_id) for each in level]
        pages = await asyncio.gather(*(context.load.page(within, MOST_CATEGORIES) for within in ranges))
        level = [each for page in pages for each in page.records]


def _counted(old_parent_id: str, above: list[Category]) -> list[Write]:
    """Returns the count updates of both parents, on the condition that no new ancestor has moved."""
    writes: list[Write] = []
    counts = {old_parent_id: -1, **({above[0].category_id: 1} if above else {})}
    for each in above:
        count = counts.pop(each.category_id, 0)
        still = _still_in(each.parent_id)
        writes.append(Update(each.own_key, add={"child_count": count} if count else {}, when=still))
    if old_parent_id in counts and old_parent_id != ROOT:
        writes.append(Update(category_key(old_parent_id), add={"child_count": -1}, when=exists()))
    return writes


@access(requires=AccessRole.ADMIN)
async def reorder_categories(
    context: Context,
    *,
    category_ids: Annotated[list[Key[Category]], Doc("IDs of siblings in the new order.")],
    parent_id: Annotated[Key[Category] | None, Doc("ID of their parent category. Omit it for the top level.")] = None,
) -> list[Category]:
    """Reorders subcategories: the given ones first, then the others in their current order.

    Written in atomic batches of 50; a retry completes the rest.
    """
    within = _id_of(parent_id)
    there: dict[str, Category] = {}
    async for page in context.load.pages(children_of(within), MOST_CATEGORIES):
        there |= {category.category_id: category for category in page}
    named = dict.fromkeys(map(_id_of, category_ids))
    strangers = [name for name in named if name not in there]
    if strangers:
        message = f"{', '.join(strangers[:5])}: not in this category; send IDs of its subcategories"
        raise refused(ProblemCode.INVALID, message, at="category_ids")
    ordered = [there[name] for name in [*named, *(name for name in there if name not in named)]]
    if ordered == [*there.values()]:
        return ordered
    arranged = _behind_all(ordered)
    # From the end: if interrupted, the remaining ones keep their order, and a retry completes it.
    changes = [Update.of(old, new, when=_still_in(within)) for old, new in zip(ordered, arranged, strict=True)][::-1]
    try:
        *parts, last = [changes[start : start + WRITES_AT_ONCE] for start in range(0, len(changes), WRITES_AT_ONCE)]
        for part in parts:
            await context.load.write_part(*part)
        await context.load.write(*last)
    except Conflict:
        raise refused(ProblemCode.CONFLICT, "some of these were moved in the meantime; read them again") from None
    return arranged


async def reordered_categories(
    context: Context,
    keys: object,
    *,
    parent_id: Key[Category] | None = None,
    **_: object,
) -> dict[str, list[Category]]:
    """Replays `reorderCategories`: returns the subcategories in their current order."""
    pages = context.load.pages(children_of(_id_of(parent_id)), MOST_CATEGORIES)
    return {"categories": [category async for page in pages for category in page]}


def _behind_all(ordered: list[Category]) -> list[Category]:
    """Assigns positions after all current ones, so that none collides before all have changed."""
    first = max(category.sort_order for category in ordered) + 1
    if first + len(ordered) > LAST_PLACE:
        first = 0
    return [category.changed(sort_order=first + place) for place, category in enumerate(ordered)]


def _still_in(parent_id: str) -> Condition:
    return exists() & equals("parent_id", parent_id)


def _id_of(key: Key[Category] | None) -> str:
    return key.values["category_id"] if key else ROOT


async def _category(context: Context, key: Key[Category]) -> Category:
    (category,) = await context.load.fresh(key)
    if category is None:
        raise not_found(key)
    return category


async def _path_to(context: Context, category_id: str) -> list[Category]:
    """Returns a category and its ancestors, bottom up, with strongly consistent reads."""
    found: list[Category] = []
    while category_id != ROOT:
        found.append(await _category(context, category_key(category_id)))
        category_id = found[-1].parent_id
        if len(found) >= DEEPEST:
            raise _too_deep()
    return found


async def _last_place(context: Context, parent_id: str) -> int:
    page = await context.load.page(children_of(parent_id).newest_first(), 1)
    return min(page.records[0].sort_order + 1, LAST_PLACE) if page.records else 0


def _too_deep() -> Refused:
    return refused(ProblemCode.INVALID, f"categories can be nested at most {DEEPEST} levels deep", at="parent_id")
