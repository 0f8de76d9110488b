"""A family with relatives of every kind."""

from datastore.genealogy import Gender, MarriageStatus, ParentageKind
from resolvers.genealogy.kinship.family import Family, Marriage, Member, Parentage

MALE, FEMALE, UNKNOWN = Gender.MALE, Gender.FEMALE, Gender.UNKNOWN
BIOLOGICAL, ADOPTIVE = ParentageKind.BIOLOGICAL, ParentageKind.ADOPTIVE
MARRIED, DIVORCED, WIDOWED = MarriageStatus.MARRIED, MarriageStatus.DIVORCED, MarriageStatus.WIDOWED
MEN = "adam bert carl cecil dan dirk eli emil erik fred fritz ingo jan noah otto paul ralph stan tom uwe ulf viktor"
WOMEN = "ada beth clara cora dora dina ella elsa frida greta nora olga rosa sara tina vera wanda"
NEITHER = "kim robin sam"
DEAD = "adam otto olga"
COUPLES = """
adam ada WIDOWED
bert beth MARRIED
carl clara MARRIED
cecil cora MARRIED
dan wanda DIVORCED
dan dora MARRIED
stan wanda MARRIED
dirk dina MARRIED
otto olga WIDOWED
eli ella MARRIED
viktor vera SEPARATED
noah nora MARRIED
sam robin DIVORCED
"""
# Carl and Cecil are brothers, and their wives Clara and Cora are sisters.
CHILDREN = """
BIOLOGICAL adam ada > bert tina
BIOLOGICAL bert beth > carl cecil rosa
BIOLOGICAL otto olga > clara cora
BIOLOGICAL carl clara > dan dina kim
BIOLOGICAL cecil cora > ralph vera
BIOLOGICAL rosa > sara
BIOLOGICAL sara > greta
BIOLOGICAL greta > tom
BIOLOGICAL dan wanda > eli
BIOLOGICAL dan dora > elsa emil
BIOLOGICAL stan > paul
BIOLOGICAL dirk dina > fritz frida
BIOLOGICAL eli ella > fred
BIOLOGICAL tina > uwe
BIOLOGICAL uwe > ulf
BIOLOGICAL fred > noah
BIOLOGICAL kim robin > erik
ADOPTIVE viktor vera > sam
STEP stan > ingo
FOSTER frida > ingo
"""


def a_family(couples: str, children: str) -> Family:
    """Returns a family. People who are not listed above are of unknown gender."""
    genders = dict.fromkeys(MEN.split(), MALE) | dict.fromkeys(WOMEN.split(), FEMALE)
    marriages = [
        Marriage(one, other, MarriageStatus(status)) for one, other, status in map(str.split, couples.splitlines()[1:])
    ]
    parentages = []
    for line in children.splitlines()[1:]:
        (kind, *parents), young = (side.split() for side in line.split(">"))
        parentages += [Parentage(parent, child, ParentageKind(kind)) for child in young for parent in parents]
    named = dict.fromkeys(name for link in [*parentages, *marriages] for name in link[:2])
    people = [Member(name, genders.get(name, UNKNOWN), deceased=name in DEAD.split()) for name in [*named, "jan"]]
    return Family(people, parentages, marriages)


FAMILY = a_family(COUPLES, CHILDREN)
