"""AWS Signature Version 4 for one service, one path and one method.

botocore's signer handles any request to any AWS service and costs more CPU than the rest of a GetItem. DynamoDB's data
path is always the same `POST` with three signed headers, so within one second only the digest of the body changes
between requests. A test compares it with botocore's signatures.
"""

import hashlib
import hmac
import time
from typing import NamedTuple, Protocol
from urllib.parse import quote


class _Form(NamedTuple):
    """The constant parts of all requests of one operation within a second."""

    headers: dict[str, str]
    canonical: str
    to_sign: str
    key: bytes
    authorization: str


class FrozenCredentials(Protocol):
    @property
    def access_key(self) -> str | None: ...
    @property
    def secret_key(self) -> str | None: ...
    @property
    def token(self) -> str | None: ...


class HasFrozenCredentials(Protocol):
    def get_frozen_credentials(self) -> FrozenCredentials: ...


class Signer:
    """Signs requests. `clock_offset` is added to the time of this machine, in seconds."""

    def __init__(self, credentials: HasFrozenCredentials, region: str, host: str, path: str = "/") -> None:
        self.clock_offset = 0.0
        self._credentials = credentials
        self._region = region
        self._host = host
        self._path = quote(_normalized(path), safe="/~")
        self._forms: dict[str, _Form] = {}
        self._forms_for: tuple[FrozenCredentials, int] | None = None

    def headers(self, operation: str, body: bytes, *, at: float | None = None) -> dict[str, str]:
        seconds = time.time() + self.clock_offset if at is None else at
        now = self._credentials.get_frozen_credentials(), int(seconds)
        if now != self._forms_for:
            self._forms, self._forms_for = {}, now
        form = self._forms.get(operation)
        if form is None:
            form = self._forms[operation] = self._form(operation, *now)
        canonical = form.canonical + hashlib.sha256(body).hexdigest()
        to_sign = form.to_sign + hashlib.sha256(canonical.encode()).hexdigest()
        signature = hmac.digest(form.key, to_sign.encode(), "sha256").hex()
        return {**form.headers, "Authorization": form.authorization + signature}

    def _form(self, operation: str, frozen: FrozenCredentials, second: int) -> _Form:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        target = f"DynamoDB_20120810.{operation}"
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": stamp, "X-Amz-Target": target}
        token_line, token_name = "", ""
        if frozen.token:
            headers["X-Amz-Security-Token"] = frozen.token
            token_line, token_name = f"x-amz-security-token:{frozen.token}\n", "x-amz-security-token;"
        signed = f"host;x-amz-date;{token_name}x-amz-target"
        lines = f"host:{self._host}\nx-amz-date:{stamp}\n{token_line}x-amz-target:{target}\n"
        scope = f"{stamp[:8]}/{self._region}/dynamodb/aws4_request"
        key = f"AWS4{frozen.secret_key}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return _Form(
            headers,
            canonical=f"POST\n{self._path}\n\n{lines}\n{signed}\n",
            to_sign=f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n",
            key=key,
            authorization=(
                f"AWS4-HMAC-SHA256 Credential={frozen.access_key}/{scope}, SignedHeaders={signed}, Signature="
            ),
        )


def _normalized(path: str) -> str:
    if path == "/":
        return path
    # Loaded only for the rare endpoint with a path.
    from botocore.utils import normalize_url_path

    return str(normalize_url_path(path))
