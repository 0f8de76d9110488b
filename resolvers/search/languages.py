"""Languages of texts: recognized by script and by their most frequent words."""

import re
import unicodedata
from collections import Counter

ALGORITHMS = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "da": "danish", "nl": "dutch", "en": "english",
    "eo": "esperanto", "et": "estonian", "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "es": "spanish",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish", "pl": "polish",
}  # fmt: skip
"""Snowball stemmers, by the code of the language."""

# Without accents, as they are compared.
STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "a an and are as at be been but by can do does for from had has have he her his how i if in into is "
        "it its me my no not of on or our out she so than that the their them then there these they this to "
        "up us was we were what when where which who why will with would you your",
        "de": "aber als am an auch auf aus bei bin bis da das dass dem den der des die doch du durch ein eine einem "
        "einen einer eines er es fur hat ich ihr im in ist ja kann man mit nach nicht noch nur oder sein sich "
        "sie sind so uber um und uns vom von vor war was wenn wer wie wir wird zu zum zur",
        "fr": "a au aux avec ce ces cette comment dans de des du elle en est et il ils je la le les leur lui ma "
        "mais me meme mes moi mon ne nos notre nous on ou par pas plus pour qu que qui quoi sa se ses son "
        "sont sur ta te tu un une vos votre vous",
        "es": "a al como con cual de del desde donde el ella ellos en entre era es esta este esto ha hay la las le "
        "lo los mas me mi muy no nos o para pero por porque que quien se sin sobre son su sus te tu un una "
        "uno y ya",
        "it": "a ad al alla che chi ci come con cosa da dal dalla dei del della delle di dove e gli ha i il in io "
        "la le lo ma mi ne nei nel nella non o per perche piu quale quando questo se si sono su sul tra un "
        "una uno",
        "pt": "a ao aos as com como da das de do dos e ela ele em entre era essa esta este eu foi ha isso ja la "
        "mais mas me meu muito na nao nas no nos o os ou para pela pelo por qual quando que quem sao se sem "
        "seu sua tambem um uma",
        "nl": "aan al als bij dan dat de deze die dit door een en er haar had heb heeft het hij hoe ik in is je kan "
        "maar meer met mijn na naar niet nog of om onder ook op over te tot uit van veel voor waar wat we wel "
        "wordt zijn zo",
        "sv": "alla an ar att av bli da de den det dig din du eller en ett for fran han har hon hur i inte jag kan "
        "man med men mig min nar nu och om pa sa sig sin ska som till under upp ut vad var vi vid",
        "da": "af alle at da de den der det dig din dog du efter eller en er et for fra han har havde hun hvad hvor "
        "i ikke jeg kan man med men mig min nar nu og om op over pa sig skal som til ud under var ved vi vil",
        "no": "alle at av da de deg den der det din du eller en er et etter for fra ha han har hun hva hvor hvordan "
        "i ikke jeg kan man med meg men min na nar og om opp over pa seg skal som til ut var ved vi vil",
        "fi": "ei ette han he ja joka jonka jos ka kanssa kuin kun me mika mina mita mutta myos ne niin nyt olen "
        "oli on ovat se sen siina sina tai tama te vain voi",
        "hu": "a ahogy ami az azt be csak de egy el es ez ezt fel ha hogy hogyan is itt kell ki le lehet lesz meg "
        "mert mi mint most nagy nem o ott sem szerint ugy utan vagy van volt",
        "ro": "a acest al ale am ar are ca care ce cu cum da de din dupa e este fi fie in intre la le lui mai nu o "
        "pe pentru prin sa sau se si sunt un una unei unui va",
        "tr": "ama bir biz bu cok da daha de degil en gibi hem her icin ile ise kadar ki mi mu nasil ne o olan "
        "olarak sen siz ve veya ya",
        "pl": "a aby albo ale bo by byc byl co czy dla do gdy go i ich jak jako jest juz ktora ktory ma mi na nad "
        "nie o od on oraz po pod sa sie ta tak to tylko w we z za ze",
        "ca": "a al als amb aquest com de del dels el els en es esta i la les li mes no nos o on pel per pero que "
        "qui se si son un una",
        "id": "ada adalah akan atau dalam dan dari dengan di ini itu jika juga kami ke oleh pada saya tidak untuk yang",
        "ru": "а без бы был в вы где да для до его ее если есть же за и из или им к как когда ли мне мы на не но о "
        "он она они от по при с свои так то только ты у уже что чтобы это я",
        "el": "αλλα αν απο για δε δεν ειναι ενα η θα και κατα με μετα να ο οι οταν που προσ σε στη στην στο τα τη "
        "την τησ το τον του των ωσ",
        "ar": "الى ان او اي على عن في كان لا ما مع من هذا هذه هو هي و",
        "hi": "एक और कर का की के को तो था नही पर भी में यह से है हैं",
    }.items()
}

_SCRIPTS = {
    "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "ARMENIAN": "hy", "DEVANAGARI": "hi", "TAMIL": "ta",
    "HEBREW": "he", "HANGUL": "ko", "HIRAGANA": "ja", "KATAKANA": "ja", "CJK": "zh", "THAI": "th",
}  # fmt: skip
_LATIN = [language for language in STOP_WORDS if language not in _SCRIPTS.values()]
# So much of a text tells its language.
LOOKED_AT = 600
_words = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str | None:
    """Returns the code of the language of a text, None if it cannot be told."""
    text = text[:LOOKED_AT]
    letters = [letter for letter in text if letter.isalpha()]
    if not letters:
        return None
    if not text.isascii():
        scripts = Counter(unicodedata.name(letter, "?").partition(" ")[0] for letter in letters)
        script, count = scripts.most_common(1)[0]
        if "HIRAGANA" in scripts and script == "CJK":
            return "ja"
        if script in _SCRIPTS and count * 2 > len(letters):
            return _SCRIPTS[script]
    counts = Counter(_plain(word) for word in _words.findall(text))
    scores = {
        language: sum(count for word, count in counts.items() if word in STOP_WORDS[language]) for language in _LATIN
    }
    best = max(scores, key=lambda language: scores[language])
    # English comes first, so it wins a tie.
    return best if scores[best] else None


def _plain(word: str) -> str:
    if word.isascii():
        return word.lower()
    return "".join(letter for letter in unicodedata.normalize("NFKD", word.casefold()) if letter.isalnum())
