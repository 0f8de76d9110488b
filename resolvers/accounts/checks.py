"""Rules of consistency of accounts."""

from datastore.accounts import User
from resolvers.maintenance.rules import guarded

guarded(
    "username",
    User,
    values=lambda user: [user.username],
    id_field="user_id",
    found_by=lambda user_id: User.key(user_id=user_id),
)
guarded(
    "email",
    User,
    values=lambda user: [user.email],
    id_field="user_id",
    found_by=lambda user_id: User.key(user_id=user_id),
)
guarded(
    "subject",
    User,
    # An account that was made with the provider's token has the subject as its ID, and no guard.
    values=lambda user: [] if user.external_subject in (None, user.user_id) else [user.external_subject],
    id_field="user_id",
    found_by=lambda user_id: User.key(user_id=user_id),
)
