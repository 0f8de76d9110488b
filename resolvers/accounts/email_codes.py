"""Codes that prove who reads an address: signed, so that none has to be kept."""

import hmac
import time
from typing import NamedTuple

import jwt

from resolvers.core.problems import ProblemCode, Refused, refused

LIFETIME = 24 * 3600


class Proven(NamedTuple):
    """Whose account the code is for, and the address it was sent to."""

    user_id: str
    email: str


class EmailCodes:
    """Their key is made for them alone: no code is ever a bearer token, and no bearer token a code."""

    def __init__(self, secret: str) -> None:
        self._key = hmac.digest(secret.encode(), b"heartwood e-mail codes", "sha256")

    def write(self, user_id: str, email: str) -> str:
        claims = {"sub": user_id, "email": email, "exp": int(time.time()) + LIFETIME}
        return jwt.encode(claims, self._key, algorithm="HS256")

    def read(self, code: str) -> Proven:
        """What the code proves, or a refusal."""
        try:
            claims = jwt.decode(
                code.strip(), self._key, algorithms=["HS256"], options={"require": ["sub", "email", "exp"]}
            )
        except jwt.ExpiredSignatureError:
            raise _bad_code("this code has expired") from None
        # PyJWT reads the head before it knows who wrote it: text that is no UTF-8, JSON that is too deep.
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise _bad_code("this is not a code we sent, or not all of it") from None
        return Proven(claims["sub"], claims["email"])


def _bad_code(why: str) -> Refused:
    return refused(ProblemCode.INVALID, f"{why}; requestEmailVerification sends a new one", "input", "code")
