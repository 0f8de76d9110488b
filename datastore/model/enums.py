"""Enums with a description for each value."""

from enum import Enum


class Choice(Enum):
    """An enum whose members are declared as `NAME = "STORED", "Description."`."""

    description: str

    def __new__(cls, value: str, description: str) -> "Choice":
        member = object.__new__(cls)
        member._value_ = value
        member.description = description
        return member
