"""Errors of the datastore, mapped from DynamoDB's error names in one place.

DatastoreError
├── InvalidKey        a value that is not allowed in a key
├── CorruptItem       a stored item that does not match its entity
├── TableMissing      the table does not exist or is not ready
├── Conflict          a condition failed; names the write and the reason
├── TooLarge          an item, key or request over DynamoDB's limits
├── Rejected          an invalid request: a bug in Heartwood
├── Denied            credentials or permissions
│   └── BadSignature  a wrong secret, or a wrong clock
└── Retryable         a transient failure; retry the same request. `may_have_applied` is True if a write may be done
    ├── Throttled     over capacity
    │   └── Contended     in conflict with another transaction
    └── Unavailable   no response, or a server error
        ├── TimedOut      no response within the timeout of an attempt
        ├── CircuitOpen   not sent, because nearly all of the latest calls failed
        ├── DiskFull      the disk of the local engine is full
        └── WritesPaused  not sent, because operators move or restore the table
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class DatastoreError(Exception):
    """`may_have_applied` is True if the error ended a write that may have been done nevertheless."""

    may_have_applied = False


class InvalidKey(DatastoreError, ValueError):
    """`reason` says the same as the message without naming keys and their holes, so that a client may read it."""

    def __init__(self, message: str, reason: str = "a value cannot be part of a key; send another one") -> None:
        super().__init__(message)
        self.reason = reason


class CorruptItem(DatastoreError):
    """A damaged item, with its key."""

    def __init__(self, message: str, pk: str = "", sk: str = "") -> None:
        super().__init__(message)
        self.pk = pk
        self.sk = sk


class TableMissing(DatastoreError):
    pass


@dataclass(frozen=True)
class Failure:
    """The reason why one write of a transaction failed."""

    write: Any
    code: str
    item: Mapping[str, Any] | None = None


class Conflict(DatastoreError):
    """A failed condition. `write in conflict` is True if the condition of that write failed."""

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


class BadSignature(Denied):
    pass


class Retryable(DatastoreError):
    def __init__(self, message: str, *, may_have_applied: bool = False) -> None:
        super().__init__(message)
        self.may_have_applied = may_have_applied


class Throttled(Retryable):
    pass


class Contended(Throttled):
    pass


class Unavailable(Retryable):
    pass


class TimedOut(Unavailable):
    pass


class CircuitOpen(Unavailable):
    pass


# An earlier request with the same client token has not ended yet.
IN_PROGRESS = "TransactionInProgressException"


class DiskFull(Unavailable):
    pass


class WritesPaused(Unavailable):
    pass


BY_NAME: dict[str, type[DatastoreError]] = {
    "ConditionalCheckFailedException": Conflict,
    "TransactionCanceledException": Conflict,
    "IdempotentParameterMismatchException": Rejected,
    IN_PROGRESS: Contended,
    "TransactionConflictException": Contended,
    "ReplicatedWriteConflictException": Contended,
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
    "InvalidSignatureException": BadSignature,
    "SignatureDoesNotMatch": BadSignature,
    "RequestTimeTooSkewed": BadSignature,
    "RequestExpired": BadSignature,
    "RequestInTheFuture": BadSignature,
    "ExpiredTokenException": Denied,
    "ExpiredToken": Denied,
    "OptInRequired": Denied,
}

# Cancellation reasons that are transient.
CONTENTION = "TransactionConflict"
PASSING_REASONS = frozenset(
    {
        CONTENTION,
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
    }
)

# What SQLite says if a disk, or the quota of a user, is full.
_DISK_MESSAGES = ("database or disk is full", "disk I/O error")
# An update meets an attribute of another type than all records of the entity have.
_DAMAGE_MESSAGES = ("incorrect data type", "Type mismatch")
_SIZE_MESSAGES = ("has exceeded the", "size limit", "exceeds the limit", "larger than the maximum")


def error_from_answer(status: int, answer: Mapping[str, Any]) -> DatastoreError:
    """Maps an error response of DynamoDB to an exception."""
    name = str(answer.get("__type", "")).rpartition("#")[2]
    message = str(answer.get("message") or answer.get("Message") or name or f"HTTP {status}")
    kind = BY_NAME.get(name)
    if kind is None:
        kind = Unavailable if status >= 500 else Throttled if status == 429 else Rejected
    if kind is Conflict:
        return _conflict(message, answer)
    if kind is Rejected:
        kind = _rejection(message)
    text = f"{name}: {message}" if name and name not in message else message
    if kind is Unavailable and any(hint in message for hint in _DISK_MESSAGES):
        why = f"the disk of DATA_DIR is full, or it fails; free some space ({message})"
        # SQLite rolls back if the disk is full. After other failures of the disk, the commit may have been stored.
        return DiskFull(why, may_have_applied=_DISK_MESSAGES[0] not in message)
    if issubclass(kind, Retryable):
        return kind(text, may_have_applied=kind is Unavailable or name == IN_PROGRESS)
    return kind(text)


def _rejection(message: str) -> type[DatastoreError]:
    if any(hint in message for hint in _DAMAGE_MESSAGES):
        return CorruptItem
    return TooLarge if any(hint in message for hint in _SIZE_MESSAGES) else Rejected


def _conflict(message: str, answer: Mapping[str, Any]) -> DatastoreError:
    reasons = answer.get("CancellationReasons") or []
    codes = {reason.get("Code", "None") for reason in reasons} - {"None", None}
    if codes and codes <= PASSING_REASONS:
        return Contended(message) if codes == {CONTENTION} else Throttled(message)
    if "ItemCollectionSizeLimitExceeded" in codes:
        return TooLarge(message)
    if "ValidationError" in codes:
        why = "; ".join(str(reason.get("Message")) for reason in reasons if reason.get("Message"))
        return _rejection(why)(why)
    return Conflict(message, [Failure(None, reason.get("Code") or "None", reason.get("Item")) for reason in reasons])


def raise_first(outcomes: Sequence[BaseException | None]) -> None:
    """Raises the first failure of several writes. Others may have been applied."""
    failures = [outcome for outcome in outcomes if outcome is not None]
    if failures:
        failure = failures[0]
        if isinstance(failure, DatastoreError):
            failure.may_have_applied = len(failures) < len(outcomes) or any(map(_may_have_applied, failures))
        raise failure


def _may_have_applied(error: BaseException) -> bool:
    return isinstance(error, DatastoreError) and error.may_have_applied
