"""Times and IDs as text that sorts chronologically."""

from datetime import UTC, date, datetime, timedelta
from typing import NewType

from ulid import ULID

Time = NewType("Time", str)
Day = NewType("Day", str)

TIME_WITHOUT_DIGITS = b"0000-00-00T00:00:00.000Z"
DIGITS = bytes.maketrans(b"123456789", b"000000000")


def as_time(moment: datetime) -> Time:
    utc = moment.astimezone(UTC)
    return Time(f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z".rjust(24, "0"))


def now() -> Time:
    return as_time(datetime.now(UTC))


def now_after(time: Time) -> Time:
    """Returns now or, if that is not later than `time`, a millisecond after `time`."""
    moment = now()
    return (
        moment
        if moment > time or not is_time(time)
        else as_time(datetime.fromisoformat(time) + timedelta(milliseconds=1))
    )


def parse_time(text: str) -> Time:
    """Parses an ISO 8601 time with an offset. Raises ValueError that says how to write it."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        return as_time(moment)
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:40]!r} is not a time with an offset; write it like 2026-01-31T12:00:00Z") from None


def parse_day(text: str) -> Day:
    """Parses a day. Raises ValueError that says how to write it."""
    try:
        if date.fromisoformat(text).isoformat() != text:
            raise ValueError
        return Day(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a day; write it like 2026-01-31") from None


def is_time(text: str) -> bool:
    # Several times faster than a regular expression; responses contain many times.
    return text.isascii() and text.encode().translate(DIGITS) == TIME_WITHOUT_DIGITS


def epoch_seconds(time: Time) -> int:
    return int(datetime.fromisoformat(time).timestamp())


def time_from_now(delta: timedelta) -> Time:
    return as_time(datetime.now(UTC) + delta)


def next_full(seconds: int) -> Time:
    """Returns the next multiple of this many seconds."""
    passed = int(datetime.now(UTC).timestamp()) // seconds
    return as_time(datetime.fromtimestamp((passed + 1) * seconds, UTC))


def seconds_from_now(delta: timedelta) -> int:
    """Returns the Unix time `delta` from now, as DynamoDB's TTL attribute expects."""
    return int((datetime.now(UTC) + delta).timestamp())


def new_id() -> str:
    return str(ULID())
