"""Documents: the parts of records that are indexed. Each domain declares its documents in its module search.py."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from datastore.model.entity import REGISTRY, Entity
from datastore.model.keys import Key, Range
from resolvers.core.options import Options

# Longer texts are cut: what a person looks for is near the beginning.
LONGEST_TEXT = 20_000
# No key contains it.
SEPARATOR = "\x1f"


class Weight(Enum):
    """Weight of a match in a text."""

    TITLE = "title"
    TAGS = "tags"
    BODY = "body"


class Text(NamedTuple):
    """A text of a document: the name of its field in the schema, and the weight of a match in it."""

    field: str
    text: str
    weight: Weight = Weight.BODY


class Audience(str):
    """A group of viewers. A document lists the audiences that may find it; a viewer belongs to some."""

    @classmethod
    def user(cls, user_id: str) -> "Audience":
        return cls(f"user {user_id}")

    @classmethod
    def tenant(cls, tenant_id: str) -> "Audience":
        """Everyone, in requests about this tenant."""
        return cls(f"tenant {tenant_id}")

    @classmethod
    def staff(cls, tenant_id: str) -> "Audience":
        return cls(f"staff {tenant_id}")

    @classmethod
    def tree(cls, tree_id: str) -> "Audience":
        """The people a tree is shared with. Its owner is a user."""
        return cls(f"tree {tree_id}")

    @classmethod
    def neighborhood(cls, neighborhood_id: str) -> "Audience":
        """The members of a private neighborhood, and those who are invited."""
        return cls(f"neighborhood {neighborhood_id}")


EVERYONE = Audience("everyone")


@dataclass(frozen=True)
class Document:
    """A record in the index. A record that no audience may find has none."""

    key: str
    """Entity, partition key and sort key of its record: see `document_key`."""
    type: str
    texts: Sequence[Text]
    audiences: Sequence[Audience]
    owner_id: str | None = None
    """The account it belongs to: while that is hidden, so is the document."""
    within: str | None = None
    """ID of the tenant or the tree that it is part of."""
    category_id: str | None = None
    tags: Sequence[str] = ()
    difficulty: str | None = None
    created_at: str | None = None
    """Time in ISO 8601. Newer documents count a little more, and its year is a facet."""
    popularity: int = 0
    """Likes, followers or members. Popular documents count a little more."""
    depends: str = ""
    """Values that other documents take from this record. They are refreshed when it changes."""

    @property
    def title(self) -> str:
        return next((text.text for text in self.texts if text.weight is Weight.TITLE), "")

    @property
    def year(self) -> str | None:
        return self.created_at[:4] if self.created_at else None


Related = Mapping[Key[Any], Any]
"""Other records that a document is made of, by key."""


class Under(NamedTuple):
    """Records that are listed under each record of another entity."""

    entity: type[Entity]
    ranges: Callable[[Any], Sequence[Range[Any]]]


def _nothing(_: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True)
class Searchable:
    """The declaration of an entity: its document, and how to find all of its records without a scan."""

    entity: type[Entity]
    document: Callable[[Any, Related], Document | None]
    roots: Callable[[Options], Sequence[Range[Any]]] = _nothing
    """Ranges that together have all records that may have a document, except those in `under`."""
    under: Under | None = None
    reads: Callable[[Any], Sequence[Key[Any]]] = _nothing
    """Keys of other records that the document needs."""
    dependents: Callable[[Any], Sequence[Range[Any]]] = _nothing
    """Ranges of records whose documents are refreshed when `Document.depends` of this one changes."""
    derived: Callable[[Document], Sequence[Document]] = _nothing
    """Further documents that exist because of this one."""


def text_in(value: Any) -> str:
    """Returns all texts in JSON, with the keys of its objects, up to the longest text that is indexed."""
    found: list[str] = []
    waiting, length = [value], 0
    while waiting and length < LONGEST_TEXT:
        each = waiting.pop()
        if isinstance(each, str):
            found.append(each)
            length += len(each)
        elif isinstance(each, Mapping):
            waiting += [part for pair in reversed([*each.items()]) for part in reversed(pair)]
        elif isinstance(each, Sequence):
            waiting += reversed(each)
    return "\n".join(found)


def some_texts(*given: tuple[str, str | None, Weight]) -> list[Text]:
    """Returns those texts that are there."""
    return [Text(name, text, weight) for name, text, weight in given if text and text.strip()]


SEARCHABLE: dict[type[Entity], Searchable] = {}


def searchable(declared: Searchable) -> None:
    """Declares that records of an entity can be found."""
    if declared.entity in SEARCHABLE:
        raise TypeError(f"{declared.entity.__name__} is searchable already")
    SEARCHABLE[declared.entity] = declared


def document_key(key: Key[Any]) -> str:
    return SEPARATOR.join((key.entity.__name__, key.pk, key.sk))


def key_of_document(text: str) -> Key[Any] | None:
    """Returns the key of the record of a document, None if it has no record or this version does not know it."""
    parts = text.split(SEPARATOR)
    entity = REGISTRY.get(parts[0])
    return Key(entity, *parts[1:]) if entity is not None and len(parts) == 3 else None
