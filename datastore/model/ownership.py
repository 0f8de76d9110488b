"""Ownership of entities, which determines what is hidden, restored and purged with an account.

class Post(Entity, pk="POST#{post_id}", sk="METADATA", owner=user("user_id", "by_author", mark="hidden_at"))
class PostCounter(Entity, pk="POST#{post_id}", sk="COUNTER#{shard}", owner=part_of(Post))
class Category(Entity, pk="CAT#{category_id}", sk="METADATA", owner=nobody("administrators curate them"))
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from datastore.model.keys import Range

if TYPE_CHECKING:
    from datastore.model.entity import Entity

OWN_PARTITION = "within"

FIX = (
    'declare one: owner=user("user_id", "by_author") if it is removed with an account, owner=part_of(Tenant) if it '
    'belongs to another record, or owner=nobody("the reason")'
)


@dataclass(frozen=True)
class OfUser:
    """Owned by a user: hidden, restored and purged with the account."""

    field: str
    found_by: str
    mark: str | None

    def works(self, entity: "type[Entity]", user_id: str) -> Range[Any]:
        """Returns all records of this entity that this user owns."""
        found: Range[Any] = getattr(entity, self.found_by)(**{self.field: user_id})
        return found

    def check(self, entity: "type[Entity]") -> None:
        name, ways = entity.__name__, {OWN_PARTITION: vars(entity)[OWN_PARTITION], **entity.patterns}
        for given in filter(None, (self.field, self.mark)):
            if given not in entity.fields:
                raise TypeError(f"{name} has no field {given} for its owner: use one of {_list(entity.fields)}")
        if self.found_by not in ways:
            raise TypeError(f"{name} has no access pattern {self.found_by}: its owner takes one of {_list(ways)}")
        if ways[self.found_by].index.pk.holes != (self.field,):
            raise TypeError(
                f"{name}.{self.found_by} does not find all records of a user: its owner takes an access pattern whose "
                f"partition key has the hole {self.field} and no other"
            )

    def __str__(self) -> str:
        found = "their own partition" if self.found_by == OWN_PARTITION else f"`{self.found_by}`"
        return f"the user in `{self.field}`, found by {found}"


@dataclass(frozen=True)
class PartOf:
    """Part of another record: has the same owner and is purged with it."""

    whole: "type[Entity]"

    def check(self, entity: "type[Entity]") -> None:
        missing = [hole for hole in self.whole.key_holes if hole not in entity.fields]
        if missing:
            whole = self.whole.__name__
            raise TypeError(f"{entity.__name__} is part of a {whole}, so it needs the key of one: add {_list(missing)}")

    def __str__(self) -> str:
        return f"part of a {self.whole.__name__}"


@dataclass(frozen=True)
class Nobody:
    """Without an owner: not removed with any account or other record."""

    reason: str

    def check(self, entity: "type[Entity]") -> None:
        if not self.reason:
            raise TypeError(f'{entity.__name__} has no owner and no reason for it: use owner=nobody("the reason")')

    def __str__(self) -> str:
        return f"none ({self.reason})"


Owner = OfUser | PartOf | Nobody


def user(field: str, found_by: str = OWN_PARTITION, *, mark: str | None = None) -> OfUser:
    """Declares that the user whose ID is in a field is the owner.

    found_by: the access pattern that returns all records of a user; defaults to a partition of the table.
    mark: the field with the time when the account was deleted. A marked record is hidden and not counted.
    """
    return OfUser(field, found_by, mark)


def part_of(whole: "type[Entity]") -> PartOf:
    """Declares that the owner of another record, whose key this one contains, is the owner."""
    return PartOf(whole)


def nobody(reason: str) -> Nobody:
    """Declares that there is no owner. The reason appears in docs/table-design.md."""
    return Nobody(reason)


def checked(entity: "type[Entity]", owner: Owner | None, about: OfUser | None) -> tuple[Owner, tuple[OfUser, ...]]:
    """Checks a declaration; returns the owner, and every account whose deletion removes the record."""
    if owner is None:
        raise TypeError(f"{entity.__name__} has no owner; {FIX}")
    owners: list[Owner] = [owner, about] if about else [owner]
    for each in owners:
        each.check(entity)
    return owner, tuple(each for each in owners if isinstance(each, OfUser))


def account_fields(entity: "type[Entity]") -> tuple[str, ...]:
    """Returns the fields with the accounts that hide a record, including those of the record it is part of."""
    own = [account.field for account in entity.accounts]
    if isinstance(entity.owner, PartOf):
        whole = entity.owner.whole
        own += [field for field in whole.account_fields if field in whole.key_holes]
    return tuple(dict.fromkeys(own))


def _list(names: Any) -> str:
    return ", ".join(names)
