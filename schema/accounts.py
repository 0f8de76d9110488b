"""Accounts in the schema."""

from datastore import accounts as stored
from datastore import security
from datastore.model.times import Time
from resolvers.accounts import commands, edges, email_commands, identity_commands, lifecycle, security_edges
from resolvers.accounts.visibility import may_see_email
from schema.declare.commands import command
from schema.declare.connections import Connection
from schema.declare.edges import derived, many, one
from schema.declare.lookups import lookup
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose


@expose(stored.User)
class User(Node):
    email: str | None = derived(edges.email)
    email_verified_at: Time | None = derived(edges.email_verified_at)


@expose(security.SecurityEvent)
class SecurityEvent(Node):
    pass


class Query:
    viewer: User | None = one(edges.viewer)
    user: User | None = lookup(
        edges.user_by_username, edges.user_by_email, edges.user_by_database_id, only={"email": may_see_email}
    )
    users: Connection[User] = many(edges.users)
    security_log: Connection[SecurityEvent] = many(security_edges.security_log)


class SignInPayload(Payload):
    user: User | None = result("The account.")
    token: str | None = result(
        "Access token. Send it as `Authorization: Bearer <token>`. Null if an identity provider issues tokens."
    )


class UserPayload(Payload):
    user: User | None = result("The account.")


class Mutation:
    sign_up: SignInPayload = command(commands.sign_up, replay=commands.sign_up_again)
    log_in: SignInPayload = command(commands.log_in, keeps_key=False)
    link_identity: UserPayload = command(identity_commands.link_identity, keeps_key=False)
    update_profile: UserPayload = command(commands.update_profile)
    change_username: UserPayload = command(commands.change_username)
    change_email: UserPayload = command(commands.change_email)
    request_email_verification: UserPayload = command(email_commands.request_email_verification)
    verify_email: UserPayload = command(email_commands.verify_email)
    change_password: SignInPayload = command(commands.change_password, replay=commands.signed_in_again)
    sign_out_everywhere: SignInPayload = command(commands.sign_out_everywhere, replay=commands.signed_in_again)
    delete_account: UserPayload = command(lifecycle.delete_account)
    restore_account: UserPayload = command(lifecycle.restore_account)
