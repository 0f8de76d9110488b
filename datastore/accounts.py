"""Users, guards of unique values, and rate-limit counters."""

from datastore.model.entity import Entity, PlainItem, Value, field, own_id
from datastore.model.ownership import nobody, user
from datastore.model.patterns import gsi1, gsi2, gsi3, gsi4
from datastore.model.times import Time


class Image(Value):
    """An image on the web."""

    url: str = field("URL of the image.")
    size: str | None = field("Size, such as large or small.", default=None)


class ProfileImages(Value):
    """The images of a user's profile."""

    avatar: Image | None = field("Avatar.", default=None)


def avatar_url_to_profile_images(item: PlainItem) -> None:
    """Version 1 had one `avatarUrl`."""
    avatar_url = item.pop("avatarUrl", None)
    if avatar_url and "profileImages" not in item:
        item["profileImages"] = {"avatar": {"url": avatar_url}}


class User(
    Entity,
    pk="USER#{user_id}",
    sk="PROFILE",
    owner=user("user_id"),
    upgrades=(avatar_url_to_profile_images,),
    upgrades_read=("avatarUrl",),
):
    """A user account, shared by all applications."""

    by_username = gsi1("USERNAME#{username}", "USER")
    by_email = gsi2("EMAIL#{email}", "USER")
    by_id = gsi3("USER#{user_id}", "PROFILE")
    by_time = gsi4("TYPE#USER", "{created_at}#{user_id}")

    user_id: str = own_id("Permanent identifier: a ULID, a UUID or a DID.")
    username: str = field("Unique username.")
    email: str = field("Unique email address. Visible only to the user and administrators.", private=True)
    email_verified_at: Time | None = field(
        "Time the email address was verified. Null until then, and again after the address changes.",
        default=None,
        private=True,
    )
    password_hash: str | None = field(
        "bcrypt hash of the password, for local sign-in only.", default=None, private=True
    )
    token_epoch: int = field(
        "Time in milliseconds at which all earlier tokens of the account ended. 0 if none has.", default=0, private=True
    )
    external_subject: str | None = field("Subject at the identity provider.", default=None, private=True)
    bluesky_handle: str | None = field("Bluesky handle.", default=None)
    bluesky_did: str | None = field("Bluesky DID (decentralized identifier).", default=None)
    display_name: str | None = field("Display name.", default=None)
    profile_images: ProfileImages | None = field("Profile images.", default=None)
    bio: str | None = field("Short biography.", default=None)
    follower_count: int = field("Number of followers.", default=0)
    following_count: int = field("Number of users this user follows.", default=0)
    post_count: int = field("Number of published posts.", default=0)
    deleted_at: Time | None = field(
        "Time the account was deleted. From then on only its owner sees it, and can restore it for 30 days.",
        default=None,
    )


class HiddenAccount(
    Entity,
    pk="ACCOUNTS#HIDDEN",
    sk="USER#{user_id}",
    owner=nobody("jobs delete it: the one that marked the last work, or the one that purges the account"),
):
    """A recently deleted account. Until all its works are marked, servers hide them because of this record."""

    user_id: str = field("ID of the account.")
    deleted_at: Time = field("Time the account was deleted.")


class Unique(
    Entity,
    pk="UNIQUE#{kind}#{value}",
    sk="UNIQUE",
    owner=nobody("released with the record in `ownerId`, by the code that deletes it"),
    logged=False,
):
    """A guard of a unique value: its key exists once, so the record that writes it owns the value."""

    kind: str = field("Kind of value: username, email, …")
    value: str = field("The taken value.")
    owner_id: str = field("ID of the record that owns the value.")


class SignInFailures(
    Entity,
    pk="SIGNIN#{subject}",
    sk="FAILURES",
    owner=nobody("it names no account, and expires within an hour"),
    logged=False,
):
    """Rate-limit counter of failed sign-ins or requested mails, for an account, an address, or both."""

    subject: str = field("Digest of the account or address.")
    count: int = field("Number of attempts in the window.", default=0)


class KnownAddress(
    Entity,
    pk="SIGNIN#{subject}",
    sk="KNOWN",
    owner=nobody("it names no account, and expires 90 days after the last sign-in"),
    logged=False,
):
    """An address from which an account has signed in: guesses from elsewhere cannot lock the account there."""

    subject: str = field("Digest of the account and the address.")
