"""Commands of follows."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.errors import Conflict
from datastore.client.writes import Delete, Put, Update, absent, below, exists, same
from datastore.model.keys import Key
from datastore.social import Follow
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.access import AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, refused
from resolvers.core.retry import retries_on_conflict

MAX_FOLLOWING = 2_000


@access(requires=AccessRole.SIGNED_IN)
async def follow_user(context: Context, *, user_id: Annotated[Key[User], Doc("ID of the user to follow.")]) -> User:
    """Follows a user. Idempotent. At most 2,000 users can be followed."""
    follower_id = context.signed_in
    person = await _visible_user(context, user_id)
    if person.user_id == follower_id:
        raise refused(ProblemCode.INVALID, "you cannot follow yourself", at=user_id)
    follow = Put(Follow(follower_id=follower_id, following_id=person.user_id), when=absent())
    me = Update(
        User.key(user_id=follower_id),
        add={"following_count": 1},
        when=is_open() & (absent("following_count") | below("following_count", MAX_FOLLOWING)),
    )
    them = Update(user_id, add={"follower_count": 1}, when=is_open())
    try:
        await context.load.write(follow, me, them)
    except Conflict as conflict:
        if follow not in conflict:
            raise await _cannot_follow(context, conflict, them) from None
    return await _visible_user(context, user_id)


@access(requires=AccessRole.SIGNED_IN)
async def unfollow_user(context: Context, *, user_id: Annotated[Key[User], Doc("ID of the user to unfollow.")]) -> User:
    """Unfollows a user. Idempotent."""
    follower_id = context.signed_in
    person = await _visible_user(context, user_id)
    key = Follow.key(follower_id=follower_id, following_id=person.user_id)
    follow = Delete(key, when=exists() & absent("hidden_at") & absent("followed_hidden_at"))
    me = Update(User.key(user_id=follower_id), add={"following_count": -1}, when=is_open())
    try:
        await context.load.write(follow, me, Update(user_id, add={"follower_count": -1}, when=exists()))
    except Conflict as conflict:
        if me in conflict:
            raise no_account() from None
        if follow not in conflict:
            raise not_found(user_id) from None
        await _unfollow_marked(context, key)
    return await _visible_user(context, user_id)


@retries_on_conflict
async def _unfollow_marked(context: Context, key: Key[Follow]) -> None:
    """Deletes a follow while one of both accounts is being restored: it is still in the count of the other one."""
    (follow,) = await context.load.fresh(key)
    if follow is None:
        return
    still = same("hidden_at", follow.hidden_at) & same("followed_hidden_at", follow.followed_hidden_at)
    following = {} if follow.followed_hidden_at else {"following_count": -1}
    followers = {} if follow.hidden_at else {"follower_count": -1}
    await context.load.write(
        Delete(key, when=exists() & still),
        Update(User.key(user_id=follow.follower_id), add=following, when=is_open()),
        Update(User.key(user_id=follow.following_id), add=followers, when=exists()),
    )


async def _visible_user(context: Context, key: Key[User]) -> User:
    user = await context.load.one(key)
    if user is None:
        raise not_found(key)
    return user


async def _cannot_follow(context: Context, conflict: Conflict, them: Update) -> Refused:
    if them in conflict:
        return not_found(them.key)
    (me,) = await context.load.fresh(User.key(user_id=context.signed_in))
    if me is not None and me.following_count >= MAX_FOLLOWING:
        return refused(ProblemCode.INVALID, f"you can follow at most {MAX_FOLLOWING:,} users", at=them.key)
    return no_account()
