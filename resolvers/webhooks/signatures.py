"""Secrets and signatures of webhooks, as the Standard Webhooks specification has them."""

import base64
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Returns `v1,` and the signature of a message. The timestamp is signed too, so that old messages are no use."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"


def headers(keys: list[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Returns the headers of a message, with a signature for each key: two for a day after a rotation."""
    return {
        "Content-Type": "application/json",
        "User-Agent": "Heartwood-Webhooks",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(key, message_id, timestamp, body) for key in keys),
    }
