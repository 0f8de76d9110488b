"""A library for tests of the table client: entries of a book, and essays with footnotes on a shelf."""

from datastore.accounts import User
from datastore.model.entity import REGISTRY, Entity, field
from datastore.model.ownership import nobody
from datastore.model.patterns import gsi1, gsi2
from datastore.model.times import Time

THEN = Time("2026-01-31T12:00:00.000Z")
OURS = nobody("it is for tests")


class Entry(Entity, pk="TESTBOOK#{book_id}", sk="ENTRY#{day}#{entry_id}", owner=OURS):
    """An entry of a book for tests: by book in the table, by author in an index."""

    by_author = gsi1("TESTAUTHOR#{author_id}", "ENTRY#{day}")
    by_day = gsi2("TESTENTRIES", "{day}#{entry_id}")

    book_id: str = field("The book.")
    day: str = field("When it was written.")
    entry_id: str = field("Its id.")
    author_id: str | None = field("Who wrote it.", default=None)
    reads: int = field("How often it was read.", default=0)


class Essay(Entity, pk="TESTSHELF#{shelf_id}", sk="ESSAY#{essay_id}", owner=OURS):
    """An essay for tests, too long for lists."""

    everything = gsi1("TESTESSAYS", "{essay_id}")

    shelf_id: str = field("The shelf.")
    essay_id: str = field("Its id.")
    title: str = field("Its title.")
    text: str = field("All of it.", heavy=True)


class Footnote(Entity, pk="TESTSHELF#{shelf_id}", sk="ESSAY#{essay_id}#NOTE#{number}", owner=OURS):
    """A footnote for tests, in the same range as the essays."""

    shelf_id: str = field("The shelf.")
    essay_id: str = field("The essay.")
    number: int = field("Which one.")
    remark: str = field("What it says.")


LIBRARY = {entity.__name__: REGISTRY.pop(entity.__name__) for entity in (Entry, Essay, Footnote)}


def entry(number: int, **fields) -> Entry:
    return Entry(
        **{
            "book_id": "b",
            "day": f"{number:03d}",
            "entry_id": f"e{number}",
            "author_id": "ada",
            "created_at": THEN,
            "updated_at": THEN,
            **fields,
        }
    )


def essay(name: str, **fields) -> Essay:
    return Essay(
        **{
            "shelf_id": "s",
            "essay_id": name,
            "title": name.title(),
            "text": f"All about {name}.",
            "created_at": THEN,
            "updated_at": THEN,
            **fields,
        }
    )


def user(name: str) -> User:
    return User(user_id=name, username=name, email=f"{name}@example.org", created_at=THEN, updated_at=THEN)


BOOK = Entry.within(book_id="b")
AUTHOR = Entry.by_author(author_id="ada")
