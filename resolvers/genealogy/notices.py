"""Recipients of notifications of shared family trees."""

from collections.abc import Sequence

from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.genealogy import Tree, TreeShare
from datastore.notifications import NotificationKind
from loaders.request import Loaders
from resolvers.background.processors import processor
from resolvers.notifications.notices import AT_ONCE, Notice, Notices

NOTICES = Notices()


@NOTICES.of(TreeShare)
async def shares(load: Loaders, shares: Sequence[TreeShare]) -> list[Notice]:
    return [
        Notice(
            share.own_key,
            NotificationKind.TREE_SHARE,
            [share.shared_with_id],
            Tree.key(user_id=share.user_id, tree_id=share.tree_id),
            share.user_id,
            share.created_at,
        )
        for share in shares
    ]


@processor(TreeShare, at_once=AT_ONCE)
async def notify_genealogy(load: Loaders, changes: Sequence[Change]) -> Sequence[Write]:
    """Keeps the notifications of shared family trees."""
    return await NOTICES.kept(load, changes)
