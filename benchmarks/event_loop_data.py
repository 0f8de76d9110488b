"""Data of benchmarks.event_loop: a large family tree, a network of followers, long versions of a page, and cards."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import bcrypt

from datastore.accounts import Unique, User
from datastore.cms import Content, ContentStatus, ContentVersion, Tenant
from datastore.genealogy import Person, Tree
from datastore.model.codec import JSON
from datastore.model.entity import Entity
from datastore.model.times import now
from datastore.social import Follow, Post
from resolvers.genealogy.importing.mapping import contents_of, read_file

OWNER, TENANT, PASSWORD = "owner", "acme", "a password of the benchmark"
WIDTH = 250
FOLLOWED = 1_000
BLOCKS_BYTES = 240_000
NAMES = ("Ada", "Bela", "Carl", "Dora", "Emil", "Fanny", "Georg", "Hanna")


def gedcom(people: int) -> str:
    """Returns a file of generations of 250 people. Each person has two parents, so ancestors are many."""
    count = max(2, people // WIDTH)
    lines = ["0 HEAD", "1 GEDC", "2 VERS 5.5.1", "1 CHAR UTF-8"]
    for number in range(count * WIDTH):
        generation, place = divmod(number, WIDTH)
        year = 1990 - 28 * (count - generation) + place % 20
        lines += [f"0 @I{number}@ INDI", f"1 NAME {NAMES[place % len(NAMES)]} {place}/Family {place % 40}/"]
        lines += [f"1 SEX {'MF'[place % 2]}", "1 BIRT", f"2 DATE {1 + place % 28} MAY {year}", "2 PLAC Vienna"]
        lines += ["1 DEAT", f"2 DATE {year + 70}", "1 OCCU Farmer", f"1 FAMS @F{number // 2}@"]
        if generation:
            lines.append(f"1 FAMC @F{_parents(generation, place)}@")
    children: dict[int, list[int]] = {}
    for number in range(WIDTH, count * WIDTH):
        children.setdefault(_parents(*divmod(number, WIDTH)), []).append(number)
    for family in range(count * WIDTH // 2):
        lines += [f"0 @F{family}@ FAM", f"1 HUSB @I{2 * family}@", f"1 WIFE @I{2 * family + 1}@"]
        lines += [f"1 CHIL @I{number}@" for number in children.get(family, [])]
    return "\n".join([*lines, "0 TRLR", ""])


def _parents(generation: int, place: int) -> int:
    """Returns the number of the family. Siblings are 77 places apart, so they do not marry each other."""
    return (generation - 1) * WIDTH // 2 + (place - 77 * (place % 2)) % WIDTH // 2


def blocks(changed: bool) -> list[dict[str, Any]]:
    """Returns the blocks of a page of the largest size. Every third one differs between the two versions."""
    text = "All work and no play makes a long page. " * 5
    each = [{"kind": "text", "text": f"{number} {text}"} for number in range(BLOCKS_BYTES // 250)]
    return [
        {**block, "text": f"{block['text']}!"} if changed and not at % 3 else block for at, block in enumerate(each)
    ]


class Data(NamedTuple):
    """The records of the table, and what the operations use of them."""

    records: list[Entity]
    tree: Tree
    people: list[Person]


def data(file: bytes) -> Data:
    tree = Tree(user_id=OWNER, tree_id="large", name="Large", is_public=True)
    contents = contents_of(tree, read_file(io.BytesIO(file)))
    mapped = list(contents.people())
    people = sorted((person for person, _ in mapped), key=lambda person: person.number)
    links = [link for _, parents in mapped for link in parents]
    tree = tree.changed(imports=[contents.mark], person_count=len(people), root_person_id=people[0].person_id)
    records = [tree, *people, *links, *contents.marriages, *contents.parts, *_accounts(), *_page()]
    return Data(records, tree, people)


def owner() -> User:
    return User(user_id=OWNER, username=OWNER, email=f"{OWNER}@example.org")


def _accounts() -> Iterator[Entity]:
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(10)).decode()
    yield owner().changed(password_hash=hashed)
    yield Unique(kind="username", value=OWNER, owner_id=OWNER)
    moment = datetime.now(UTC)
    for number in range(FOLLOWED):
        name = f"followed{number:04}"
        yield User(user_id=name, username=name, email=f"{name}@example.org", post_count=1)
        yield Follow(follower_id=OWNER, following_id=name)
        posted = (moment - timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        yield Post(post_id=name, user_id=name, image_url="https://example.org/a.jpg", feed_shard=0, created_at=posted)


def _page() -> Iterator[Entity]:
    yield Tenant(tenant_id=TENANT, name="Acme")
    common: dict[str, Any] = {
        "tenant_id": TENANT,
        "node_id": "long",
        "content_type": "page",
        "title": "Long",
        "status": ContentStatus.PUBLISHED,
        "author_id": OWNER,
    }
    yield ContentVersion(**common, version=1, blocks=JSON(blocks(changed=False)))
    yield Content(**common, version=2, blocks=JSON(blocks(changed=True)), updated_at=now())
