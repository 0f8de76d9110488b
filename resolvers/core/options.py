"""What an operator may choose about the applications."""

from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True)
class Options:
    """`feed_shards` partitions take new posts; up to `feed_shards_before` may hold old ones.

    Published sites are subdomains of `sites_domain`.
    """

    feed_shards: int = 1
    feed_shards_before: int = 1
    sites_domain: str = "example.org"

    def feed_shard_of(self, post_id: str) -> int:
        """Where a new post goes: 0 is the one partition there is without sharding, 1 the first of several."""
        return 0 if self.feed_shards == 1 else 1 + crc32(post_id.encode()) % self.feed_shards

    @property
    def all_feed_shards(self) -> range:
        """Wherever posts may be, whatever the number was when they were published."""
        most = max(self.feed_shards, self.feed_shards_before)
        return range(1) if most == 1 else range(most + 1)
