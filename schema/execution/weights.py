"""Fields that cost more than their records. The declarations of the schema fill it in."""

WEIGHTS: dict[tuple[str, str], int] = {}
"""Cost in records, by type and field. For a list without a page size, it is also the most it returns."""

# Cost of a heavy field for each record: it may be as large as dozens of records without it.
HEAVY = 20
# Assumed length of a list that has neither a page size nor a weight.
LISTED = 10
