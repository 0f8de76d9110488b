"""Requests that the tests of faults send, and their senders."""

from datastore.accounts import User
from datastore.client.table import Table

LONG = 60.0
SIGN_UP = "mutation($input: SignUpInput!) { signUp(input: $input) { user { databaseId } token problems { code } } }"


def user_named(username: str) -> User:
    return User(user_id=f"id-{username}", username=username, email=f"{username}@example.org")


async def add_users(table: Table, *usernames: str) -> list[User]:
    users = [user_named(username) for username in usernames]
    await table.batch_write(puts=users)
    return users


def numbered(count: int) -> list[str]:
    return [f"user-{number:03}" for number in range(count)]
