"""Mutations of accounts."""

from loaders.viewer import Viewer
from tests.support.graph import Graph

PROBLEMS = "problems { code message path }"
SIGN_UP = (
    f"mutation ($input: SignUpInput!) {{ signUp(input: $input) {{ user {{ username email }} token {PROBLEMS} }} }}"
)
LOG_IN = f"mutation ($input: LogInInput!) {{ logIn(input: $input) {{ user {{ username }} token {PROBLEMS} }} }}"
UPDATE = f"""mutation ($input: UpdateProfileInput!) {{ updateProfile(input: $input) {{
    user {{ displayName bio profileImages {{ avatar {{ url }} }} }} {PROBLEMS} }} }}"""
CHANGE_USERNAME = f"""mutation ($input: ChangeUsernameInput!) {{ changeUsername(input: $input) {{
    user {{ username }} {PROBLEMS} }} }}"""
CHANGE_EMAIL = (
    f"mutation ($input: ChangeEmailInput!) {{ changeEmail(input: $input) {{ user {{ email }} {PROBLEMS} }} }}"
)
CHANGE_PASSWORD = f"""mutation ($input: ChangePasswordInput!) {{ changePassword(input: $input) {{
    user {{ username }} {PROBLEMS} }} }}"""
DELETE = f"mutation {{ deleteAccount {{ user {{ username deletedAt }} {PROBLEMS} }} }}"
RESTORE = f"mutation {{ restoreAccount {{ user {{ username deletedAt }} {PROBLEMS} }} }}"
GOOD = {"username": "ada", "email": "ada@example.org", "password": "correct horse"}


async def sign_up(graph: Graph, **changes: str) -> Viewer:
    payload = await graph.command(SIGN_UP, **{**GOOD, **changes})
    assert payload["problems"] == []
    return await graph.services.tokens.viewer(f"Bearer {payload['token']}")


async def log_in(graph: Graph, login: str = "ada", password: str = "correct horse") -> Viewer:
    payload = await graph.command(LOG_IN, login=login, password=password)
    assert payload["problems"] == []
    return await graph.services.tokens.viewer(f"Bearer {payload['token']}")
