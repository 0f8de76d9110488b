"""The epoch of an account's tokens: a new one ends all tokens issued before."""

import time

from datastore.accounts import User
from datastore.client.writes import Check, Condition, absent, below, equals, exists
from loaders.request import Required
from loaders.viewer import TokenAge, Viewer
from resolvers.core.problems import ProblemCode, Refused, refused

ENDED = "this token has ended: the password was changed, the account deleted or all tokens ended; log in again"


def next_epoch(user: User) -> int:
    """Returns the epoch that ends all current tokens of the account. Epochs only grow, even if a clock is wrong."""
    return max(int(time.time() * 1000), user.token_epoch + 1)


def has_ended(token: TokenAge, epoch: int | None) -> bool:
    """Returns True if the account has a later epoch. `epoch` is None if there is no account.

    Programs have no account; a token that the server issued for one ends with it. Tokens that say nothing of an epoch
    are compared by their time of issue, in whole seconds.
    """
    if epoch is None:
        return token.epoch is not None
    if token.epoch is not None:
        return token.epoch != epoch
    return epoch > 0 and token.issued_at * 1000 <= epoch


def token_ended() -> Refused:
    return refused(ProblemCode.TOKEN_EXPIRED, ENDED)


def required_of(viewer: Viewer) -> Required | None:
    """Returns the condition that the viewer's token has not ended, for the transaction of every write."""
    if viewer.user_id is None or viewer.token is None:
        return None
    return Required(Check(User.key(user_id=viewer.user_id), when=_is_current(viewer.token)), token_ended())


def _is_current(token: TokenAge) -> Condition:
    if token.epoch is not None:
        return has_epoch(token.epoch)
    return absent("token_epoch") | equals("token_epoch", 0) | below("token_epoch", token.issued_at * 1000)


def has_epoch(epoch: int) -> Condition:
    """Requires that the account exists and has this epoch. Accounts from before there were epochs have none stored."""
    stored = equals("token_epoch", epoch)
    return exists() & (stored if epoch else stored | absent("token_epoch"))
