"""The expressions that the table client renders, evaluated on items in memory."""

import re
from functools import lru_cache

TOKEN = re.compile(r"\s*([#:]\w+|[A-Za-z_]+|<>|>=|<=|[=<>(),])")
COMPARE = {
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "<=": lambda one, other: one <= other,
}


@lru_cache(1000)
def _parsed(text):
    tokens = TOKEN.findall(text)
    tree = _either(tokens)
    assert not tokens, text
    return tree


def _either(tokens):
    left = _both(tokens)
    while tokens and tokens[0] == "OR":
        tokens.pop(0)
        left = ("OR", left, _both(tokens))
    return left


def _both(tokens):
    left = _one(tokens)
    while tokens and tokens[0] == "AND":
        tokens.pop(0)
        left = ("AND", left, _one(tokens))
    return left


def _one(tokens):
    first = tokens.pop(0)
    if first == "(":
        inner = _either(tokens)
        assert tokens.pop(0) == ")"
        return inner
    if first in ("attribute_exists", "attribute_not_exists", "begins_with"):
        assert tokens.pop(0) == "("
        operands = [tokens.pop(0)]
        while tokens.pop(0) == ",":
            operands.append(tokens.pop(0))
        return (first, *operands)
    operator = tokens.pop(0)
    if operator == "BETWEEN":
        low, _, high = tokens.pop(0), tokens.pop(0), tokens.pop(0)
        return ("AND", (">=", first, low), ("<=", first, high))
    return (operator, first, tokens.pop(0))


def plain(value):
    (kind, inner), *_ = value.items()
    return float(inner) if kind == "N" else inner


def holds(text, names, values, item):
    """Returns True if the condition holds for the item."""

    def operand(token):
        found = values[token] if token.startswith(":") else item.get(names[token])
        return None if found is None else plain(found)

    def check(tree):
        operator, first, *rest = tree
        if operator == "AND":
            return check(first) and check(rest[0])
        if operator == "OR":
            return check(first) or check(rest[0])
        if operator == "attribute_exists":
            return names[first] in item
        if operator == "attribute_not_exists":
            return names[first] not in item
        left, right = operand(first), operand(rest[0])
        if operator == "begins_with":
            return left is not None and left.startswith(right)
        return left is not None and COMPARE[operator](left, right)

    return text is None or check(_parsed(text))


@lru_cache(1000)
def _clauses(text):
    """Returns the name and the value of each assignment, and of each addition, and the removed names."""
    parts = re.split(r"\s*\b(SET|ADD|REMOVE)\b\s*", text)[1:]
    clauses = dict(zip(parts[::2], parts[1::2], strict=True))
    sets = [tuple(part.split(" = ")) for part in clauses.get("SET", "").split(", ") if part]
    adds = [tuple(part.split(" ")) for part in clauses.get("ADD", "").split(", ") if part]
    return sets, adds, [part for part in clauses.get("REMOVE", "").split(", ") if part]


def updated(text, names, values, item):
    """Returns the item after an update."""
    item = dict(item)
    sets, adds, removes = _clauses(text)
    for name, value in sets:
        item[names[name]] = values[value]
    for name, value in adds:
        before = item.get(names[name], {"N": "0"})
        item[names[name]] = {"N": str(int(before["N"]) + int(values[value]["N"]))}
    for name in removes:
        item.pop(names[name], None)
    return item
