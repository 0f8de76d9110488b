"""Deterministic test data with deleted, hidden, expired and damaged records."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import bcrypt
from hypothesis import strategies as st

from datastore.accounts import Image, ProfileImages, Unique, User
from datastore.cards import Card, CardComment, Category, Collection, CollectionCard, Vote
from datastore.cms import (
    Asset,
    Content,
    ContentVersion,
    EditorialContext,
    Lead,
    PageComment,
    Product,
    Resource,
    Route,
    Signal,
    Tenant,
)
from datastore.genealogy import GedcomPart, Marriage, Parentage, Person, Tree, TreeShare
from datastore.model.codec import Item
from datastore.model.entity import Entity
from datastore.neighborhoods import Build, Membership, MembershipEvent, Neighborhood, Site
from datastore.notifications import Notification, NotificationKind, about
from datastore.social import Comment, Follow, Like, Post, PostCounter
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.accounts.email_codes import EmailCodes
from schema.declare.ids import global_id
from tests.conftest import SECRET
from tests.support.mixed.cards import CATEGORIES, DAYS, NO_CATEGORIES, NO_SEARCHES, SEARCHES, add_workshop
from tests.support.mixed.cms import NODES, THINGS, VISITORS, add_websites, website_viewers
from tests.support.mixed.cms import SLUGS as PATHS
from tests.support.mixed.genealogy import DATES, FILES, add_kindred
from tests.support.mixed.neighborhoods import CONFIGS, NO_SLUGS, NO_SUBDOMAINS, SLUGS, SUBDOMAINS, add_town
from tests.support.operations import Values
from tests.support.social import minute

PEOPLE = ("ada", "bob", "cleo", "dan", "eve", "fay", "gus", "hal", "ivy", "jan", "gone", "broken")
THING_KINDS = ("Product", "Asset", "Resource", "EditorialContext", "Signal")
LATER = 4_000_000_000
PASSWORD = "correct horse"

MALFORMED = ["", "x", "VXNlcg", "VXNlciNhI2I", "Tm90aGluZyNhZGE", "==", "\N{DECIDUOUS TREE}", "VXNlciPDvA", 7]
NAMES = ["ada", "  BOB ", "cleo", "eve", "gus"]
NO_NAMES = ["gone", "broken", "nobody", "a#b", "", "x" * 40]
TIMES = ["2026-01-01T00:05:00Z", "2026-01-01T02:10:00.5+01:00", "2026-01-01T00:00:00.000Z", "2031-12-31T23:59:59Z"]
TEXTS = ["Nice.", "", "  ", "x" * 2_300, "a\u0007b", "\N{DECIDUOUS TREE} \U0001f333"]
ADDRESSES = ["https://example.org/new.jpg", "https://example.org/other.jpg", "http://example.org", "", "https://a b"]


@dataclass
class MixedSociety:
    """The intended records, and the stored items."""

    records: list[Entity] = field(default_factory=list)
    damage: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    _made: int = 0

    def add(self, entity: type[Entity], /, **fields: Any) -> Any:
        self._made += 1
        moment = minute(self._made)
        record = entity(**{"created_at": moment, "updated_at": moment, **fields})
        self.records.append(record)
        return record

    def damaged(self, record: Entity, **attributes: Any) -> None:
        """Replaces attributes of the item; None removes one."""
        self.damage[record.own_key.pk, record.own_key.sk] = attributes

    def is_damaged(self, record: Entity) -> bool:
        return (record.own_key.pk, record.own_key.sk) in self.damage

    def of(self, kind: type[Entity]) -> list[Any]:
        return [record for record in self.records if isinstance(record, kind)]

    def items(self) -> list[Item]:
        return [self._item(record) for record in self.records]

    def _item(self, record: Entity) -> Item:
        wrong = self.damage.get((record.own_key.pk, record.own_key.sk), {})
        item = {**record.encode(), **wrong}
        return {name: value for name, value in item.items() if value is not None}


def mixed_society() -> MixedSociety:
    made, random = MixedSociety(), Random(5)
    people = [_person(made, name) for name in PEOPLE]
    authors = [random.choice(people[:10]) for _ in range(15)]
    authors[6], authors[11] = people[-2:]
    posts = [_post(made, author, number) for number, author in enumerate(authors)]
    # Links to an unreadable user are unreadable too, so there are only a few.
    healthy, broken = people[:-1], people[-1]
    for post in posts:
        for person in random.sample(healthy, random.choice((0, 2, 5, 9))):
            _like(made, person, post)
        for author in random.choices(healthy, k=random.choice((0, 1, 4, 7))):
            _comment(made, author, post)
    for follower in healthy:
        for followed in random.sample(healthy, random.choice((1, 4, 8))):
            _follow(made, follower, followed)
    _like(made, broken, posts[8])
    _comment(made, broken, posts[10])
    _follow(made, broken, people[1])
    for _ in range(25):
        _notification(made, *random.sample(people[:4], 2), random.choice([None, *posts]))
    add_town(made, people[:-1], Random(6))
    add_websites(made)
    add_workshop(made, people[:-1], Random(7))
    add_kindred(made, people[:-1], Random(8))
    _damage(made)
    return made


def _person(made: MixedSociety, name: str) -> User:
    for kind, value in (("username", name), ("email", f"{name}@example.org")):
        made.add(Unique, kind=kind, value=value, owner_id=f"id-{name}")
    fields: dict[str, Any] = {"gone": {"deleted_at": minute(99), "expires_at": LATER}}.get(name, {})
    if name in ("ada", "gone"):
        fields["password_hash"] = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    if name in ("ada", "eve"):
        fields["profile_images"] = ProfileImages(avatar=Image(url=f"https://example.org/{name}.png"))
    if name in ("bob", "eve"):
        fields["email_verified_at"] = minute(98)
    if name == "fay":
        fields |= {"profile_images": ProfileImages(), "bio": "Quiet.", "display_name": "Fay"}
    return made.add(User, user_id=f"id-{name}", username=name, email=f"{name}@example.org", **fields)


def _post(made: MixedSociety, author: User, number: int) -> Post:
    fields: dict[str, Any] = {
        2: {"deleted_at": minute(99), "feed_shard": None},
        5: {"hidden_at": minute(99), "feed_shard": None},
        7: {"counter_shards": 3},
        9: {"caption": "Rain."},
    }.get(number, {})
    if author.username == "gone":
        fields = {"hidden_at": minute(99), "feed_shard": None}
    author.post_count += 1
    post_id = f"post{number:02d}"
    address = f"https://example.org/{post_id}.jpg"
    common = {"post_id": post_id, "user_id": author.user_id, "image_url": address, "feed_shard": number % 3}
    return made.add(Post, **{**common, **fields})


def _like(made: MixedSociety, person: User, post: Post) -> None:
    made.add(Like, post_id=post.post_id, user_id=person.user_id)
    post.like_count += 1


def _follow(made: MixedSociety, follower: User, followed: User) -> None:
    made.add(Follow, follower_id=follower.user_id, following_id=followed.user_id)
    follower.following_count += 1
    followed.follower_count += 1


def _comment(made: MixedSociety, author: User, post: Post) -> None:
    number = len(made.of(Comment))
    hidden = minute(99) if author.username == "gone" or number % 11 == 5 else None
    made.add(
        Comment,
        post_id=post.post_id,
        comment_id=f"comment{number:02d}",
        user_id=author.user_id,
        content=f"Number {number}.",
        hidden_at=hidden,
    )
    post.comment_count += 1


def _notification(made: MixedSociety, whom: User, actor: User, post: Post | None) -> None:
    number = len(made.of(Notification))
    made.add(
        Notification,
        user_id=whom.user_id,
        notification_id=f"notification{number:02d}",
        kind=NotificationKind.FOLLOW if post is None else NotificationKind.LIKE,
        actor_id=actor.user_id,
        expires_at=1 if number % 6 == 3 else LATER,
        **about((post or whom).own_key),
    )


def _damage(made: MixedSociety) -> None:
    """Damages a few records, so that most queries still succeed."""
    posts, comments = made.of(Post), made.of(Comment)
    sharded = posts[7]
    for shard in (0, 2):  # and none at 1
        made.add(PostCounter, post_id=sharded.post_id, shard=shard, like_count=-1, comment_count=5)
    half = made.add(PostCounter, post_id=posts[3].post_id, shard=0)
    made.damaged(half, likeCount={"S": "many"})
    made.damaged(posts[3], counterShards={"N": "1"})
    made.damaged(made.of(User)[-1], username=None)
    made.damaged(made.of(User)[6], followerCount={"N": "99999999999"}, postCount={"N": str(2**31)})
    made.damaged(posts[0], imageUrl=None)
    made.damaged(posts[1], likeCount={"N": str(2**40)})
    made.damaged(posts[4], entityType={"S": "Unheard"})
    made.damaged(comments[3], updatedAt={"S": "yesterday"})
    made.damaged(comments[6], content={"L": []})
    made.damaged(made.of(Notification)[4], kind={"S": "WINK"})


def viewers(made: MixedSociety) -> st.SearchStrategy[Viewer]:
    """Viewers, mostly staff of a tenant: otherwise most CMS fields are errors."""
    staff = frozenset({("acme", "admin")})
    members = [Viewer(person.user_id, tenant_id="acme", tenants=staff) for person in made.of(User)]
    admins = [replace(member, roles=frozenset({"admin"})) for member in members[:2]]
    builder = Viewer("id-builder", frozenset({"builder"}))
    usual = [*members[:6], *admins, *website_viewers()]
    return _mostly(usual, [ANONYMOUS, builder, members[-2], members[-1], Viewer("id-nobody")])


def values_for(made: MixedSociety, cursors: dict[str, list[str]]) -> Values:
    """Argument values, mostly valid ones. `cursors` are real cursors by coordinate."""
    codes = EmailCodes(SECRET)
    given = {
        "first": _mostly([2, 1, 3, 4, 5], [0, 101, -1, 100]),
        "last": _mostly([2, 1, 3, 4, 5], [0, 101, -1, 100]),
        "after": _mostly([], ["rubbish", "", "AAAA"]),
        "before": _mostly([], ["rubbish", "", "AAAA"]),
        "username": _mostly(NAMES, NO_NAMES),
        "email": _mostly([f"{name.strip()}@example.org" for name in NAMES], ["gone@example.org", *NO_NAMES]),
        "login": st.sampled_from(["ada", "ada@example.org", "gone", "bob", "nobody"]),
        "password": st.sampled_from([PASSWORD, PASSWORD, "wrong"]),
        "currentPassword": st.sampled_from([PASSWORD, PASSWORD, "wrong"]),
        "code": _mostly([codes.write(f"id-{name}", f"{name}@example.org") for name in PEOPLE], ["", "rubbish"]),
        "newPassword": st.sampled_from(["battery staple", "short"]),
        "imageUrl": _mostly(ADDRESSES[:2], ADDRESSES[2:]),
        "avatarUrl": _mostly(ADDRESSES[:2], ADDRESSES[2:]),
        "Query.__type.name": st.sampled_from(["Query", "Node", "Post", "PageInfo", "NotificationKind", "Nothing"]),
        "DateTime": st.sampled_from(TIMES),
        "JSON": st.sampled_from(CONFIGS),
        "slug": _mostly(SLUGS, NO_SLUGS),
        "subdomain": _mostly(SUBDOMAINS, NO_SUBDOMAINS),
        "template": _mostly(["blog", "shop"], ["", "a b"]),
        "expectedVersion": _mostly([1], [0, 2, -1]),
        "logUrl": _mostly(ADDRESSES[:2], ADDRESSES[2:]),
        "RouteBy.slug": _mostly(PATHS, ["/a#b", "/..", ""]),
        "CreateContentInput.slug": _mostly(["/new", "/newer", *PATHS[:2]], ["/a#b", ""]),
        "ChangeSlugInput.slug": _mostly(["/new", "/newer", *PATHS[:3]], ["/a#b", ""]),
        "CreateRedirectInput.slug": _mostly(["/new", "/newer", *PATHS[:2]], ["/a#b", ""]),
        "ContentBy.databaseId": _mostly(NODES, ["nothing", "", "a#b"]),
        "domain": _mostly(["acme.example", " OTHER.example. "], ["nobody.example", "", "a#b"]),
        "visitorKey": _mostly(VISITORS[:2], VISITORS[2:]),
        "number": _mostly([1, 2], [0, 9, -1]),
        "Content.diff.from": _mostly([1, 2], [0, 9]),
        "Content.diff.to": _mostly([1, 2, 3], [0, 9]),
        "type": _mostly(["page", "article"], ["", "a b"]),
        **{f"{kind}By.databaseId": _mostly(THINGS, ["nothing", ""]) for kind in THING_KINDS},
        "SiteBy.databaseId": _mostly([f"site{number}" for number in range(6)], ["nothing", "", "a#b"]),
        "UserBy.databaseId": _mostly([f"id-{name}" for name in PEOPLE], ["nothing", "", "a#b"]),
        "TenantBy.databaseId": _mostly(["acme", "other"], ["nothing", "", "a#b"]),
        "BuildBy.databaseId": _mostly([f"job{number}" for number in range(9)], ["nothing", "", "a#b"]),
        "CategoryBy.databaseId": _mostly([*CATEGORIES], NO_CATEGORIES),
        "CollectionBy.databaseId": _mostly(["collection0", "collection1"], ["nothing", "", "a#b"]),
        "CreateCategoryInput.databaseId": _mostly(["brand-new", "wood"], NO_CATEGORIES),
        "categoryIds": _mostly([*CATEGORIES], NO_CATEGORIES),
        **dict.fromkeys(("text", "query", "prefix", "search"), _mostly(SEARCHES, NO_SEARCHES)),
        "language": _mostly(["en", "de"], ["xx", ""]),
        "years": _mostly([2025, 2026], [-1]),
        "Date": st.sampled_from(DAYS),
        "HistoricDate": st.sampled_from(DATES),
        "ImportGedcomInput.content": st.sampled_from(FILES),
        "isBase64": _mostly([False], [True]),
        "generations": _mostly([1, 2, 3], [0, 101, -1]),
        "photoUrl": _mostly(ADDRESSES[:2], ADDRESSES[2:]),
        "TreeBy.databaseId": _mostly(["tree0", "tree1"], ["tree2", "nothing", "", "a#b"]),
        "PersonBy.databaseId": _mostly(["kin0-00", "kin0-09", "kin1-01"], ["kin2-01", "nothing", "", "a#b"]),
        "days": _mostly([1, 7, 14], [0, 15, -1]),
        "depth": _mostly([1, 2, 3], [0, 33, -1]),
        "estimatedTime": _mostly([10], [-1]),
        "MoneyInput.amount": _mostly([10, 3_000_000_000], [-1]),
        "MoneyInput.currency": _mostly(["EUR"], ["eur", ""]),
        "BigInt": _mostly([10, 3_000_000_000], [-1]),
        "String": _mostly(TEXTS[:1], TEXTS),
        **{coordinate: _mostly(real, ["rubbish"]) for coordinate, real in cursors.items()},
        **_ids(made),
    }
    chances = {"first": 60, "last": 40, "after": 2, "before": 2, "createdAfter": 15, "createdBefore": 15}
    chances |= dict.fromkeys(cursors, 20)
    forward = frozenset({"first", "after"})
    return Values(given, chances, {"last": forward, "before": forward})


def _ids(made: MixedSociety) -> dict[str, st.SearchStrategy[Any]]:
    users, posts, comments, notifications, places, memberships, events, sites, builds = (
        [global_id(record) for record in made.of(kind) if not made.is_damaged(record)]
        for kind in (User, Post, Comment, Notification, Neighborhood, Membership, MembershipEvent, Site, Build)
    )
    tenants, contents, routes, pages_said, products, assets, resources, contexts, signals, leads = (
        [global_id(record) for record in made.of(kind) if not made.is_damaged(record)]
        for kind in (Tenant, Content, Route, PageComment, Product, Asset, Resource, EditorialContext, Signal, Lead)
    )
    cards, said, votes, collections, categories = (
        [global_id(record) for record in made.of(kind) if not made.is_damaged(record)]
        for kind in (Card, CardComment, Vote, Collection, Category)
    )
    trees, kin, parentages, marriages = (
        [global_id(record) for record in made.of(kind) if not made.is_damaged(record)]
        for kind in (Tree, Person, Parentage, Marriage)
    )
    damaged = [
        global_id(record)
        for record in made.records
        if made.is_damaged(record) and not isinstance(record, ContentVersion)
    ]
    missing = [opaque(text) for text in ("User#id-nobody", "Post#nothing", "Comment#post00#2026-01-01T00:00:00.000Z#x")]
    unseen = [
        global_id(made.of(kind)[0])
        for kind in (Like, Follow, Unique, PostCounter, CollectionCard, TreeShare, GedcomPart)
    ]
    rest = [*damaged, *missing, *unseen, *MALFORMED]
    older = [
        *users,
        *posts,
        *comments[:12],
        *notifications[:8],
        *places,
        *memberships[:12],
        *events[:6],
        *sites,
        *builds,
    ]
    newer = [*cards, *said[:6], *votes[:6], *collections, *categories, *trees, *kin[:12], *parentages[:6], *marriages]
    return {
        "ID": _mostly([*older, *newer], rest),
        "TreeBy.id": _mostly(trees, [*users[:2], *rest]),
        "PersonBy.id": _mostly(kin, [*users[:2], *rest]),
        "treeId": _mostly(trees, [*users[:2], *rest]),
        "personId": _mostly(kin, [*users[:2], *rest]),
        **{
            name: _mostly(kin, [*users[:2], *rest])
            for name in (
                "childId",
                "otherParentId",
                "person1Id",
                "person2Id",
                "rootPersonId",
                "aroundPersonId",
                "withPersonId",
                "toPersonId",
            )
        },
        **{f"{name}Input.parentId": _mostly(kin, [*users[:2], *rest]) for name in ("AddChild", "LinkParent")},
        "parentageId": _mostly(parentages, [*users[:2], *rest]),
        "marriageId": _mostly(marriages, [*users[:2], *rest]),
        "CardBy.id": _mostly(cards, [*users[:2], *rest]),
        "CollectionBy.id": _mostly(collections, [*users[:2], *rest]),
        "CategoryBy.id": _mostly(categories, [*users[:2], *rest]),
        "cardId": _mostly(cards, [*users[:2], *rest]),
        "afterCardId": _mostly(cards, [*users[:2], *rest]),
        "collectionId": _mostly(collections, [*users[:2], *rest]),
        "categoryId": _mostly(categories, [*users[:2], *rest]),
        "parentId": _mostly(categories, [*users[:2], *rest]),
        "targetId": _mostly([*cards, *said], [*users[:2], *rest]),
        "UpdateCardCommentInput.commentId": _mostly(said, [*users[:2], *rest]),
        "DeleteCardCommentInput.commentId": _mostly(said, [*users[:2], *rest]),
        "NeighborhoodBy.id": _mostly(places, [*users[:2], *rest]),
        "SiteBy.id": _mostly(sites, [*users[:2], *rest]),
        "BuildBy.id": _mostly(builds, [*users[:2], *rest]),
        "neighborhoodId": _mostly(places, [*users[:2], *rest]),
        "membershipId": _mostly(memberships, [*users[:2], *rest]),
        "contentId": _mostly(contents, [*users[:2], *rest]),
        "routeId": _mostly(routes, [*users[:2], *rest]),
        "tenantId": _mostly(tenants, [*users[:2], *rest]),
        "CreateTenantInput.databaseId": _mostly(["new-one", "acme"], ["a b", ""]),
        "productId": _mostly(products, [*users[:2], *rest]),
        "assetId": _mostly(assets, [*users[:2], *rest]),
        "resourceId": _mostly(resources, [*users[:2], *rest]),
        "editorialContextId": _mostly(contexts, [*users[:2], *rest]),
        "signalId": _mostly(signals, [*users[:2], *rest]),
        "leadId": _mostly(leads, [*users[:2], *rest]),
        "ModeratePageCommentInput.commentId": _mostly(pages_said, [*users[:2], *rest]),
        "DeletePageCommentInput.commentId": _mostly(pages_said, [*users[:2], *rest]),
        "siteId": _mostly(sites, [*users[:2], *rest]),
        "buildId": _mostly(builds, [*users[:2], *rest]),
        "UserBy.id": _mostly(users, [*posts[:2], *rest]),
        "SearchFilter.categoryIds": _mostly(categories, rest),
        "SearchFilter.ownerId": _mostly(users, rest),
        "SearchFilter.treeId": _mostly(trees, rest),
        "PostBy.id": _mostly(posts, [*users[:2], *rest]),
        "userId": _mostly(users, [*posts[:2], *rest]),
        "postId": _mostly(posts, [*users[:2], *rest]),
        "commentId": _mostly(comments, [*users[:2], *rest]),
    }


def _mostly(usual: list[Any], unusual: list[Any]) -> st.SearchStrategy[Any]:
    times = 1 + 9 * len(unusual) // max(1, len(usual))
    return st.sampled_from([*usual * times, *unusual])


def opaque(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")
