"""What is known of people and of what ties them, as closed sets."""

from datastore.choices import Choice


class Gender(Choice):
    """Which words are used for a person."""

    MALE = "MALE", "A man: father, son, husband."
    FEMALE = "FEMALE", "A woman: mother, daughter, wife."
    OTHER = "OTHER", "Neither: parent, child, spouse."
    UNKNOWN = "UNKNOWN", "Not known: parent, child, spouse."


class ParentageKind(Choice):
    """How somebody is a child's parent."""

    BIOLOGICAL = "BIOLOGICAL", "By birth."
    ADOPTIVE = "ADOPTIVE", "By adoption."
    STEP = "STEP", "As the spouse of a parent."
    FOSTER = "FOSTER", "By bringing the child up."


class MarriageStatus(Choice):
    """What became of a marriage or partnership."""

    MARRIED = "MARRIED", "They are together, or nothing else is known."
    DIVORCED = "DIVORCED", "They ended it."
    WIDOWED = "WIDOWED", "One of them died."
    SEPARATED = "SEPARATED", "They live apart and have not ended it."
    PARTNERS = "PARTNERS", "They are or were together, and nothing is said of a marriage."
