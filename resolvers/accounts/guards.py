"""Guards shared by the commands of all domains: the viewer's account must exist and be open."""

import time
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from datastore.accounts import User
from datastore.client.errors import Conflict
from datastore.client.writes import Check, Condition, Delete, Put, Update, Write, absent, exists
from datastore.model.keys import Key
from resolvers.accounts.token_epoch import has_ended, token_ended
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused


async def own_account(context: Context, *, even_deleted: bool = False) -> User:
    (user,) = await context.load.fresh(User.key(user_id=context.signed_in))
    if user is None or is_gone(user):
        raise refused(ProblemCode.NOT_FOUND, "there is no account for this token; use signUp to create one")
    if context.viewer.token is not None and has_ended(context.viewer.token, user.token_epoch):
        raise token_ended()
    if user.deleted_at is not None and not even_deleted:
        raise refused(ProblemCode.NOT_FOUND, "this account is deleted; use restoreAccount to bring it back")
    return user


def is_gone(user: User) -> bool:
    return user.expires_at is not None and user.expires_at <= time.time()


def is_open() -> Condition:
    return exists() & absent("deleted_at")


def no_account() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no open account for this token")


async def write_for_account(context: Context, *writes: Write, add: Mapping[str, int] = MappingProxyType({})) -> None:
    """Writes on condition that the viewer's account is open; `add` changes counts of the account."""
    key = User.key(user_id=context.signed_in)
    account = Update(key, add=add, when=is_open()) if add else Check(key, when=is_open())
    try:
        await context.load.write(account, *writes)
    except Conflict as conflict:
        if account in conflict:
            raise no_account() from None
        raise refused(ProblemCode.CONFLICT, "it changed in the meantime; try again") from None


async def delete_marked(context: Context, key: Key[Any]) -> None:
    """Deletes a link of the viewer's that is in no count, because an account it depends on is or was deleted."""
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    with suppress(Conflict):
        await context.load.write(account, Delete(key, when=exists("hidden_at")))


async def change_account(context: Context, *writes: Put | Update | Delete) -> None:
    try:
        await context.load.write(*writes)
    except Conflict:
        raise refused(ProblemCode.CONFLICT, "the account changed in the meantime; try again") from None
