"""Every DynamoDB error maps to one of ours, and the docstring shows the actual tree."""

import inspect
import re

import botocore.session
import pytest

from datastore.client import errors
from datastore.client.errors import (
    BY_NAME,
    Conflict,
    Contended,
    DatastoreError,
    Denied,
    Failure,
    Rejected,
    Retryable,
    TableMissing,
    Throttled,
    TooLarge,
    Unavailable,
    error_from_answer,
)
from datastore.client.transport import READS, WRITES

V20120810 = "com.amazonaws.dynamodb.v20120810"
CORAL = "com.amazon.coral.validate"

SERVICE = botocore.session.get_session().get_service_model("dynamodb")


@pytest.mark.parametrize("operation", sorted(READS | WRITES))
def test_every_error_of_an_operation_in_use_is_mapped(operation):
    shapes = SERVICE.operation_model(operation).error_shapes
    names = {shape.name for shape in shapes} | {shape.error_code for shape in shapes if shape.error_code}
    assert names, "botocore lists no errors: this test checks nothing"
    assert names - BY_NAME.keys() == set()


def test_what_is_mapped_is_mapped_to_one_of_ours():
    assert {kind for kind in BY_NAME.values() if not issubclass(kind, DatastoreError)} == set()


def tree_in_docstring() -> dict[str, str | None]:
    """Returns each class and its parent, by indentation."""
    parents: dict[str, str | None] = {}
    above: list[tuple[int, str]] = []
    for line in inspect.getdoc(errors).splitlines():
        drawn = re.match(r"^([ │├└─]*)([A-Z]\w+)(?: {2,}|$)", line)
        if drawn:
            depth, name = len(drawn[1]), drawn[2]
            above = [entry for entry in above if entry[0] < depth]
            parents[name] = above[-1][1] if above else None
            above.append((depth, name))
    return parents


def test_the_tree_in_the_docstring_is_the_tree():
    defined = {
        name: None if kind is DatastoreError else kind.__base__.__name__
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception)
    }
    assert tree_in_docstring() == defined


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kind in BY_NAME.items() if kind is not Conflict])
@pytest.mark.parametrize("namespace", ["", f"{V20120810}#", f"{CORAL}#"], ids=["bare", "dynamodb", "coral"])
def test_an_error_is_known_by_its_name_whatever_its_namespace(namespace, name, kind):
    error = error_from_answer(400, {"__type": f"{namespace}{name}", "message": "no"})
    assert type(error) is kind
    assert str(error) == f"{name}: no"


@pytest.mark.parametrize(
    ("status", "answer", "kind", "message"),
    [
        (500, {}, Unavailable, "HTTP 500"),
        (503, {"__type": "Brandnew", "message": "later"}, Unavailable, "Brandnew: later"),
        (400, {}, Rejected, "HTTP 400"),
        (400, {"__type": "Brandnew", "message": "no"}, Rejected, "Brandnew: no"),
        (413, {"__type": "Brandnew"}, Rejected, "Brandnew"),
        (429, {"__type": "Brandnew"}, Throttled, "Brandnew"),
        (400, {"__type": f"{V20120810}#AccessDeniedException", "Message": "not you"}, Denied, None),
        (400, {"__type": "ResourceNotFoundException", "message": "no table"}, TableMissing, None),
        (500, {"__type": "ValidationException", "message": "odd"}, Rejected, "ValidationException: odd"),
        (400, {"__type": "ValidationException"}, Rejected, "ValidationException"),
        (400, {"__type": "ValidationException", "message": "A ValidationException"}, Rejected, "A ValidationException"),
    ],
    ids=[
        "5xx of no name",
        "5xx of an unknown name",
        "4xx of no name",
        "4xx of an unknown name",
        "413 of an unknown name",
        "429 of an unknown name",
        "Message with a capital",
        "no table",
        "a known name outweighs the status",
        "no message",
        "name in the message",
    ],
)
def test_an_answer_becomes_an_error(status, answer, kind, message):
    error = error_from_answer(status, answer)
    assert type(error) is kind
    assert message is None or str(error) == message


def cancelled(*reasons: dict) -> dict:
    codes = ", ".join(reason["Code"] for reason in reasons)
    return {
        "__type": f"{V20120810}#TransactionCanceledException",
        "Message": f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        "CancellationReasons": list(reasons),
    }


SIZE_MESSAGES = {
    "item": "Item size has exceeded the maximum allowed size",
    "item after an update": "Item size to update has exceeded the maximum allowed size",
    "partition key": "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit "
    "of2048 bytes",
    "sort key": "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size "
    "limit of 1024 bytes",
}


@pytest.mark.parametrize("message", SIZE_MESSAGES.values(), ids=SIZE_MESSAGES)
def test_what_is_over_a_limit_is_too_large(message):
    assert type(error_from_answer(400, {"__type": f"{CORAL}#ValidationException", "message": message})) is TooLarge


@pytest.mark.parametrize("message", SIZE_MESSAGES.values(), ids=SIZE_MESSAGES)
def test_what_is_over_a_limit_in_a_transaction_is_too_large(message):
    answer = cancelled({"Code": "None"}, {"Code": "ValidationError", "Message": message})
    assert type(error_from_answer(400, answer)) is TooLarge


def test_a_failed_condition_is_a_conflict():
    answer = {"__type": f"{V20120810}#ConditionalCheckFailedException", "message": "The conditional request failed"}
    error = error_from_answer(400, answer)
    assert type(error) is Conflict
    assert str(error) == "The conditional request failed"
    assert error.failures == ()


@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        (["ConditionalCheckFailed"], Conflict),
        (["None", "ConditionalCheckFailed"], Conflict),
        (["DuplicateItem"], Conflict),
        (["TransactionConflict"], Contended),
        (["None", "TransactionConflict", "ThrottlingError"], Throttled),
        (["ProvisionedThroughputExceeded", "None"], Throttled),
        (["ProvisionedThroughputExceededException"], Throttled),
        (["TransactionConflict", "ConditionalCheckFailed"], Conflict),
        (["ThrottlingError", "None", "ConditionalCheckFailed"], Conflict),
        (["ItemCollectionSizeLimitExceeded", "None"], TooLarge),
        (["ValidationError", "None"], Rejected),
        (["ValidationError", "ConditionalCheckFailed"], Rejected),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value.__name__,
)
def test_a_cancelled_transaction_is_what_its_reasons_say(codes, kind):
    error = error_from_answer(400, cancelled(*({"Code": code} for code in codes)))
    assert type(error) is kind


def test_a_conflict_keeps_the_reasons_in_order():
    there = {"PK": {"S": "USER#ada"}}
    error = error_from_answer(
        400, cancelled({"Code": "None"}, {"Code": "ConditionalCheckFailed", "Message": "no", "Item": there})
    )
    assert error.failures == (Failure(None, "None"), Failure(None, "ConditionalCheckFailed", there))


def test_a_cancelled_transaction_without_reasons_is_a_conflict_that_names_no_write():
    error = error_from_answer(400, {"__type": "TransactionCanceledException", "message": "cancelled"})
    assert type(error) is Conflict
    assert error.failures == ()


def test_an_invalid_write_in_a_transaction_says_what_is_invalid():
    error = error_from_answer(400, cancelled({"Code": "None"}, {"Code": "ValidationError", "Message": "wrong type"}))
    assert type(error) is Rejected
    assert str(error) == "wrong type"


def test_a_conflict_names_the_very_write_that_failed():
    one, same_looking = ["a write"], ["a write"]
    conflict = Conflict("no", [Failure(one, "ConditionalCheckFailed")])
    assert one in conflict
    assert same_looking not in conflict


def test_only_what_may_be_tried_again_is_retryable():
    retryable = {name for name, kind in BY_NAME.items() if issubclass(kind, Retryable)}
    assert retryable == {
        "InternalFailure",
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }


@pytest.mark.parametrize(
    ("said", "may_have_applied"), [("database or disk is full", False), ("I/O error: disk I/O error", True)]
)
def test_a_full_disk_of_the_local_engine_is_said_as_such(said, may_have_applied):
    message = f"commit failed (backend: {said}) and rollback also failed"
    answer = {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": message}

    error = error_from_answer(500, answer)

    assert type(error) is errors.DiskFull
    assert str(error) == f"the disk of DATA_DIR is full, or it fails; free some space ({message})"
    assert error.may_have_applied is may_have_applied
