"""A world in which two users have done everything there is to do, in all domains at once."""

from dataclasses import dataclass, field

from datastore.accounts import User
from datastore.cards import Card, CardComment, Category, Collection
from datastore.model.entity import Entity
from datastore.model.times import now
from datastore.neighborhoods import Neighborhood, SiteStatus
from datastore.notifications import (
    Notification,
    NotificationPreferences,
    about,
)
from datastore.social import FeedAuthor, FeedEntry, FeedMode, FeedState, Post
from datastore.webhooks import WebhookEvent
from tests.support.cards import Workshop
from tests.support.genealogy import Kindred
from tests.support.graph import Graph
from tests.support.neighborhoods import Town
from tests.support.notifications import notification_group
from tests.support.social import Society
from tests.support.webhooks import add_delivery, add_hook


@dataclass
class Works:
    """Records that one user has made alone."""

    post: Post
    card: Card
    comment: CardComment
    first_collection: Collection
    collection: Collection


@dataclass
class World:
    """`records` are those that belong to Ada or are about her."""

    ada: User
    bob: User
    place: Neighborhood
    adas: Works
    bobs: Works
    records: list[Entity] = field(default_factory=list)

    @classmethod
    async def of(cls, graph: Graph) -> "World":
        ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
        society, workshop, town, kindred = Society(graph), Workshop(graph), Town(graph), Kindred(graph)
        wood = await workshop.category("wood")
        adas, bobs = [await _alone(society, workshop, user, wood) for user in (ada, bob)]
        world = cls(ada, bob, await town.neighborhood(bob), adas, bobs, [ada])
        for one, own, others in ((ada, adas, bobs), (bob, bobs, adas)):
            made: list[Entity] = [own.post, own.card, own.comment, own.first_collection]
            made += [await society.like(one, others.post), await society.comment(one, others.post)]
            made += [await workshop.comment(one, others.card), await workshop.vote(one, others.card)]
            made += [await workshop.vote(one, others.comment)]
            notified = _notified(one)
            feed: list[Entity] = [
                FeedState(user_id=one.user_id),
                FeedAuthor(user_id=one.user_id, mode=FeedMode.COPIED, changed_at=now()),
                FeedEntry(user_id=one.user_id, author_id="id-eve", post_id="eves-post"),
            ]
            await graph.table.batch_write(puts=[*notified, *feed])
            site = await town.site(one, status=SiteStatus.PUBLISHED)
            tree = await kindred.tree(one, public=True)
            people = [await kindred.person(tree, name) for name in ("Anna", "Carl")]
            parentage = await kindred.parent(tree, *people)
            marriage = await kindred.married(tree, *people)
            hook = await add_hook(graph, one, "https://example.org/", WebhookEvent.POST_CREATED)
            await add_delivery(graph, hook)
            made.append(hook)
            made += [*notified, *feed, site, await town.build(site), tree, *people, parentage, marriage]
            if one is ada:
                world.records += made
            world.records.append(await kindred.share(tree, bob if one is ada else ada))
        world.records += [await society.follow(ada, bob), await society.follow(bob, ada)]
        world.records.append(await town.member(ada, world.place))
        for user, own in ((ada, adas), (bob, bobs)):
            own.collection = await workshop.collection(user, adas.card, bobs.card)
            world.records += [own.collection] if user is ada else []
        await workshop.find_by_words(adas.card, bobs.card)
        await graph.settle()
        return world


def _notified(user: User) -> list[Entity]:
    group = notification_group(user)
    single = Notification(
        user_id=user.user_id, notification_id="n", kind=group.kind, actor_id="id-eve", **about(user.own_key)
    )
    return [single, group, NotificationPreferences(user_id=user.user_id)]


async def _alone(society: Society, workshop: Workshop, user: User, category: Category) -> Works:
    card = await workshop.card(user, category)
    post, comment = await society.post(user), await workshop.comment(user, card)
    first = await workshop.collection(user, card)
    return Works(post, card, comment, first, first)
