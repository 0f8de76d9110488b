"""Security events of the platform, and the values they share with the audit logs of tenants."""

from zlib import crc32

from datastore.model.codec import JSON
from datastore.model.entity import Entity, Value, field, own_id
from datastore.model.keys import indexable
from datastore.model.ownership import nobody
from datastore.model.patterns import gsi1, gsi2, gsi3

SHARDS = 4
"""Partitions of the log. It may be raised: readers merge all of them."""


class AuditActor(Value):
    """The author of an audited action."""

    user_id: str | None = field("`databaseId` of the user. Null for a visitor.", default=None, shown_as="database_id")
    email: str | None = field("Email address, if known.", default=None)


class AuditTarget(Value):
    """The record an audited action changed."""

    type: str = field("Type of the record.")
    id: str = field("`databaseId` of the record.", shown_as="database_id")
    title: str = field("Title at the time of the action.")


class SecurityEvent(
    Entity,
    pk="SECURITY#{shard}",
    sk="EVENT#{created_at}#{event_id}",
    owner=nobody("evidence of what happened to an account outlives it; expires after a year"),
):
    """A security event of the platform: a sign-in, a change of an account, a refusal or the use of a role.

    Refusals and the use of roles are counted by the hour, and `createdAt` is the beginning of that hour.
    """

    by_actor = gsi1("SECURITY#ACTOR#{actor_id}", "{created_at}#{event_id}")
    by_action = gsi2("SECURITY#ACTION#{action}#{shard}", "{created_at}#{event_id}")
    by_target = gsi3("SECURITY#TARGET#{target_key}", "{created_at}#{event_id}")

    event_id: str = own_id()
    actor: AuditActor = field("The user who caused it, if known.")
    action: str = field("Name of the mutation or of the event, such as logIn, signInFailed, tokenRefused or roleUsed.")
    target: AuditTarget | None = field("The account or tenant that it is about.", default=None)
    tenant_id: str | None = field(
        "`databaseId` of the tenant of the request.", default=None, shown_as="tenant_database_id"
    )
    client_address: str | None = field(
        "IPv4 address of the client, or the /64 network of its IPv6 address.", default=None
    )
    count: int = field("Number of times.", default=1)
    details: JSON | None = field("Further details, such as the role, or the reason of a refusal.", default=None)
    shard: int | None = field("Partition of the log.", default=None, private=True)
    actor_id: str | None = field("User ID of the actor, for the index.", default=None, private=True)
    target_key: str | None = field("Type and ID of the target, for the index.", default=None, private=True)

    def __post_init__(self) -> None:
        self.__dict__["shard"] = crc32(self.event_id.encode()) % SHARDS
        self.__dict__["actor_id"] = indexable(self.actor.user_id)
        target = self.target
        self.__dict__["target_key"] = indexable(target_key(target.type, target.id)) if target else None


def target_key(type_name: str, record_id: str) -> str:
    """Returns the text that identifies a record in a log."""
    return f"{type_name}/{record_id}"
