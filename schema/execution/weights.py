"""Fields that cost more than their records. The declarations of the schema fill it in."""

from collections.abc import Mapping

WEIGHTS: dict[tuple[str, str], int] = {}
"""Cost in records, by type and field. For a list without a page size, it is also the most it returns."""

FILTERS: dict[tuple[str, str], Mapping[str, bool]] = {}
"""Arguments that filter without an index, by type and field; True if only when two of them are given."""

FILTER_NAMES: set[str] = set()
"""The names of all of them."""

# Cost of a page with such a filter: the most records that it reads.
FILTERED = 1_000
# Cost of a heavy field for each record: it may be as large as dozens of records without it.
HEAVY = 20
# Assumed length of a list that has neither a page size nor a weight.
LISTED = 10
