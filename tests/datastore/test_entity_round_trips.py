"""Any record is read as it was written."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datastore.accounts import Image, ProfileImages, User
from datastore.model.codec import COMPRESS_FROM, plain, wire
from datastore.model.times import Time
from tests.datastore.things import LATER, THEN, Color, EveryKind, Part, Size, decode

pytestmark = pytest.mark.usefixtures("things_registered")

KEY_TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="#"), min_size=1, max_size=30)
TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=60)
LONG_TEXT = TEXT | TEXT.map(lambda text: text + "ž" * COMPRESS_FROM)
TIMES = st.sampled_from([THEN, LATER, Time("0001-01-01T00:00:00.000Z"), Time("9999-12-31T23:59:59.999Z")])
INTEGERS = st.integers(-(2**31), 2**31 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SMALL_INTEGERS = st.integers(-(2**53), 2**53)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | SMALL_INTEGERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PARTS = st.builds(Part, part_name=TEXT, weight=st.none() | FLOATS, color=st.sampled_from(Color))
IMAGES = st.builds(Image, url=TEXT, size=st.none() | TEXT)
USERS = st.builds(
    User,
    created_at=TIMES,
    updated_at=TIMES,
    expires_at=st.none() | st.integers(0, 2**40),
    user_id=KEY_TEXT,
    username=KEY_TEXT,
    email=KEY_TEXT,
    password_hash=st.none() | TEXT,
    external_subject=st.none() | TEXT,
    bluesky_handle=st.none() | TEXT,
    bluesky_did=st.none() | TEXT,
    display_name=st.none() | TEXT,
    profile_images=st.none() | st.builds(ProfileImages, avatar=st.none() | IMAGES),
    bio=st.none() | TEXT,
    follower_count=INTEGERS,
    following_count=INTEGERS,
    post_count=INTEGERS,
    deleted_at=st.none() | TIMES,
)
EVERY_KIND = st.builds(
    EveryKind,
    created_at=TIMES,
    updated_at=TIMES,
    expires_at=st.none() | st.integers(0, 2**40),
    thing_id=KEY_TEXT,
    rank=INTEGERS,
    ratio=FLOATS,
    price=st.decimals(allow_nan=False, allow_infinity=False),
    is_open=st.booleans(),
    color=st.none() | st.sampled_from(Color),
    size=st.sampled_from(Size),
    seen_at=st.none() | TIMES,
    nickname=st.none() | TEXT,
    part=st.none() | PARTS,
    tags=st.lists(TEXT, max_size=3),
    parts=st.lists(PARTS, max_size=3),
    grid=st.lists(st.lists(INTEGERS, max_size=2), max_size=2),
    counts=st.dictionaries(TEXT, INTEGERS, max_size=3),
    parts_by_name=st.dictionaries(TEXT, PARTS, max_size=2),
    anything=JSON_VALUES,
    story=st.none() | LONG_TEXT,
    layout=JSON_VALUES,
)


@given(user=USERS)
def test_every_user_is_read_as_it_was_written(user):
    assert decode(user.encode()) == user


@given(user=USERS)
def test_every_user_is_read_the_same_through_the_slow_path(user):
    item = user.encode()
    del item["schemaVersion"]
    assert decode(item) == user


@given(record=EVERY_KIND)
def test_every_type_of_field_is_read_as_it_was_written(record):
    assert decode(record.encode()) == record


@given(record=EVERY_KIND)
def test_nothing_well_formed_takes_the_slow_path(record):
    projection = EveryKind.whole.items
    parsed = projection.parse(orjson.dumps(record.encode()))
    assert projection.from_parsed(parsed) == record
    assert projection.from_parsed(parsed).own_key == record.own_key


@given(value=JSON_VALUES)
def test_json_survives_dynamodbs_notation(value):
    assert plain(wire(value)) == value
