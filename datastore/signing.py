"""AWS Signature Version 4 for one service, one path and one method.

botocore's signer handles any request to any AWS service and costs more CPU than the rest of a GetItem. DynamoDB's data
path always is `POST /` with three signed headers, so the canonical request is one format string and the signing key
changes once a day. A test holds it to botocore's own signatures.
"""

import hashlib
import hmac
import time

from botocore.credentials import Credentials, ReadOnlyCredentials


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


class Signer:
    def __init__(self, credentials: Credentials, region: str, host: str) -> None:
        self._credentials = credentials
        self._region = region
        self._host = host
        self._key_for: tuple[str | None, str] | None = None
        self._key = b""
        self._second = -1
        self._stamp = ""

    def headers(self, operation: str, body: bytes, *, at: float | None = None) -> dict[str, str]:
        # Refreshing credentials (instance roles, SSO) renew themselves here when they are about to expire.
        frozen = self._credentials.get_frozen_credentials()
        stamp = self._stamp_at(int(time.time() if at is None else at))
        target = f"DynamoDB_20120810.{operation}"
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": stamp,
            "X-Amz-Target": target,
        }
        token_line, token_name = "", ""
        if frozen.token:
            headers["X-Amz-Security-Token"] = frozen.token
            token_line, token_name = f"x-amz-security-token:{frozen.token}\n", "x-amz-security-token;"
        signed = f"host;x-amz-date;{token_name}x-amz-target"
        canonical = (
            f"POST\n/\n\nhost:{self._host}\nx-amz-date:{stamp}\n{token_line}x-amz-target:{target}\n\n"
            f"{signed}\n{hashlib.sha256(body).hexdigest()}"
        )
        scope = f"{stamp[:8]}/{self._region}/dynamodb/aws4_request"
        to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(self._signing_key(frozen, stamp[:8]), to_sign.encode(), "sha256").hex()
        headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={frozen.access_key}/{scope}, SignedHeaders={signed}, Signature={signature}"
        )
        return headers

    def _stamp_at(self, second: int) -> str:
        if second != self._second:
            self._second, self._stamp = second, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        return self._stamp

    def _signing_key(self, frozen: ReadOnlyCredentials, day: str) -> bytes:
        if self._key_for != (frozen.secret_key, day):
            key = _mac(f"AWS4{frozen.secret_key}".encode(), day)
            for part in (self._region, "dynamodb", "aws4_request"):
                key = _mac(key, part)
            self._key, self._key_for = key, (frozen.secret_key, day)
        return self._key
