"""Everything that can go wrong below the resolvers, mapped from DynamoDB's own error names in one place.

DatastoreError
├── InvalidKey        a value that may not go into a key
├── CorruptItem       a stored item that does not fit its entity
├── TableMissing      no such table, or not usable yet
├── Conflict          a condition did not hold; says which write failed and why
├── TooLarge          an item, key or request over DynamoDB's limits
├── Rejected          a request DynamoDB does not understand: a bug of ours
├── Denied            credentials or permissions
└── Retryable         nothing is wrong with the request; try again
    ├── Throttled     over capacity, or losing a race with other transactions
    └── Unavailable   no answer, or an answer of its own failure
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class DatastoreError(Exception):
    pass


class InvalidKey(DatastoreError, ValueError):
    pass


class CorruptItem(DatastoreError):
    pass


class TableMissing(DatastoreError):
    pass


@dataclass(frozen=True)
class Failure:
    """Why one write of a transaction did not happen."""

    write: Any
    code: str
    item: Mapping[str, Any] | None = None


class Conflict(DatastoreError):
    """`write in conflict` tells whether that very write's condition failed."""

    def __init__(self, message: str, failures: Sequence[Failure] = ()) -> None:
        super().__init__(message)
        self.failures = tuple(failures)

    def __contains__(self, write: object) -> bool:
        return any(failure.write is write for failure in self.failures)


class TooLarge(DatastoreError):
    pass


class Rejected(DatastoreError):
    pass


class Denied(DatastoreError):
    pass


class Retryable(DatastoreError):
    pass


class Throttled(Retryable):
    pass


class Unavailable(Retryable):
    pass


BY_NAME: dict[str, type[DatastoreError]] = {
    "ConditionalCheckFailedException": Conflict,
    "TransactionCanceledException": Conflict,
    "IdempotentParameterMismatchException": Rejected,
    "TransactionInProgressException": Throttled,
    "TransactionConflictException": Throttled,
    "ReplicatedWriteConflictException": Throttled,
    "DuplicateItemException": Conflict,
    "ProvisionedThroughputExceededException": Throttled,
    "ThrottlingException": Throttled,
    "ThrottlingError": Throttled,
    "RequestLimitExceeded": Throttled,
    "LimitExceededException": Throttled,
    "InternalServerError": Unavailable,
    "InternalFailure": Unavailable,
    "ServiceUnavailable": Unavailable,
    "ServiceUnavailableException": Unavailable,
    "ResourceNotFoundException": TableMissing,
    "TableNotFoundException": TableMissing,
    "ResourceInUseException": TableMissing,
    "TableInUseException": TableMissing,
    "ItemCollectionSizeLimitExceededException": TooLarge,
    "RequestEntityTooLargeException": TooLarge,
    "ValidationException": Rejected,
    "SerializationException": Rejected,
    "UnknownOperationException": Rejected,
    "InvalidEndpointException": Rejected,
    "AccessDeniedException": Denied,
    "IncompleteSignatureException": Denied,
    "MissingAuthenticationToken": Denied,
    "MissingAuthenticationTokenException": Denied,
    "UnrecognizedClientException": Denied,
    "InvalidClientTokenId": Denied,
    "InvalidSignatureException": Denied,
    "SignatureDoesNotMatch": Denied,
    "ExpiredTokenException": Denied,
    "ExpiredToken": Denied,
    "OptInRequired": Denied,
}

# Reasons inside a cancelled transaction that say "again", not "no".
PASSING_REASONS = frozenset(
    {
        "TransactionConflict",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
    }
)

_SIZE_MESSAGES = ("has exceeded the", "size limit", "exceeds the limit", "larger than the maximum")


def error_from_answer(status: int, answer: Mapping[str, Any]) -> DatastoreError:
    """The one boundary between DynamoDB's error answers and ours."""
    name = str(answer.get("__type", "")).rpartition("#")[2]
    message = str(answer.get("message") or answer.get("Message") or name or f"HTTP {status}")
    kind = BY_NAME.get(name)
    if kind is None:
        kind = Unavailable if status >= 500 else Throttled if status == 429 else Rejected
    if kind is Conflict:
        return _conflict(message, answer)
    if kind is Rejected:
        kind = _rejection(message)
    return kind(f"{name}: {message}" if name and name not in message else message)


def _rejection(message: str) -> type[DatastoreError]:
    return TooLarge if any(hint in message for hint in _SIZE_MESSAGES) else Rejected


def _conflict(message: str, answer: Mapping[str, Any]) -> DatastoreError:
    reasons = answer.get("CancellationReasons") or []
    codes = {reason.get("Code", "None") for reason in reasons} - {"None", None}
    if codes and codes <= PASSING_REASONS:
        return Throttled(message)
    if "ItemCollectionSizeLimitExceeded" in codes:
        return TooLarge(message)
    if "ValidationError" in codes:
        why = "; ".join(str(reason.get("Message")) for reason in reasons if reason.get("Message"))
        return _rejection(why)(why)
    return Conflict(message, [Failure(None, reason.get("Code") or "None", reason.get("Item")) for reason in reasons])
