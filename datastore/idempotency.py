"""Mutations that were applied with an `Idempotency-Key`."""

from datastore.model.codec import JSON
from datastore.model.entity import Entity, field
from datastore.model.ownership import nobody


class Idempotency(
    Entity,
    pk="IDEMPOTENCY#{viewer}#{digest}",
    sk="REQUEST#{response_key}",
    owner=nobody("it names no account, holds no input, and expires within a day"),
    logged=False,
):
    """A mutation applied with an `Idempotency-Key`: repeating it within a day returns its payload again."""

    viewer: str = field("Keyed digest of the account or, without a token, of the request.")
    digest: str = field("Keyed digest of the `Idempotency-Key`.")
    response_key: str = field("Response key of the mutation field.")
    command: str = field("Name of the mutation.")
    input_digest: str = field("Keyed digest of the mutation, its input and the tenant.")
    results: JSON = field("Keys of the records in the payload.")
