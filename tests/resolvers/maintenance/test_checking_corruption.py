"""Every kind of corruption is found where it is, and repaired."""

import random
import time

import pytest

from datastore.accounts import SignInFailures, Unique, User
from datastore.cards import Card, CardCounts, CardRank, CardStatus, Collection
from datastore.cms import Content, ContentVersion, Route
from datastore.genealogy import Parentage, Person, Tree
from datastore.jobs import Job
from datastore.maintenance.records import SetAside
from datastore.model.entity import REGISTRY, decode, entity_name
from datastore.model.times import now
from datastore.neighborhoods import Neighborhood, Site
from datastore.social import Comment, FeedEntry, FeedState, Follow, Like, Post, PostRank
from resolvers.maintenance.findings import Kind
from resolvers.maintenance.rules import COUNTERS
from tests.resolvers.maintenance.corruption import whole_world

DAY = 24 * 3600


async def unreadable(vandal):
    post = await vandal.one(Post)
    await vandal.put(post, likeCount={"S": "many"})
    return post


async def of_no_entity(vandal):
    like = await vandal.one(Like)
    await vandal.put(like, entityType={"S": "Applause"})
    return like


async def without_an_index(vandal):
    follow = await vandal.one(Follow)
    await vandal.put(follow, GSI1PK=None, GSI1SK=None)
    return follow


async def in_a_wrong_index(vandal):
    like = await vandal.one(Like)
    await vandal.put(like, GSI1SK={"S": "LIKE#2001-01-01T00:00:00.000Z#elsewhere"})
    return like


async def unlisted(vandal):
    card = await vandal.one(Card, status=CardStatus.PUBLISHED)
    await vandal.put(card.changed(listed_at=None, listed_on=None, updated_at=card.updated_at))
    return card


async def draft_in_public(vandal):
    card = await vandal.one(Card, status=CardStatus.DRAFT)
    await vandal.put(card.changed(listed_at=now(), listed_on=now()[:10], updated_at=card.updated_at))
    return card


async def out_of_the_feed(vandal):
    post = await vandal.one(Post)
    await vandal.put(post.changed(feed_shard=None, updated_at=post.updated_at))
    return post


async def private_in_the_index_by_name(vandal):
    place = await vandal.one(Neighborhood)
    place.__dict__["sort_name"] = "another name"
    await vandal.put(place)
    return place


async def long_expired(vandal):
    record = SignInFailures(subject="somebody", expires_at=int(time.time()) - 5 * DAY)
    await vandal.put(record)
    return record


async def like_of_nothing(vandal):
    like = (await vandal.one(Like)).changed(post_id="gone")
    like = Like(post_id="gone", user_id=like.user_id)
    await vandal.put(like)
    return like


async def link_to_nobody(vandal):
    link = await vandal.one(Parentage)
    lost = Parentage(user_id=link.user_id, tree_id=link.tree_id, parent_id=link.parent_id, child_id="nobody")
    await vandal.put(lost)
    return lost


async def collection_of_nobody(vandal):
    collection = Collection(user_id="nobody", collection_id="c1", name="Lost")
    await vandal.put(collection)
    return collection


async def without_its_route(vandal):
    route = await vandal.one(Route, is_redirect=False)
    await vandal.delete(route)
    return await vandal.one(Content, node_id=route.node_id)


async def without_its_counts(vandal):
    counts = await vandal.one(CardCounts)
    await vandal.delete(counts)
    return await vandal.one(Card, card_id=counts.card_id)


async def root_of_nobody(vandal):
    tree = await vandal.one(Tree)
    await vandal.put(tree.changed(root_person_id="nobody"))
    return tree


async def unguarded(vandal):
    guard = await vandal.one(Unique, kind="email")
    await vandal.delete(guard)
    return await vandal.one(User, user_id=guard.owner_id)


async def unguarded_link(vandal):
    user = await vandal.one(User)
    await vandal.put(user.changed(external_subject="cognito-1", updated_at=user.updated_at))
    return user


async def guard_of_nobody(vandal):
    guard = Unique(kind="subdomain", value="lost", owner_id="nobody")
    await vandal.put(guard)
    return guard


async def guard_that_expires(vandal):
    guard = await vandal.one(Unique, kind="subdomain")
    await vandal.put(guard.changed(expires_at=int(time.time()) + DAY, updated_at=guard.updated_at))
    return await vandal.one(Site, site_id=guard.owner_id)


async def forgotten_parent(vandal):
    link = await vandal.one(Parentage)
    child = await vandal.one(Person, person_id=link.child_id)
    others = [each for each in child.parent_ids if each != link.parent_id]
    await vandal.put(child.changed(parent_ids=others, updated_at=child.updated_at))
    return child


async def behind_its_versions(vandal):
    content = await vandal.one(Content)
    content = max(await vandal.all(Content), key=lambda each: each.version)
    await vandal.put(content.changed(version=content.version - 1, updated_at=content.updated_at))
    return content


async def hidden_of_an_open_account(vandal):
    comment = await vandal.one(Comment)
    post = await vandal.one(Post, post_id=comment.post_id)
    await vandal.put(comment.changed(hidden_at=now(), updated_at=comment.updated_at))
    await vandal.put(post.changed(comment_count=post.comment_count - 1, updated_at=post.updated_at))
    return comment


async def deleted_and_forgotten(vandal):
    place = await vandal.one(Neighborhood)
    await vandal.put(place.changed(deleted_at=now()))
    for guard in await vandal.all(Unique):
        if guard.owner_id == place.neighborhood_id:
            await vandal.delete(guard)
    return place


async def wrong_rank(vandal):
    rank = await vandal.one(PostRank)
    await vandal.put(rank.changed(heat=rank.heat + 5, updated_at=rank.updated_at))
    return await vandal.one(Post, post_id=rank.post_id)


async def no_rank(vandal):
    rank = await vandal.one(CardRank)
    await vandal.delete(rank)
    return await vandal.one(Card, card_id=rank.card_id)


async def stale_entry(vandal):
    state, post = await vandal.one(FeedState), await vandal.one(Post)
    entry = FeedEntry(user_id=state.user_id, author_id=post.user_id, post_id="gone")
    await vandal.put(entry)
    return entry


async def lacking_entry(vandal):
    entry = await vandal.one(FeedEntry)
    await vandal.delete(entry)
    return await vandal.one(Follow, follower_id=entry.user_id, following_id=entry.author_id)


CORRUPTIONS = {
    unreadable: Kind.UNDECODABLE,
    of_no_entity: Kind.UNDECODABLE,
    without_an_index: Kind.INDEX_KEYS,
    in_a_wrong_index: Kind.INDEX_KEYS,
    unlisted: Kind.LISTING,
    draft_in_public: Kind.LISTING,
    out_of_the_feed: Kind.LISTING,
    private_in_the_index_by_name: Kind.LISTING,
    long_expired: Kind.EXPIRED,
    like_of_nothing: Kind.ORPHAN,
    link_to_nobody: Kind.ORPHAN,
    collection_of_nobody: Kind.ORPHAN,
    without_its_route: Kind.MISSING,
    without_its_counts: Kind.MISSING,
    root_of_nobody: Kind.MISSING,
    unguarded: Kind.GUARD,
    unguarded_link: Kind.GUARD,
    guard_of_nobody: Kind.GUARD,
    guard_that_expires: Kind.GUARD,
    forgotten_parent: Kind.LIST,
    behind_its_versions: Kind.LIST,
    hidden_of_an_open_account: Kind.MARK,
    deleted_and_forgotten: Kind.UNPURGED,
    wrong_rank: Kind.DERIVED,
    no_rank: Kind.DERIVED,
    stale_entry: Kind.FEED,
    lacking_entry: Kind.FEED,
}


async def repaired(graph, check) -> list[dict]:
    """Checks and repairs until nothing more can be repaired. Returns what is left."""
    for _ in range(6):
        found = await check(repair=True)
        await graph.settle(jobs=True)
        if not any(each["state"] == "repaired" for each in found):
            return found
    raise AssertionError(f"repairs do not end: {found}")


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda each: each.__name__)
async def test_a_corruption_is_found_and_repaired(graph, check, corrupt):
    vandal = await whole_world(graph)
    record = await corrupt(vandal)
    found = {(each["kind"], each["pk"], each["sk"]) for each in await check()}
    assert (CORRUPTIONS[corrupt], *record.own_key[1:]) in found
    assert await repaired(graph, check) == []
    assert await check() == []


def test_every_kind_is_tested():
    assert {*CORRUPTIONS.values(), Kind.COUNTER} == {*Kind}


async def test_a_lost_version_is_reported_and_not_invented(graph, check):
    vandal = await whole_world(graph)
    version = await vandal.one(ContentVersion)
    await vandal.delete(version)
    (found,) = await check(repair=True)
    assert found == {
        "kind": "list",
        "pk": version.own_key.pk,
        "sk": f"CONTENT#{version.node_id}#LATEST",
        "state": "confirmed",
        "what": f"Content.version, without items: {version.version}",
        "repair": None,
        "advice": "restore the missing items from a backup",
    }


async def test_what_a_repair_deletes_is_kept_for_30_days(graph, check):
    vandal = await whole_world(graph)
    like = await like_of_nothing(vandal)
    await check(repair=True)
    (aside,) = await vandal.all(SetAside)
    assert aside.reason == "Like without Post POST#gone / METADATA"
    assert like.own_key.pk in aside.item
    assert abs(aside.expires_at - time.time() - 30 * DAY) < 60


async def test_a_difference_that_a_due_job_will_remove_is_no_finding(graph, check):
    vandal = await whole_world(graph)
    place = await deleted_and_forgotten(vandal)
    job = Job(job_id="j", due_at=now(), kind="purge_neighborhood", subject={"neighborhood_id": place.neighborhood_id})
    await vandal.put(job)
    assert await check() == []


async def ruin(vandal, chance: random.Random) -> None:
    """Damages one random item in a random way."""
    items = [item async for item in vandal.items() if REGISTRY[entity_name(item)].logged]
    record = decode(chance.choice(sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))))
    ways = ["delete", "unindex", "break"]
    counters = [rule.name for rule in COUNTERS if rule.name in record.fields and rule.subject is type(record)]
    if counters:
        ways.append("count")
    match chance.choice(ways):
        case "delete":
            await vandal.delete(record)
        case "unindex":
            index = chance.choice([name for name in record.indexes if name] or ["GSI1"])
            await vandal.put(record, **{f"{index}PK": None, f"{index}SK": None})
        case "break":
            await vandal.put(record, createdAt={"N": "1"})
        case _:
            name = chance.choice(counters)
            await vandal.put(record.changed(**{name: getattr(record, name) + chance.randint(1, 9)}))


@pytest.mark.parametrize("seed", range(4))
async def test_random_corruption_of_many_items_is_repaired(graph, check, seed):
    vandal = await whole_world(graph)
    chance = random.Random(seed)
    for _ in range(12):
        await ruin(vandal, chance)
    left = await repaired(graph, check)
    assert [each for each in left if each["repair"]] == []
    assert await check() == left
