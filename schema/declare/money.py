"""GraphQL types of money."""

import strawberry

from datastore.model.codec import BigInt
from resolvers.core import money as core

AMOUNT = "Amount in the smallest unit of the currency, such as cents."
CURRENCY = "Currency code of ISO 4217, such as EUR. XXX if it is not known."


@strawberry.type(description="An amount of money.")
class Money:
    amount: BigInt = strawberry.field(description=AMOUNT)
    currency: str = strawberry.field(description=CURRENCY)


@strawberry.input(description="An amount of money.")
class MoneyInput:
    amount: BigInt = strawberry.field(description=AMOUNT)
    currency: str = strawberry.field(description=CURRENCY)


def read_money(given: MoneyInput) -> core.Money:
    return core.Money(given.amount, given.currency)
