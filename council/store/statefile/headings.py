"""The fixed words of a conversation file in English and French, written and recognised.

Both languages are always read, in any case and with or without accents; the
conversation's language decides which is written. Each word has the key of
the item it names: `h:` for sections, `meta:`, `conv:`, `next:` for lines.

Source: C0-004, C0-009, C0-011 to C0-013, XC-012.
"""

from __future__ import annotations

import unicodedata

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "title": "Active conversation",
        "h:metadata": "Metadata",
        "h:brief": "Brief (immutable)",
        "h:participants": "Participants",
        "h:phase": "Responses - Phase",
        "round": "round",
        "h:late": "Late contributions",
        "h:guidance": "Guidance (injections)",
        "h:convergence": "Convergence",
        "h:next": "Next phase",
        "meta:id": "Conversation ID",
        "meta:mode": "Mode",
        "meta:phase": "Current phase",
        "meta:tour": "Round",
        "meta:created": "Created",
        "meta:updated": "Last updated",
        "meta:timeout": "Timeout",
        "meta:status": "Status",
        "meta:speaker": "Speaker",
        "conv:rate": "Response rate",
        "conv:consensus": "Convergence detected",
        "conv:blockers": "Blockers",
        "next:condition": "Passing condition",
        "next:actions": "Required actions",
        "yes": "yes",
        "no": "no",
        "none": "none",
        "late": "*{who}, {phase}, round {tour}: it came after the round was closed*",
        "guidance": "*{who} to {target}, round {tour}*",
        "draft": "*{who}, round {tour}: first answer; asked once more, it answered anew*",
        "everybody": "everybody",
        "when": "all answered or timeout",
        "when_written": "synthesis written or timeout",
        "when_spoken": "each has spoken or let its turn pass",
        "answers": "answer from {who}; then {phase}",
        "advance": "everybody has answered: council heartbeat goes on to {phase}",
        "synthesis": "synthesis from {who}; then the minutes",
        "floor": "{who} has the floor; then {after}",
        "turns": "turns of {who}; then the round is judged",
        "votes": "votes of {who}; then {phase}",
        "judged": "all have spoken: council heartbeat judges the round",
        "ended": "the rounds are over: council heartbeat goes on to {phase}",
        "close": "the round is judged",
        "until": "{who}, until {end}",
        "unjudged": "not judged yet",
        "verdict": (
            "{type}; with {who} {agree} agree, {partial} partly, {disagree} disagree, "
            "{absent} absent of {total}; {threshold} needed"
        ),
        "strong": "strong",
        "soft": "soft",
        "nobody": "nobody",
        "paused": "paused: council resume",
        "minutes": "the minutes: council heartbeat",
    },
    "fr": {
        "title": "Conversation Active",
        "h:metadata": "Métadonnées",
        "h:brief": "Brief (immuable)",
        "h:participants": "Participants",
        "h:phase": "Réponses - Phase",
        "round": "tour",
        "h:late": "Contributions tardives",
        "h:guidance": "Consignes (injections)",
        "h:convergence": "État de Convergence",
        "h:next": "Phase Suivante",
        "meta:id": "Conversation ID",
        "meta:mode": "Mode",
        "meta:phase": "Phase courante",
        "meta:tour": "Tour",
        "meta:created": "Créé",
        "meta:updated": "Dernière mise à jour",
        "meta:timeout": "Timeout",
        "meta:status": "Status",
        "meta:speaker": "Parole à",
        "conv:rate": "Taux de réponse",
        "conv:consensus": "Convergence détectée",
        "conv:blockers": "Blocages identifiés",
        "next:condition": "Condition de passage",
        "next:actions": "Actions requises",
        "yes": "oui",
        "no": "non",
        "none": "aucun",
        "late": "*{who}, {phase}, tour {tour} : arrivée après la fin du tour*",
        "guidance": "*{who} à {target}, tour {tour}*",
        "draft": "*{who}, tour {tour} : première réponse ; redemandée, elle est récrite ensuite*",
        "everybody": "tous",
        "when": "tous répondus ou timeout",
        "when_written": "synthèse écrite ou timeout",
        "when_spoken": "chacun a parlé ou laissé passer son tour",
        "answers": "réponse de {who} ; puis {phase}",
        "advance": "tous ont répondu : council heartbeat passe à {phase}",
        "synthesis": "synthèse de {who} ; puis le procès-verbal",
        "floor": "{who} a la parole ; puis {after}",
        "turns": "prises de parole de {who} ; puis le tour est jugé",
        "votes": "votes de {who} ; puis {phase}",
        "judged": "tous ont parlé : council heartbeat juge le tour",
        "ended": "les tours sont terminés : council heartbeat passe à {phase}",
        "close": "le tour est jugé",
        "until": "{who}, jusqu'au {end}",
        "unjudged": "pas encore jugé",
        "verdict": (
            "{type} ; avec {who} {agree} d'accord, {partial} en partie, {disagree} pas d'accord, "
            "{absent} absents sur {total} ; il en faut {threshold}"
        ),
        "strong": "consensus fort",
        "soft": "consensus souple",
        "nobody": "personne",
        "paused": "en pause : council resume",
        "minutes": "le procès-verbal : council heartbeat",
    },
}
_ALSO = {
    "h:metadata": ("meta", "metadonnees"),
    "h:brief": ("brief",),
    "h:convergence": ("convergence", "etat de convergence"),
    "h:guidance": ("guidance", "injections", "consignes"),
    "h:next": ("next phase", "phase suivante"),
    "meta:phase": ("phase",),
    "meta:status": ("statut",),
    "meta:updated": ("updated",),
    "meta:timeout": ("echeance", "deadline"),
    "meta:id": ("id de conversation",),
    "conv:blockers": ("blocages", "blocking issues"),
}
NOTHING = frozenset(("", "none", "aucun", "aucune", "-", "[]"))


def words_of(lang: str) -> dict[str, str]:
    """Return the words of a language; an unknown one is written in English."""
    return WORDS.get(lang, WORDS["en"])


def folded(text: str) -> str:
    """Return `text` in lower case, without accents, with single spaces."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text)
        text = "".join(sign for sign in apart if not unicodedata.combining(sign))
        text = text.replace("–", "-").replace("—", "-").replace("’", "'")
    return " ".join(text.casefold().split())


def line_of(text: str) -> str:
    """Return `text` as it can stand in one line: line ends as spaces, nothing around it."""
    if "\n" in text or "\r" in text:
        text = text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
    return text.strip()


def label_line(emoji: str, name: str, agent: str) -> str:
    """Return emoji and display name as one line that cannot be taken for an id."""
    known = _labels.get((emoji, name, agent))
    if known is not None:
        return known
    if len(_labels) >= _MANY_LABELS:
        _labels.clear()
    label = line_of(f"{line_of(emoji)} {line_of(name) or agent}").replace("(agent:", "(agent ")
    _labels[emoji, name, agent] = label
    return label


_MANY_LABELS = 256
_labels: dict[tuple[str, str, str], str] = {}  # one file shows the same few again and again


def _table(prefixes: tuple[str, ...]) -> dict[str, str]:
    named = {
        folded(word): key
        for words in WORDS.values()
        for key, word in words.items()
        if key.startswith(prefixes)
    }
    return named | {
        word: key for key, also in _ALSO.items() for word in also if key in named.values()
    }


_SECTIONS = _table(("h:",))
_LABELS = _table(("meta:", "conv:", "next:"))
_TITLES = tuple(folded(words["title"]) for words in WORDS.values())
_PHASES = tuple(folded(words["h:phase"]) for words in WORDS.values())
_ROUNDS = tuple(words["round"].upper() for words in WORDS.values())
_LABEL_MAX_CHARS = 40
_ROUND_MAX_CHARS = 6


def section_key(heading: str) -> str:
    """Return the key of the section that a heading names, "" for none of ours."""
    plain = folded(heading)
    key = _SECTIONS.get(plain, "")
    if key and key != "h:phase":
        return key
    for start in _PHASES:
        if plain.startswith(start + " "):
            return _phase_key(plain[len(start) + 1 :].strip(" []").upper().split())
    return ""


def _phase_key(said: list[str]) -> str:
    """Return the key for `COLLECT` or for `DELIBERATE, ROUND 2`."""
    if len(said) == 1:
        return f"h:phase:{said[0]}"
    is_round = len(said) == 3 and said[1] in _ROUNDS and said[2].isdecimal()
    if not is_round or len(said[2]) > _ROUND_MAX_CHARS:
        return ""
    return f"h:phase:{said[0].rstrip('],')}/{int(said[2])}"


def line_key(label: str) -> str:
    """Return the key of the line that a label names, "" for none of ours."""
    if len(label) > _LABEL_MAX_CHARS:
        return ""
    return _LABELS.get(folded(label), "")


def split_title(heading: str) -> tuple[str, str] | None:
    """Return (the words before the topic, the topic) of a title, None when it has no such words."""
    before, colon, topic = heading.partition(":")
    if colon and folded(before) in _TITLES:
        return before.strip(), topic.strip()
    if folded(heading) in _TITLES:
        return heading.strip(), ""
    return None


def language_of(text: str) -> str:
    """Return the language whose words a heading or title uses, "" when it cannot be told."""
    plain = folded(text)
    for lang, words in WORDS.items():
        other = WORDS["fr" if lang == "en" else "en"]
        for key in ("title", "h:metadata", "h:phase", "h:convergence", "h:next"):
            if words[key] != other[key] and plain.startswith(folded(words[key])):
                return lang
    return ""
