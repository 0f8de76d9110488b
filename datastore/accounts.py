"""People, and what keeps their names unique and their passwords from being guessed."""

from datastore.model.entity import Entity, PlainItem, Value, field
from datastore.model.ownership import nobody, user
from datastore.model.patterns import gsi1, gsi2, gsi3, gsi4
from datastore.model.times import Time


class Image(Value):
    """A picture on the web."""

    url: str = field("Where it is.")
    size: str | None = field("How large it is, such as large or small.", default=None)


class ProfileImages(Value):
    """The pictures on somebody's profile."""

    avatar: Image | None = field("The picture beside the name.", default=None)


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
    """A person, known by the same account in every application."""

    by_username = gsi1("USERNAME#{username}", "USER")
    by_email = gsi2("EMAIL#{email}", "USER")
    by_id = gsi3("USER#{user_id}", "PROFILE")
    by_time = gsi4("TYPE#USER", "{created_at}#{user_id}")

    user_id: str = field("The permanent identifier: a ULID, a UUID or a DID.")
    username: str = field("The unique name others find this person by.")
    email: str = field("The unique e-mail address; shown to its owner and to administrators only.", private=True)
    email_verified_at: Time | None = field(
        "When it was proven that this person reads mail sent to that address; null again once it changes.",
        default=None,
        private=True,
    )
    password_hash: str | None = field("bcrypt, for local sign-in only.", default=None, private=True)
    external_subject: str | None = field("Who this is at the identity provider.", default=None, private=True)
    bluesky_handle: str | None = field("The handle on Bluesky.", default=None)
    bluesky_did: str | None = field("The decentralised identifier on Bluesky.", default=None)
    display_name: str | None = field("The name to show, where there is one.", default=None)
    profile_images: ProfileImages | None = field("Pictures of this person.", default=None)
    bio: str | None = field("A few words about oneself.", default=None)
    follower_count: int = field("How many people follow this person.", default=0)
    following_count: int = field("How many people this person follows.", default=0)
    post_count: int = field("How many posts this person has published.", default=0)
    deleted_at: Time | None = field(
        "When the account was deleted; only its owner sees it from then on, and can restore it for 30 days.",
        default=None,
    )


class HiddenAccount(
    Entity,
    pk="ACCOUNTS#HIDDEN",
    sk="USER#{user_id}",
    owner=nobody("jobs delete it: the one that marked the last work, or the one that purges the account"),
):
    """An account that was deleted a moment ago. Until all its works are marked, every server hides them by this."""

    user_id: str = field("The ID of the account.")
    deleted_at: Time = field("When the account was deleted.")


class Unique(
    Entity,
    pk="UNIQUE#{kind}#{value}",
    sk="UNIQUE",
    owner=nobody("released with the record in `ownerId`, by the code that deletes it"),
):
    """A guard: whoever writes it owns the value, because no key exists twice."""

    kind: str = field("What is unique: username, email, …")
    value: str = field("The value that is taken.")
    owner_id: str = field("The record that took it.")


class SignInFailures(
    Entity,
    pk="SIGNIN#{subject}",
    sk="FAILURES",
    owner=nobody("it names no account, and expires within minutes"),
):
    """How often signing in failed lately, or mail was asked for, for one subject: an account, an address, both."""

    subject: str = field("A digest of whom this counts for.")
    count: int = field("Attempts since the first one.", default=0)
