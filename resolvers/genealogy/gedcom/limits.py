"""Length limits of mapped fields. Longer values are preserved verbatim.

Those of names, places, notes and biographies are also the API's.
"""

from resolvers.genealogy.gedcom.records import Record
from resolvers.genealogy.gedcom.report import Report

MAX_NAME = 200
MAX_PLACE = 300
MAX_DATE = 240
MAX_URL = 2_000
MAX_NOTES = 2_000
MAX_BIOGRAPHY = 50_000
LONGEST = {"PLAC": MAX_PLACE, "DATE": MAX_DATE, "NAME": 3 * MAX_NAME, "GIVN": MAX_NAME, "SURN": MAX_NAME}
EVENTS = {"NAME", "BIRT", "DEAT", "MARR", "DIV", "ADOP"}


def fits(tag: str, value: str) -> bool:
    return tag not in LONGEST or len(value) <= LONGEST[tag]


def tell_long(record: Record, report: Report) -> None:
    """Reports every detail that exceeds its field's limit."""
    for event in record.children:
        if event.tag in EVENTS:
            for detail in (event, *event.children):
                if not fits(detail.tag, detail.value):
                    reason = f"It has over {LONGEST[detail.tag]} characters. It is preserved but not shown."
                    report.repair(detail.line, detail.tag, reason, detail.value)
