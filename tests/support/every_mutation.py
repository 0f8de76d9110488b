"""Every mutation of the schema once: a table in which each can be applied, and its viewer and input there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLSchema, get_named_type, is_leaf_type, is_object_type, is_required_argument

from datastore import cms as stored
from datastore.accounts import User
from datastore.cards import CardStatus
from datastore.cms import Asset, Lead, PageComment, Product, Resource, Signal
from datastore.genealogy import TreeRole
from datastore.model.codec import Item
from datastore.model.entity import Entity
from datastore.model.times import now
from datastore.neighborhoods import MembershipStatus
from datastore.webhooks import WebhookEvent
from loaders.viewer import ANONYMOUS, Viewer
from tests.support.cards import Workshop
from tests.support.cms import EDITOR, VISITOR, Website
from tests.support.copies import copied
from tests.support.gedcom import BACH
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.neighborhoods import Town
from tests.support.notifications import notification_group
from tests.support.social import Society
from tests.support.webhooks import add_delivery, add_hook

PASSWORD = "correct horse battery"
IN_A_WEEK = 4_000_000_000

Input = dict[str, Any]
NOT_SELECTED = {"token", "secret"}
"""A replay issues another token, and shows no secret."""


@dataclass
class World:
    """Records by name, and viewers. `items` are those of the table."""

    records: dict[str, Entity]
    code: str
    items: list[Item]

    def __call__(self, name: str) -> str:
        """The ID of a record."""
        return id_of(self.records[name])

    def viewer(self, name: str, *roles: str) -> Viewer:
        user = self.records[name]
        assert isinstance(user, User)
        return viewer_of(user, *roles)


async def make_world(graph: Graph) -> World:
    return await copied(graph, World, lambda: _make_world(graph))


async def _make_world(graph: Graph) -> World:
    society, workshop, town = Society(graph), Workshop(graph), Town(graph)
    website, kindred = Website(graph), Kindred(graph)
    ada = await society.person("ada", password_hash=await graph.services.passwords.hash(PASSWORD))
    bob, eve = await society.person("bob"), await society.person("eve")
    gone = await society.person("gone", deleted_at=now(), expires_at=IN_A_WEEK)
    post, liked = await society.post(ada), await society.post(bob)
    comment = await society.comment(ada, post)
    await society.like(ada, liked)
    await society.follow(ada, eve)
    notified = notification_group(ada)
    await graph.table.put(notified)
    category = await workshop.category("wood")
    inner = [await workshop.category(name, category) for name in ("oak", "elm")]
    card, other_card = await workshop.card(ada, category), await workshop.card(ada, category)
    draft = await workshop.card(ada, category, CardStatus.DRAFT)
    card_comment = await workshop.comment(ada, card)
    collection = await workshop.collection(ada, card, other_card)
    third_card = await workshop.card(bob, category)
    neighborhood = await town.neighborhood(ada)
    of_bob = await town.neighborhood(bob)
    pending = await town.member(eve, neighborhood, status=MembershipStatus.PENDING)
    membership = await town.member(bob, neighborhood)
    await town.member(ada, of_bob)
    site = await town.site(ada, built_at=now())
    deleted_site = await town.site(ada, deleted_at=now(), expires_at=IN_A_WEEK)
    build = await town.build(site)
    tenant = await website.tenant("acme", "acme.example.org")
    content = await website.content(versions=2)
    things = {
        entity.__name__: await website.thing(entity)
        for entity in (Product, Asset, Resource, stored.EditorialContext, Signal)
    }
    page_comment = await website.thing(PageComment, node_id=content.node_id)
    lead = await website.thing(Lead)
    tree = await kindred.tree(ada)
    parent, spouse = await kindred.person(tree, "Parent"), await kindred.person(tree, "Spouse")
    child, orphan = await kindred.person(tree, "Child"), await kindred.person(tree, "Orphan", birth_date="1900")
    link, marriage = await kindred.parent(tree, parent, child), await kindred.married(tree, parent, spouse)
    await kindred.share(tree, bob, TreeRole.EDITOR)
    webhook = await add_hook(graph, ada, "https://example.org/", WebhookEvent.POST_CREATED)
    delivery = await add_delivery(graph, webhook)
    route = stored.Route(tenant_id="acme", slug=content.slug, node_id=content.node_id)
    records: dict[str, Entity] = {
        "ada": ada, "bob": bob, "eve": eve, "gone": gone, "post": post, "liked": liked, "comment": comment,
        "category": category, "oak": inner[0], "elm": inner[1], "card": card, "draft": draft, "published": other_card,
        "third card": third_card, "card comment": card_comment, "collection": collection, "notified": notified,
        "neighborhood": neighborhood, "of bob": of_bob, "pending": pending, "membership": membership,
        "site": site, "deleted site": deleted_site, "build": build, "tenant": tenant, "content": content,
        "route": route, "page comment": page_comment, "lead": lead, "tree": tree, "parent": parent, "spouse": spouse,
        "child": child, "orphan": orphan, "parentage": link, "marriage": marriage,
        "webhook": webhook, "delivery": delivery, **things,
    }  # fmt: skip
    return World(records, graph.services.email_codes.write(ada.user_id, ada.email), await graph.items())


Case = Callable[[World], tuple[Viewer, Input]]


def _by(user: str, /, *roles: str, **given: Any) -> Case:
    """A case of a user. Values that begin with `@` are IDs of records."""
    return lambda world: (world.viewer(user, *roles), _filled(world, given))


def _as(viewer: Viewer, /, **given: Any) -> Case:
    return lambda world: (viewer, _filled(world, given))


def _filled(world: World, given: Input) -> Input:
    def fill(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(fill, value)]
        return world(value[1:]) if isinstance(value, str) and value.startswith("@") else value

    return {name: fill(value) for name, value in given.items()}


def _catalog(name: str, entity: str, **given: Any) -> dict[str, Case]:
    named = {f"{name}Id": f"@{entity}"}
    return {
        f"create{entity}": _as(EDITOR, **given),
        f"update{entity}": _as(EDITOR, **named, title="Another title"),
        f"delete{entity}": _as(EDITOR, **named),
    }


PICTURE = "https://example.org/new.jpg"
ACCOUNT = {"username": "newcomer", "email": "newcomer@example.org", "password": PASSWORD}

NEEDS_PROVIDER = {"linkIdentity"}
"""Mutations that a server refuses which issues its own tokens."""
CASES: dict[str, Case] = {
    "signUp": _as(ANONYMOUS, **ACCOUNT),
    "logIn": _as(ANONYMOUS, login="ada", password=PASSWORD),
    "linkIdentity": _by("ada", login="ada", password=PASSWORD),
    "updateProfile": _by("ada", bio="New."),
    "changeUsername": _by("ada", username="ada.l"),
    "changeEmail": _by("ada", email="ada.l@example.org"),
    "requestEmailVerification": _by("ada"),
    "verifyEmail": lambda world: (ANONYMOUS, {"code": world.code}),
    "changePassword": _by("ada", currentPassword=PASSWORD, newPassword="another horse battery"),
    "signOutEverywhere": _by("ada"),
    "deleteAccount": _by("ada"),
    "restoreAccount": _by("gone"),
    "createPost": _by("ada", imageUrl=PICTURE),
    "updatePost": _by("ada", postId="@post", caption="New."),
    "deletePost": _by("ada", postId="@post"),
    "likePost": _by("bob", postId="@post"),
    "unlikePost": _by("ada", postId="@liked"),
    "addComment": _by("bob", postId="@post", content="New."),
    "updateComment": _by("ada", commentId="@comment", content="New."),
    "deleteComment": _by("ada", commentId="@comment"),
    "markNotificationGroupRead": _by("ada", notificationGroupId="@notified"),
    "markAllNotificationsRead": _by("ada"),
    "updateNotificationPreferences": _by("ada", mutedKinds=["LIKE"], dailyMailHour=7),
    "followUser": _by("ada", userId="@bob"),
    "unfollowUser": _by("ada", userId="@eve"),
    "createCard": _by(
        "ada", title="New", categoryId="@category", difficulty="BEGINNER", instructions=["Begin."], publish=True
    ),
    "updateCard": _by("ada", cardId="@card", expectedVersion=1, title="New"),
    "publishCard": _by("ada", cardId="@draft"),
    "archiveCard": _by("ada", cardId="@card"),
    "deleteCard": _by("ada", cardId="@card"),
    "recordView": _by("bob", cardId="@card"),
    "vote": _by("bob", targetId="@card", ballot="UP"),
    "addCardComment": _by("bob", cardId="@card", content="New."),
    "updateCardComment": _by("ada", commentId="@card comment", content="New."),
    "deleteCardComment": _by("ada", commentId="@card comment"),
    "createCollection": _by("ada", name="New"),
    "updateCollection": _by("ada", collectionId="@collection", name="New"),
    "deleteCollection": _by("ada", collectionId="@collection"),
    "addToCollection": _by("ada", collectionId="@collection", cardId="@third card"),
    "removeFromCollection": _by("ada", collectionId="@collection", cardId="@card"),
    "moveInCollection": _by("ada", collectionId="@collection", cardId="@card", afterCardId="@published"),
    "createCategory": _by("ada", "admin", name="Ash", parentId="@category"),
    "updateCategory": _by("ada", "admin", categoryId="@oak", name="Old oak"),
    "moveCategory": _by("ada", "admin", categoryId="@oak", parentId="@elm"),
    "reorderCategories": _by("ada", "admin", categoryIds=["@elm"], parentId="@category"),
    "createNeighborhood": _by("ada", name="New place"),
    "updateNeighborhood": _by("ada", neighborhoodId="@neighborhood", name="Renamed", slug="renamed"),
    "deleteNeighborhood": _by("ada", neighborhoodId="@neighborhood"),
    "joinNeighborhood": _by("eve", neighborhoodId="@of bob"),
    "leaveNeighborhood": _by("ada", neighborhoodId="@of bob"),
    "inviteMember": _by("ada", neighborhoodId="@neighborhood", userId="@eve"),
    "approveMember": _by("ada", membershipId="@pending"),
    "changeMemberRole": _by("ada", membershipId="@membership", role="MODERATOR"),
    "removeMember": _by("ada", membershipId="@membership"),
    "createSite": _by("ada", title="New", template="blog", subdomain="new-site", neighborhoodId="@neighborhood"),
    "updateSite": _by("ada", siteId="@site", expectedVersion=1, subdomain="another-site"),
    "publishSite": _by("ada", siteId="@site"),
    "unpublishSite": _by("ada", siteId="@site"),
    "deleteSite": _by("ada", siteId="@site"),
    "restoreSite": _by("ada", siteId="@deleted site"),
    "startBuild": _by("ada", siteId="@site"),
    "reportBuild": _by("bob", "builder", buildId="@build", status="RUNNING"),
    "createTenant": _by("ada", "admin", databaseId="newco", name="New", domains=["new.example.org"]),
    "updateTenant": _by("ada", "admin", tenantId="@tenant", domains=["other.example.org"]),
    "createContent": _as(EDITOR, title="New page"),
    "updateContent": _as(EDITOR, contentId="@content", expectedVersion=2, title="New title"),
    "restoreVersion": _as(EDITOR, contentId="@content", expectedVersion=2, number=1),
    "changeSlug": _as(EDITOR, contentId="@content", slug="/moved"),
    "createRedirect": _as(EDITOR, contentId="@content", slug="/from-here"),
    "deleteRoute": _as(EDITOR, routeId="@route"),
    **_catalog("product", "Product", title="New"),
    **_catalog("asset", "Asset", title="New", url=PICTURE),
    **_catalog("resource", "Resource", title="New", kind="guide"),
    **_catalog("editorialContext", "EditorialContext", title="New"),
    **_catalog("signal", "Signal", title="New", kind="dead-link"),
    "addPageComment": _as(VISITOR, contentId="@content", authorName="Eve", authorEmail="eve@example.org", body="New."),
    "moderatePageComment": _as(EDITOR, commentId="@page comment", status="APPROVED"),
    "deletePageComment": _as(EDITOR, commentId="@page comment"),
    "saveLead": _as(EDITOR, email="new@example.org", name="New"),
    "deleteLead": _as(EDITOR, leadId="@lead"),
    "recordConsent": _as(VISITOR, visitorKey="visitor-0000000001", purposes=["analytics"]),
    "createTree": _by("ada", name="New"),
    "updateTree": _by("ada", treeId="@tree", rootPersonId="@child"),
    "deleteTree": _by("ada", treeId="@tree"),
    "shareTree": _by("ada", treeId="@tree", userId="@eve", role="READER"),
    "unshareTree": _by("bob", treeId="@tree", userId="@bob"),
    "addPerson": _by("bob", treeId="@tree", firstName="New"),
    "updatePerson": _by("bob", personId="@child", expectedVersion=1, firstName="New"),
    "deletePerson": _by("bob", personId="@child"),
    "addChild": _by("ada", parentId="@parent", otherParentId="@spouse", firstName="New"),
    "linkParent": _by("ada", parentId="@spouse", childId="@orphan"),
    "unlinkParent": _by("ada", parentageId="@parentage"),
    "linkSpouses": _by("ada", person1Id="@child", person2Id="@orphan"),
    "updateMarriage": _by("ada", marriageId="@marriage", notes="New."),
    "unlinkSpouses": _by("ada", marriageId="@marriage"),
    "importGedcom": _by("ada", treeId="@tree", content=BACH),
    "createWebhook": _by("ada", url="https://example.org/", events=["POST_CREATED"]),
    "updateWebhook": _by("ada", webhookId="@webhook", enabled=False),
    "deleteWebhook": _by("ada", webhookId="@webhook"),
    "rotateWebhookSecret": _by("ada", webhookId="@webhook"),
    "sendTestWebhook": _by("ada", webhookId="@webhook"),
    "redeliverWebhook": _by("ada", deliveryId="@delivery"),
}


def text_of(schema: GraphQLSchema, name: str) -> str:
    """The mutation, with every field of its payload and all their leaves."""
    assert schema.mutation_type is not None
    field = schema.mutation_type.fields[name]
    selected = _selected(get_named_type(field.type), depth=2)
    if not field.args:
        return f"mutation {{ {name} {selected} }}"
    return f"mutation ($input: {field.args['input'].type}) {{ {name}(input: $input) {selected} }}"


def _selected(of_type: Any, depth: int) -> str:
    parts = []
    for name, field in of_type.fields.items():
        inner = get_named_type(field.type)
        if name in NOT_SELECTED or any(map(is_required_argument, field.args.values())):
            continue
        if is_leaf_type(inner):
            parts.append(name)
        elif depth > 1 and is_object_type(inner):
            parts.append(f"{name} {_selected(inner, depth - 1)}")
    return "{ " + " ".join(parts) + " }"
