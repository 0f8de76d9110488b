"""Commands that verify an account's email address with a code sent there."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.writes import Update, equals
from datastore.model.times import now
from resolvers.accounts.edges import token_proves_email
from resolvers.accounts.guards import change_account, is_open, own_account
from resolvers.accounts.security_writes import account_events
from resolvers.core.access import AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, refused
from resolvers.core.rate_limit import count_attempt

HOUR = 3600
MAILS_PER_ACCOUNT = 5
MAILS_PER_CLIENT = 100

SUBJECT = "Your code for Heartwood"
TEXT = """Hello {username},

use this code to verify your email address:

{code}

It is valid for 24 hours. If you did not request it, ignore this message.
"""


@access(requires=AccessRole.SIGNED_IN)
async def request_email_verification(context: Context) -> User:
    """Sends a code for `verifyEmail` to the viewer's address. Does nothing if it is verified already."""
    user = await own_account(context)
    if user.email_verified_at is not None:
        return user
    if token_proves_email(user, context.viewer):
        return await _verify(context, user)
    if not context.mail.can_send:
        raise refused(ProblemCode.FORBIDDEN, "this server sends no mail, so it cannot verify addresses")
    await _count_mail(context, user)
    code = context.email_codes.write(user.user_id, user.email)
    # A failure after this does not undo the mail.
    context.load.may_have_applied = True
    await context.mail.send(user.email, SUBJECT, TEXT.format(username=user.username, code=code))
    return user


async def verify_email(
    context: Context, *, code: Annotated[str, Doc("The code from the mail, valid for 24 hours.")]
) -> User:
    """Verifies an account's email address. The code is enough, without an access token. Idempotent."""
    proven = context.email_codes.read(code)
    (user,) = await context.load.fresh(User.key(user_id=proven.user_id))
    if user is None or user.deleted_at is not None:
        raise refused(ProblemCode.NOT_FOUND, "there is no open account for this code", at="code")
    if user.email != proven.email:
        message = "this code is for a previous address of the account; requestEmailVerification sends a new one"
        raise refused(ProblemCode.INVALID, message, at="code")
    return user if user.email_verified_at is not None else await _verify(context, user)


async def _verify(context: Context, user: User) -> User:
    verified = user.changed(email_verified_at=now())
    change = Update.of(user, verified, when=is_open() & equals("email", user.email))
    # The code is enough to verify an address, so the viewer may be anyone.
    await change_account(context, change, *account_events(context, user, by_owner=False))
    return verified


async def _count_mail(context: Context, user: User) -> None:
    """Limits by address as well: accounts that take turns with one address must not flood it."""
    limits = {
        f"mail of {user.user_id}": MAILS_PER_ACCOUNT,
        f"mail to {user.email}": MAILS_PER_ACCOUNT,
        f"mail from {context.client_address}": MAILS_PER_CLIENT,
    }
    await count_attempt(context.load, limits, every=HOUR, message="too many mails were requested")
