"""The authors of the objects that counts are about."""

from collections.abc import Sequence

from datastore.analytics import CountedObject
from datastore.changes.change import Change
from datastore.client.writes import Update
from datastore.model.ownership import OfUser
from datastore.model.times import Time
from datastore.neighborhoods import Build
from loaders.request import Loaders
from resolvers.analytics.subjects import AUTHORED, BUILT, SUBJECTS, Object, authored


class Authors:
    """The authors of the objects in some changes."""

    def __init__(self) -> None:
        self.known: dict[Object, str] = {}
        self.new: list[Object] = []
        """Objects whose authors are not stored yet."""
        self._gone: set[Object] = set()
        self.purged: dict[Object, Time] = {}
        """Objects that are gone now, and were not before."""

    def purge(self, about: Object, at: Time) -> bool:
        """Returns True if it is the first time that the object is purged."""
        if about in self._gone:
            return False
        self._gone.add(about)
        self.purged[about] = at
        return True

    @property
    def writes(self) -> list[Update]:
        """Writes that store new authors and purges."""
        found = dict.fromkeys([*self.new, *self.purged])
        return [Update.upsert(self._record(about), add={}) for about in found]

    def _record(self, about: Object) -> CountedObject:
        author_id, gone_at = self.known[about], self.purged.get(about)
        return CountedObject(scope=about.scope, subject=about.subject, author_id=author_id, gone_at=gone_at)

    async def find(self, load: Loaders, changes: Sequence[Change]) -> None:
        """Looks them up. An author that is found once stays known until after the object is purged."""
        about = dict.fromkeys(filter(None, map(authored, changes)))
        stored = await load.fresh(*(each.key for each in about))
        self.known = {each: found.author_id for each, found in zip(about, stored, strict=True) if found}
        self._gone = {each for each, found in zip(about, stored, strict=True) if found and found.gone_at}
        from_log = {each: author for change in changes if (each := authored(change)) and (author := _written(change))}
        unknown = [each for each in about if each not in self.known and each not in from_log and each.scope in AUTHORED]
        keys = [AUTHORED[each.scope](each.subject) for each in unknown]
        builds = {
            site: change.key
            for change in changes
            if change.entity is Build and (site := BUILT(change.key.values)) not in self.known
        }
        records = await load.fresh(*keys, *builds.values())
        read = {
            each: record.__dict__[record.account_fields[0] if record.account_fields else "user_id"]
            for each, record in zip([*unknown, *builds], records, strict=True)
            if record is not None
        }
        new = from_log | read
        self.new = [each for each in new if each not in self.known]
        self.known |= {each: new[each] for each in self.new}


def _written(change: Change) -> str | None:
    """Returns the author of a new object from its index key in the log: the object may be gone again."""
    owner = change.entity.owner
    if change.entity not in SUBJECTS or not change.after or not isinstance(owner, OfUser):
        return None
    pattern = change.entity.patterns.get(owner.found_by)
    found = change.after.get(pattern.index.name or "") if pattern else None
    return pattern.index.pk.values(found[0])[owner.field] if pattern and found else None
