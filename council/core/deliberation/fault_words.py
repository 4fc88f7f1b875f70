"""What is said to people and agents when the form of an answer lacks something.

One table for all places in which it is said: the note behind a command, the
hint in the file, the minutes, the prompt that asks once more.

Source: DL-013, DL-015.
"""

from __future__ import annotations

from council.core.reading import rows
from council.core.reporting.sentences import words_in

_WORDS = rows("""
no-form || no part of the form was found || aucune partie de la forme n'a été trouvée
two-forms || two answers that contradict each other, and neither is marked as the last
    || deux réponses qui se contredisent ; aucune n'est marquée comme la dernière
no-position || no position || pas de position
no-confidence || no confidence from 1 to 5 || pas de confiance de 1 à 5
bad-confidence || a confidence that is not from 1 to 5 || une confiance qui n'est pas de 1 à 5
bad-stance || no stance towards {agent} that is agree, partial or disagree
    || pas d'avis envers {agent} : d'accord, en partie ou pas d'accord
two-stances || two stances towards {agent} || deux avis envers {agent}
unknown-agent || somebody who does not take part || quelqu'un qui ne participe pas
missing-response || no response to {agent} || pas de réponse à {agent}
found || {said} (found: {found}) || {said} (trouvé : {found})
""")


def fault_in_words(code: str, lang: str, *, agent: str = "", found: str = "") -> str:
    """Return one fault of an answer's form in words.

    Args:
        code: The fault, such as `no-position`.
        lang: `en` or `fr`; anything else is taken as `en`.
        agent: Whom it concerns, as that agent is called where it is said.
        found: What was found instead, fit to stand in that place; "" to leave it out.

    >>> fault_in_words("bad-stance", "en", agent="@gpt", found="ok")
    'no stance towards @gpt that is agree, partial or disagree (found: ok)'
    """
    words = words_in(lang, _WORDS)
    said = words.get(code, code.replace("-", " ")).format(agent=agent)
    return words["found"].format(said=said, found=found) if found else said
