"""Writes an import in transactions, each conditional on the tree being there and editable."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from datastore.client.errors import Conflict
from datastore.client.table import COMMAND_WRITES
from datastore.client.writes import Check, Put, Update, Write, absent, equals
from datastore.genealogy import GedcomPart, Person, Tree
from datastore.model.entity import Entity
from datastore.model.times import time_from_now
from loaders.request import Loaders
from resolvers.accounts.guards import is_open
from resolvers.background.jobs import SETTLED, queued
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.genealogy.edges import marriages
from resolvers.genealogy.importing.mapping import Contents
from resolvers.genealogy.jobs import purge_tree

# DynamoDB accepts 4 MB per transaction.
MOST_BYTES = 3_000_000
# Upper bound of a person or link without its long texts.
FIELDS_BYTES = 20_000

Advance = Callable[[int], None]


async def write_contents(
    load: Loaders,
    tree: Tree,
    contents: Contents,
    advance: Advance | None = None,
    allowed: Mapping[Write, Refused] | None = None,
) -> None:
    """Writes what is missing, so that an interrupted import can be resumed. `allowed` maps checks to refusals.

    Parents are written before their children, and children together with their links. So no person still to be
    written is an ancestor of a person already there, and no link created meanwhile can close a cycle.
    """
    writing = _Writing(load, tree, allowed or {})
    there = {
        person.person_id async for page in load.pages(Person.of_tree(tree_id=tree.tree_id), 1_000) for person in page
    }
    missing = (
        [Put(person, when=absent()), *(Put(link) for link in links)] for person, links in contents.people(but=there)
    )
    for together in _transactions(missing, writing.room):
        await writing.write([put for puts in together for put in puts], people=len(together))
        _tell(advance, sum(map(len, together)))
    known = {marriage.own_key async for page in load.pages(marriages(tree), 1_000) for marriage in page}
    rest: list[list[Put]] = [
        *([Put(marriage, when=absent())] for marriage in contents.marriages if marriage.own_key not in known),
        *([Put(part)] for part in contents.parts),
    ]
    for together in _transactions(rest, writing.room):
        await writing.write([put for puts in together for put in puts])
        _tell(advance, len(together))
    await _finish(writing, contents)


class _Writing:
    """Transactions of an import. The last one completes it; an import that ends before can be resumed."""

    def __init__(self, load: Loaders, tree: Tree, allowed: Mapping[Write, Refused]) -> None:
        self.load = load
        self.tree = tree
        self._allowed = allowed
        self.room = COMMAND_WRITES - len(allowed) - 1

    async def write(self, puts: Sequence[Put], people: int = 0) -> None:
        there: Write = Check(self.tree.own_key, when=is_open())
        if people:
            there = Update(self.tree.own_key, add={"person_count": people}, when=is_open())
        try:
            await self.load.write_part(*self._allowed, there, *puts)
        except Conflict as conflict:
            raise await self._refusal(conflict, there) from None

    async def finish(self, change: Update) -> None:
        await write_or_refuse(self.load, *self._allowed, change, refusals=self._allowed)

    async def _refusal(self, conflict: Conflict, there: Write) -> Refused:
        if there in conflict:
            return await self.gone()
        message = "someone else is editing the tree; send the file again to complete the import"
        changed = refused(ProblemCode.CONFLICT, message, at=self.tree.own_key)
        return next((refusal for check, refusal in self._allowed.items() if check in conflict), changed)

    async def gone(self) -> Refused:
        """Queues another purge of the deleted tree and returns the refusal.

        This import may have written to the tree since the purge.
        """
        tree = self.tree
        purge = queued(purge_tree, due_at=time_from_now(SETTLED), user_id=tree.user_id, tree_id=tree.tree_id)
        await self.load.write_part(purge)
        return refused(ProblemCode.NOT_FOUND, "the tree was deleted in the meantime", at=tree.own_key)


@retries_on_conflict
async def _finish(writing: _Writing, contents: Contents) -> None:
    (fresh,) = await writing.load.fresh(writing.tree.own_key)
    if fresh is None or fresh.deleted_at is not None:
        raise await writing.gone()
    done = fresh.changed(
        imports=[*dict.fromkeys([*fresh.imports, contents.mark])],
        root_person_id=fresh.root_person_id or contents.first_person_id,
        links_changed=fresh.links_changed + 1,
    )
    as_read = is_open() & equals("links_changed", fresh.links_changed) & equals("imports", fresh.imports)
    await writing.finish(Update.of(fresh, done, when=as_read))


def _transactions(units: Iterable[list[Put]], room: int) -> Iterator[list[list[Put]]]:
    """Groups units into transactions without splitting a unit."""
    some: list[list[Put]] = []
    count = size = 0
    for unit in units:
        unit_size = sum(_bytes(put.record) for put in unit)
        if some and (count + len(unit) > room or size + unit_size > MOST_BYTES):
            yield some
            some, count, size = [], 0, 0
        some.append(unit)
        count += len(unit)
        size += unit_size
    if some:
        yield some


def _bytes(record: Entity) -> int:
    """Returns the maximum size before compression."""
    texts: list[str | None] = []
    if isinstance(record, Person):
        texts = [record.biography, record.kept]
    elif isinstance(record, GedcomPart):
        texts = [record.text]
    return FIELDS_BYTES + sum(len(text.encode()) for text in texts if text)


def _tell(advance: Advance | None, count: int) -> None:
    if advance:
        advance(count)
