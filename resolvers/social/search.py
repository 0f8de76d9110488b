"""Documents of posts: their captions, and the hashtags in them."""

import re

from datastore.model.keys import Range
from datastore.social import Post
from resolvers.core.options import Options
from resolvers.search.documents import (
    EVERYONE,
    Document,
    Related,
    Searchable,
    Weight,
    document_key,
    searchable,
    some_texts,
)
from resolvers.search.hashtags import hashtag_documents

MOST_HASHTAGS = 30
LONGEST_HASHTAG = 100
_hashtag = re.compile(r"(?<![^\W_])#([^\W_](?:\w|[\u0300-\u036f])*)")


def hashtags_in(caption: str | None) -> list[str]:
    """Returns the hashtags of a caption in lower case, each once. Numbers are none: they are ranks and prices."""
    found = dict.fromkeys(tag.casefold()[:LONGEST_HASHTAG] for tag in _hashtag.findall(caption or ""))
    return [tag for tag in found if not tag.isdigit()][:MOST_HASHTAGS]


def post_document(post: Post, related: Related) -> Document | None:
    if post.deleted_at is not None or post.hidden_at is not None or not post.caption:
        return None
    return Document(
        document_key(post.own_key),
        "Post",
        some_texts(("caption", post.caption, Weight.TITLE)),
        [EVERYONE],
        owner_id=post.user_id,
        tags=hashtags_in(post.caption),
        created_at=post.created_at,
        popularity=post.like_count,
    )


def all_posts(options: Options) -> list[Range[Post]]:
    return [Post.in_feed(feed_shard=shard) for shard in options.all_feed_shards]


searchable(Searchable(Post, post_document, all_posts, derived=hashtag_documents))
