"""What people and agents are told when the form of an answer lacks something.

One table for all places in which it is said: the note behind a command, the
hint in the file, the minutes, the prompt that asks once more.

Source: DL-013, DL-015.
"""

from __future__ import annotations

_WORDS: dict[str, dict[str, str]] = {
    "en": {
        "no-form": "no part of the form was found",
        "two-forms": "two answers that contradict each other, and neither is marked as the last",
        "no-position": "no position",
        "no-confidence": "no confidence from 1 to 5",
        "bad-confidence": "a confidence that is not from 1 to 5",
        "bad-stance": "no stance towards {agent} that is agree, partial or disagree",
        "two-stances": "two stances towards {agent}",
        "unknown-agent": "somebody who does not take part",
        "missing-response": "no response to {agent}",
        "found": "{said} (found: {found})",
    },
    "fr": {
        "no-form": "aucune partie de la forme n'a été trouvée",
        "two-forms": "deux réponses qui se contredisent ; aucune n'est marquée comme la dernière",
        "no-position": "pas de position",
        "no-confidence": "pas de confiance de 1 à 5",
        "bad-confidence": "une confiance qui n'est pas de 1 à 5",
        "bad-stance": "pas d'avis envers {agent} : d'accord, en partie ou pas d'accord",
        "two-stances": "deux avis envers {agent}",
        "unknown-agent": "quelqu'un qui ne participe pas",
        "missing-response": "pas de réponse à {agent}",
        "found": "{said} (trouvé : {found})",
    },
}


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
    words = _WORDS.get(lang, _WORDS["en"])
    said = words.get(code, code.replace("-", " ")).format(agent=agent)
    return words["found"].format(said=said, found=found) if found else said
