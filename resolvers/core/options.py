"""Settings of the applications that an operator may choose."""

from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True)
class Options:
    """New posts go to `feed_shards` partitions; old ones may be in up to `feed_shards_before`.

    Published sites are subdomains of `sites_domain`. With `private_webhooks`, webhooks may send to this network.
    Posts of users with up to `feed_fanout` followers are copied to the home feeds of these.
    """

    feed_shards: int = 1
    feed_shards_before: int = 1
    sites_domain: str = "example.org"
    private_webhooks: bool = False
    feed_fanout: int = 5_000

    def feed_shard_of(self, post_id: str) -> int:
        """Partition of a new post: 0 without sharding, from 1 with it."""
        return 0 if self.feed_shards == 1 else 1 + crc32(post_id.encode()) % self.feed_shards

    @property
    def all_feed_shards(self) -> range:
        """All partitions that may hold posts, with the current and the previous number of shards."""
        most = max(self.feed_shards, self.feed_shards_before)
        return range(1) if most == 1 else range(most + 1)
