"""The commands of categories: for system administrators."""

import asyncio
from typing import Annotated, Any

from typing_extensions import Doc

from datastore.cards import ROOT, Category
from datastore.client.errors import Conflict
from datastore.client.writes import Condition, Put, Update, Write, absent, equals, exists
from datastore.model.keys import Key
from resolvers.background.jobs import queued
from resolvers.cards.edges import DEEPEST, MOST_CATEGORIES, category_key, children_of
from resolvers.cards.jobs import index_category
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks
from resolvers.neighborhoods.edges import slug_of

MAX_NAME = 200
MAX_DESCRIPTION = 1_000
LAST_PLACE = 99_999_999
WRITES_AT_ONCE = 50


async def create_category(
    context: Context,
    *,
    name: Annotated[str, Doc("What to call it, up to 200 characters.")],
    category_id: Annotated[
        str | None, Doc("What programs call it: letters a-z, digits and dashes. Left out, it is made from the name.")
    ] = None,
    description: Annotated[str | None, Doc("What belongs in it, up to 1,000 characters.")] = None,
    parent_id: Annotated[Key[Category] | None, Doc("The `id` of the category it is part of.")] = None,
) -> Category:
    """Make a category, the last one among its siblings: for system administrators."""
    context.require_admin()
    checks = Checks()
    name = checks.required_text("name", name, at_most=MAX_NAME)
    made = checks.name("categoryId", category_id or slug_of(name)[:40].strip("-"))
    description = checks.text("description", description, at_most=MAX_DESCRIPTION)
    checks.done()
    category = Category(category_id=made, name=name, description=description, parent_id=_id_of(parent_id))
    return await settled(lambda: _create(context, category))


async def _create(context: Context, category: Category) -> Category:
    above = await _path_to(context, category.parent_id)
    category = category.changed(sort_order=await _last_place(context, category.parent_id))
    made = Put(category, when=absent())
    counted = [Update(each.own_key, add={"child_count": 1}, when=exists()) for each in above[:1]]
    taken = refused(ProblemCode.TAKEN, f"there is a category {category.category_id} already", "input", "categoryId")
    await write_or_refuse(context.load, made, *counted, refusals={made: taken})
    return category


async def update_category(
    context: Context,
    *,
    category_id: Annotated[Key[Category], Doc("The `id` of the category.")],
    name: Annotated[str | None, Doc("What to call it.")] = UNSET,
    description: Annotated[str | None, Doc("What belongs in it; null removes it.")] = UNSET,
) -> Category:
    """Change a category: for system administrators. What is left out stays as it is."""
    context.require_admin()
    checks = Checks()
    changes: dict[str, Any] = {}
    if name is not UNSET:
        changes["name"] = checks.required_text("name", name or "", at_most=MAX_NAME)
    if description is not UNSET:
        changes["description"] = checks.text("description", description, at_most=MAX_DESCRIPTION)
    checks.done()
    category = await _category(context, category_id, "categoryId")
    changed = category.changed(**changes)
    renamed = changed.name != category.name
    indexed = [queued(index_category, category_id=category.category_id)] if renamed else []
    await context.load.write(Update.of(category, changed, when=exists()), *indexed)
    return changed


async def move_category(
    context: Context,
    *,
    category_id: Annotated[Key[Category], Doc("The `id` of the category.")],
    parent_id: Annotated[
        Key[Category] | None, Doc("The `id` of the category to make it part of; left out, it is part of no other.")
    ] = None,
) -> Category:
    """Make a category, with all that is in it, the last one in another: for system administrators."""
    context.require_admin()
    return await settled(lambda: _move(context, category_id, _id_of(parent_id)))


async def _move(context: Context, key: Key[Category], parent_id: str) -> Category:
    """On the condition that everything above its new place stays there: two moves at once make no loop either."""
    category = await _category(context, key, "categoryId")
    if category.parent_id == parent_id:
        return category
    above = await _path_to(context, parent_id)
    if category.category_id in [each.category_id for each in above]:
        message = "a category cannot be part of itself, nor of a category that is in it"
        raise refused(ProblemCode.INVALID, message, "input", "parentId")
    await _check_depth(context, category, len(above))
    moved = category.changed(parent_id=parent_id, sort_order=await _last_place(context, parent_id))
    await context.load.write(
        Update.of(category, moved, when=_still_in(category.parent_id)), *_counted(category.parent_id, above)
    )
    return moved


async def _check_depth(context: Context, category: Category, levels_above: int) -> None:
    """That the deepest that is in it is not too deep there; it is read one level at a time."""
    level, count, depth = [category], 0, levels_above + 1
    while level := [each for each in level if each.child_count]:
        depth += 1
        count += sum(each.child_count for each in level)
        if depth > DEEPEST:
            raise _too_deep()
        if count > MOST_CATEGORIES:
            message = f"there are over {MOST_CATEGORIES:,} categories in it; move some of them first"
            raise refused(ProblemCode.INVALID, message, "input", "categoryId")
        ranges = [children_of(each.category_id) for each in level]
        pages = await asyncio.gather(*(context.load.page(within, MOST_CATEGORIES) for within in ranges))
        level = [each for page in pages for each in page.records]


def _counted(old_parent_id: str, above: list[Category]) -> list[Write]:
    """The counts of both parents, and that nothing above the new place was moved."""
    writes: list[Write] = []
    counts = {old_parent_id: -1, **({above[0].category_id: 1} if above else {})}
    for each in above:
        count = counts.pop(each.category_id, 0)
        still = _still_in(each.parent_id)
        writes.append(Update(each.own_key, add={"child_count": count} if count else {}, when=still))
    if old_parent_id in counts and old_parent_id != ROOT:
        writes.append(Update(category_key(old_parent_id), add={"child_count": -1}, when=exists()))
    return writes


async def reorder_categories(
    context: Context,
    *,
    category_ids: Annotated[list[Key[Category]], Doc("The `id`s of siblings, in the order they should have.")],
    parent_id: Annotated[Key[Category] | None, Doc("The `id` of the category they are in, if they are in one.")] = None,
) -> list[Category]:
    """Arrange what is in a category: these first, in this order, then all others as they are now.

    For system administrators. Each batch of 50 is all or nothing; doing it again does what is left.
    """
    context.require_admin()
    within = _id_of(parent_id)
    there: dict[str, Category] = {}
    async for page in context.load.pages(children_of(within), MOST_CATEGORIES):
        there |= {category.category_id: category for category in page}
    named = dict.fromkeys(map(_id_of, category_ids))
    strangers = [name for name in named if name not in there]
    if strangers:
        message = f"{', '.join(strangers[:5])}: not in this category; give the `id`s of what is"
        raise refused(ProblemCode.INVALID, message, "input", "categoryIds")
    ordered = [there[name] for name in [*named, *(name for name in there if name not in named)]]
    if ordered == [*there.values()]:
        return ordered
    arranged = _behind_all(ordered)
    # From the end: wherever it is cut off, what was not named is in the order it had, and can be arranged again.
    changes = [Update.of(old, new, when=_still_in(within)) for old, new in zip(ordered, arranged, strict=True)][::-1]
    try:
        for start in range(0, len(changes), WRITES_AT_ONCE):
            await context.load.write(*changes[start : start + WRITES_AT_ONCE])
    except Conflict:
        raise refused(ProblemCode.CONFLICT, "some of these were moved in the meantime; read them again") from None
    return arranged


def _behind_all(ordered: list[Category]) -> list[Category]:
    """In places behind all that are taken, so that none is another one's before all of them have changed."""
    first = max(category.sort_order for category in ordered) + 1
    if first + len(ordered) > LAST_PLACE:
        first = 0
    return [category.changed(sort_order=first + place) for place, category in enumerate(ordered)]


def _still_in(parent_id: str) -> Condition:
    return exists() & equals("parent_id", parent_id)


def _id_of(key: Key[Category] | None) -> str:
    return key.values["category_id"] if key else ROOT


async def _category(context: Context, key: Key[Category], path: str) -> Category:
    (category,) = await context.load.fresh(key)
    if category is None:
        raise _no_such_category(path)
    return category


async def _path_to(context: Context, category_id: str) -> list[Category]:
    """A category and all it is part of, as they are now, from below."""
    found: list[Category] = []
    while category_id != ROOT:
        found.append(await _category(context, category_key(category_id), "parentId"))
        category_id = found[-1].parent_id
        if len(found) >= DEEPEST:
            raise _too_deep()
    return found


async def _last_place(context: Context, parent_id: str) -> int:
    page = await context.load.page(children_of(parent_id).newest_first(), 1)
    return min(page.records[0].sort_order + 1, LAST_PLACE) if page.records else 0


def _too_deep() -> Refused:
    return refused(ProblemCode.INVALID, f"categories go {DEEPEST} levels deep at most", "input", "parentId")


def _no_such_category(path: str) -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such category", "input", path)
