"""Processors of neighborhoods: rankings."""

from collections.abc import Sequence
from typing import Any

from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.neighborhoods import Neighborhood, NeighborhoodPrivacy, NeighborhoodRank
from loaders.request import Loaders
from resolvers.background.processors import processor
from resolvers.core.rankings import RANKED_AT_ONCE, rank_writes


@processor(Neighborhood, at_once=RANKED_AT_ONCE)
async def rank_neighborhoods(load: Loaders, changes: Sequence[Change]) -> list[Write]:
    """Keeps the ranks of neighborhoods equal to their numbers of members."""
    keys = dict.fromkeys(change.key for change in changes)
    found = await load.fresh(*keys)
    wanted: dict[Key[Any], Entity | None] = {
        NeighborhoodRank.key(**key.values): None if neighborhood is None else rank_of(neighborhood)
        for key, neighborhood in zip(keys, found, strict=True)
    }
    return await rank_writes(load, wanted)


def rank_of(neighborhood: Neighborhood) -> NeighborhoodRank | None:
    """Returns the rank of a neighborhood, or None if it is private or deleted: the index reveals nothing."""
    if neighborhood.deleted_at is not None or neighborhood.privacy is not NeighborhoodPrivacy.PUBLIC:
        return None
    return NeighborhoodRank(
        neighborhood_id=neighborhood.neighborhood_id,
        members=neighborhood.member_count,
        created_at=neighborhood.created_at,
        updated_at=neighborhood.created_at,
    )
