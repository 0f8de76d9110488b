"""Closed sets of values, each with what it means."""

from enum import Enum


class Choice(Enum):
    """Members are written `NAME = "STORED", "What it means."`."""

    description: str

    def __new__(cls, value: str, description: str) -> "Choice":
        member = object.__new__(cls)
        member._value_ = value
        member.description = description
        return member
