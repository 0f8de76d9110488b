"""Email verification codes: signed, so that none has to be stored."""

import hmac
import time
from typing import NamedTuple

import jwt

from resolvers.core.problems import ProblemCode, Refused, refused

LIFETIME = 24 * 3600


class Proven(NamedTuple):
    """The account that a code is for, and the address it was sent to."""

    user_id: str
    email: str


class EmailCodes:
    """Signed with a key of their own: a code is never valid as a bearer token, nor a bearer token as a code."""

    def __init__(self, secret: str) -> None:
        self._key = hmac.digest(secret.encode(), b"heartwood e-mail codes", "sha256")

    def write(self, user_id: str, email: str) -> str:
        claims = {"sub": user_id, "email": email, "exp": int(time.time()) + LIFETIME}
        return jwt.encode(claims, self._key, algorithm="HS256")

    def read(self, code: str) -> Proven:
        """Returns what the code proves; raises Refused for an invalid or expired one."""
        try:
            claims = jwt.decode(
                code.strip(), self._key, algorithms=["HS256"], options={"require": ["sub", "email", "exp"]}
            )
        except jwt.ExpiredSignatureError:
            raise _bad_code("this code has expired") from None
        # PyJWT parses the header before it verifies the signature: invalid UTF-8, deeply nested JSON.
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise _bad_code("this code is invalid or incomplete") from None
        return Proven(claims["sub"], claims["email"])


def _bad_code(why: str) -> Refused:
    return refused(ProblemCode.INVALID, f"{why}; requestEmailVerification sends a new one", at="code")
