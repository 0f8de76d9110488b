"""Every code of an error or a problem: what it means, and what the client should do."""

from enum import StrEnum


class ErrorCode(StrEnum):
    """The `extensions.code` of an error. `ProblemCode` lists those that are the `code` of a problem, too.

    Members are declared as `NAME = "NAME", "Meaning.", "What to do.", status, retryable`. `status` is that of a
    response whose only error stands for the whole request; 0 if the code never does. `retryable` is True if the same
    request may succeed later.
    """

    meaning: str
    action: str
    status: int
    retryable: bool

    def __new__(cls, value: str, meaning: str, action: str, status: int = 0, retryable: bool = False) -> "ErrorCode":
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        member.action = action
        member.status = status
        member.retryable = retryable
        return member

    @property
    def choice(self) -> tuple[str, str]:
        """The declaration of the same code in an enum of the schema."""
        return self.value, f"{self.meaning} {self.action}"

    BAD_REQUEST = (
        "BAD_REQUEST",
        "The HTTP request is not a GraphQL request, or one of its headers is malformed.",
        "Send what the message says.",
        400,
    )
    INVALID_QUERY = (
        "INVALID_QUERY",
        "The document has a syntax error, does not match the schema, or has no such operation.",
        "Fix the document at `locations`.",
        400,
    )
    INVALID = (
        "INVALID",
        "An argument, a variable or the input of a mutation is invalid.",
        "Fix the value. The message says what is allowed; `path` says where.",
        400,
    )
    OVER_LIMIT = (
        "OVER_LIMIT",
        "The document, its variables or the response exceed a limit.",
        "Ask for less, or in several requests. The message names the limit.",
        400,
    )
    UNKNOWN_TENANT = (
        "UNKNOWN_TENANT",
        "The `x-tenant-id` header does not name a tenant.",
        "Fix the header, or leave it out.",
        400,
    )
    TOKEN_INVALID = (
        "TOKEN_INVALID",
        "The `Authorization` header is not a bearer token of this server.",
        "Send the token that `logIn` or `signUp` returned, unchanged.",
        401,
    )
    TOKEN_EXPIRED = (
        "TOKEN_EXPIRED",
        "The token has expired, or a new password, `signOutEverywhere` or the deletion of the account ended it.",
        "Log in again, then repeat the request with the new token.",
        401,
    )
    UNAUTHENTICATED = (
        "UNAUTHENTICATED",
        "Requires a signed-in viewer.",
        "Log in, then send `Authorization: Bearer <token>`.",
        401,
    )
    FORBIDDEN = (
        "FORBIDDEN",
        "The viewer is not allowed to do this.",
        "Use an account or a token with the role that the message names.",
        403,
    )
    NOT_FOUND = (
        "NOT_FOUND",
        "The object does not exist, or the viewer may not see it. With status 404, there is no such page.",
        "Check the ID or the path.",
        404,
    )
    METHOD_NOT_ALLOWED = (
        "METHOD_NOT_ALLOWED",
        "The path does not take this HTTP method. A GET request can only read.",
        "Use a method of the `Allow` header. Send mutations by POST.",
        405,
    )
    NOT_ACCEPTABLE = (
        "NOT_ACCEPTABLE",
        "The `Accept` header allows no media type of this server.",
        "Accept `application/graphql-response+json` or `application/json`.",
        406,
    )
    TIMEOUT = (
        "TIMEOUT",
        "The request took too long to run and was ended, or its body took too long to arrive (status 408).",
        "Ask for less. If a mutation was ended, `extensions.outcome` says whether it was applied.",
        408,
    )
    TOO_LARGE = ("TOO_LARGE", "The body of the request is too large.", "Send less, or in several requests.", 413)
    URL_TOO_LONG = ("URL_TOO_LONG", "The URL is too long.", "Send the query by POST.", 414)
    UNSUPPORTED_MEDIA_TYPE = (
        "UNSUPPORTED_MEDIA_TYPE",
        "The body is not sent as JSON in UTF-8.",
        "Send `Content-Type: application/json`.",
        415,
    )
    RATE_LIMITED = (
        "RATE_LIMITED",
        "A rate limit is used up.",
        "Wait for `retryAfter` seconds, then send the same request again.",
        429,
        True,
    )
    HEADERS_TOO_LARGE = ("HEADERS_TOO_LARGE", "The headers are too large or too many.", "Send fewer.", 431)
    INTERNAL = (
        "INTERNAL",
        "A bug in the server.",
        "Report the `id` of the error.",
        500,
    )
    DAMAGED = (
        "DAMAGED",
        "A stored record is damaged. Lists leave such records out.",
        "Do not repeat the request. The operators find the record in the server's log.",
    )
    UNAVAILABLE = (
        "UNAVAILABLE",
        "The database or another service does not respond, or the server is overloaded.",
        "Send the same request again, after `retryAfter` seconds if given. Not if `retryable` is false: a mutation may "
        "have been applied.",
        503,
        True,
    )
    TAKEN = ("TAKEN", "The value is taken.", "Choose another value.")
    CONFLICT = ("CONFLICT", "It changed in the meantime.", "Read it again, then decide whether to repeat the mutation.")
    WARNING = ("WARNING", "The input looks wrong.", "Check it. The message says how to do it anyway.")
    IDEMPOTENCY_KEY_REUSED = (
        "IDEMPOTENCY_KEY_REUSED",
        "The `Idempotency-Key` was used for another request.",
        "Send a new key with every new request.",
    )
