"""Constraints of family trees. The length limits are also those of imported files."""

from resolvers.core.constraints import Constraint, HttpsUrl, Report, Text
from resolvers.genealogy.gedcom.limits import MAX_BIOGRAPHY, MAX_NAME, MAX_NOTES, MAX_PLACE

NAME = Text(at_most=MAX_NAME)
PLACE = Text(at_most=MAX_PLACE)
NOTES = Text(at_most=MAX_NOTES)
BIOGRAPHY = Text(at_most=MAX_BIOGRAPHY)


class PhotoUrl(Constraint):
    """An https URL. Empty text becomes None."""

    limit = HttpsUrl().limit

    def check(self, value: str, report: Report) -> str | None:
        return HttpsUrl().check(value, report) if value else None
