"""Documents of accounts: names and biographies, never email addresses."""

from datastore.accounts import User
from datastore.genealogy import Person, Tree
from datastore.model.keys import Range
from datastore.neighborhoods import Site
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


def user_document(user: User, related: Related) -> Document | None:
    if user.deleted_at is not None:
        return None
    texts = some_texts(
        ("username", user.username, Weight.TITLE),
        ("displayName", user.display_name, Weight.TITLE),
        ("blueskyHandle", user.bluesky_handle, Weight.TAGS),
        ("bio", user.bio, Weight.BODY),
    )
    return Document(
        document_key(user.own_key),
        "User",
        texts,
        [EVERYONE],
        owner_id=user.user_id,
        created_at=user.created_at,
        popularity=user.follower_count,
        depends="open",
    )


def all_users(options: Options) -> list[Range[User]]:
    return [User.by_time()]


def works_that_hide_with(user: User) -> list[Range[Site] | Range[Tree] | Range[Person]]:
    """Works without a mark of their own: they are hidden while the account is deleted."""
    user_id = user.user_id
    return [Site.within(user_id=user_id), Tree.by_owner(user_id=user_id), Person.by_owner(user_id=user_id)]


searchable(Searchable(User, user_document, all_users, dependents=works_that_hide_with))
