"""The use of rate limits, which servers tell each other."""

from datastore.model.entity import Entity, field
from datastore.model.ownership import nobody


class ServerUsage(
    Entity,
    pk="RATELIMITS#{hour}",
    sk="SERVER#{server_id}",
    owner=nobody("it names no account, and expires within two hours"),
    logged=False,
):
    """Use by the busiest subjects of one server. Each server writes its own record and reads those of the others."""

    hour: int = field("Hour since 1970: each has its own partition, so that stopped servers leave nothing to read.")
    server_id: str = field("ID of the server process.")
    written_at: float = field("Unix time of this state.")
    used: str = field(
        "JSON: for the digest of a policy and its subject, the units used since the server knows it, and the seconds "
        "that a bucket needs to refill what is missing because of this server."
    )
