"""Accounts in the graph."""

from datastore import users as stored
from datastore.times import Time
from resolvers import users, users_commands, users_email
from schema.connections import Connection
from schema.edges import command, derived, many, one
from schema.problems import Payload, result
from schema.types import Node, expose


@expose(stored.User)
class User(Node):
    email: str | None = derived(users.email)
    email_verified_at: Time | None = derived(users.email_verified_at)


class Query:
    viewer: User | None = one(users.viewer)
    user: User | None = one(users.user)
    user_by_username: User | None = one(users.user_by_username)
    user_by_email: User | None = one(users.user_by_email, only=users.may_see_email)
    users: Connection[User] = many(users.users)


class SignInPayload(Payload):
    user: User | None = result("The account.")
    token: str | None = result(
        "Send it as `Authorization: Bearer <token>`; null where an identity provider issues them."
    )


class UserPayload(Payload):
    user: User | None = result("The account as it is now.")


class Mutation:
    sign_up: SignInPayload = command(users_commands.sign_up)
    log_in: SignInPayload = command(users_commands.log_in)
    update_profile: UserPayload = command(users_commands.update_profile)
    change_username: UserPayload = command(users_commands.change_username)
    change_email: UserPayload = command(users_commands.change_email)
    request_email_verification: UserPayload = command(users_email.request_email_verification)
    verify_email: UserPayload = command(users_email.verify_email)
    change_password: UserPayload = command(users_commands.change_password)
    delete_account: UserPayload = command(users_commands.delete_account)
    restore_account: UserPayload = command(users_commands.restore_account)
