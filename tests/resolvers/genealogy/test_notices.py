"""Notifications of shared family trees."""

from tests.support.graph import id_of, mutation, viewer_of
from tests.support.notifications import sources, texts

SHARE = mutation("shareTree", "tree { id }")
UNSHARE = mutation("unshareTree", "tree { id }")


async def test_a_shared_tree_is_notified_until_it_is_no_longer_shared(graph, kindred):
    ada, bob = await kindred.user("ada"), await kindred.user("bob")
    tree = await kindred.tree(ada, name="Bach")
    for role in ("READER", "EDITOR"):
        await graph.command(SHARE, viewer_of(ada), treeId=id_of(tree), userId=id_of(bob), role=role)
    assert await texts(graph, bob) == ["ada shared the family tree “Bach” with you."]

    await graph.command(UNSHARE, viewer_of(ada), treeId=id_of(tree), userId=id_of(bob))

    assert await texts(graph, bob) == []
    assert await sources(graph) == 0
