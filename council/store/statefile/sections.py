"""The sections of a conversation file: the fixed words in it, and who stands where.

The words are known in English and French, written and recognised. Both languages
are always read, in any case and with or without accents; the conversation's
language decides which is written. Each word has the key of
the item it names: `h:` for sections, `meta:`, `conv:`, `next:` for lines.

A phase of one round has one section, named like the phase. Of a phase of
several rounds each round has its own, named `PHASE/ROUND`, so that people read
it in the order in which it was said and an agent finds where to write. In it
those who spoke stand in the order in which they did, then those to come.

A line under an agent's name may tell how it stands in a round: that its answer is
sealed, that it has the floor, that it is asked once more and why, that it did not
answer. Such a line is ours: it comes and goes with the
state and is never part of a contribution.

Source: C0-004, C0-009, C0-011 to C0-013, C0-048, DL-002, DL-013, DL-015, DL-021, DL-053,
DL-081, XC-012.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from council.core.conversations.conversation import Conversation, EntryKind, Participant
from council.core.conversations.owed import awaited, is_asked_again, owing, passed_over, takes_turns
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE, Procedure
from council.core.deliberation.fault_words import fault_in_words

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


@lru_cache(256)  # one file shows the same few again and again
def label_line(emoji: str, name: str, agent: str) -> str:
    """Return emoji and display name as one line that cannot be taken for an id."""
    return line_of(f"{line_of(emoji)} {line_of(name) or agent}").replace("(agent:", "(agent ")


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


SIDE_SECTIONS = {EntryKind.LATE: "h:late", EntryKind.INJECTION: "h:guidance"}
_IN_ROUNDS = frozenset(
    (procedure.name, phase.name)
    for procedure in PROCEDURES.values()
    for phase in procedure.phases
    if phase.max_rounds > 1
)


def section_of(procedure: str, phase: str, tour: int) -> str:
    """Return the name of the section in which round `tour` of a phase stands."""
    return f"{phase}/{tour}" if (procedure, phase) in _IN_ROUNDS else phase


def phase_of(section: str) -> str:
    """Return the phase that a section belongs to."""
    return section.partition("/")[0]


def tour_of(section: str) -> int:
    """Return the round that has this section for its own, 0 for the section of a whole phase."""
    number = section.partition("/")[2]
    return int(number) if number else 0


def current_section(state: Conversation) -> str:
    """Return the section of the round under way."""
    return section_of(state.procedure, state.phase, state.tour)


def sections_of(state: Conversation) -> dict[str, list[str]]:
    """Return every section, in order, with the agents that have a subsection there, in order.

    Those are the rounds reached and those that hold an entry; in each the
    participants, whoever writes the synthesis, and all authors.
    """
    authors: dict[str, list[str]] = {}
    for one in state.rounds:
        authors.setdefault(section_of(state.procedure, one.phase, one.tour), [])
    for entry in state.entries:
        if entry.kind not in SIDE_SECTIONS:
            section = section_of(state.procedure, entry.phase, entry.tour)
            authors.setdefault(section, []).append(entry.agent)
    here = current_section(state)
    authors.setdefault(here, [])
    people = list(state.participants)
    found = {}
    for section, spoke in authors.items():
        if section == SYNTHESIZE and (state.synthesizer or state.coordinator):
            agents = [*people, state.synthesizer or state.coordinator, *spoke]
        elif not tour_of(section):
            agents = [*people, *spoke]
        elif section == here and takes_turns(state):
            agents = [*spoke, *awaited(state), *people]
        else:
            agents = [*spoke, *people]
        if section:
            found[section] = list(dict.fromkeys(agents))
    return found


def claims_its_section(state: Conversation, agent: str, section: str) -> bool:
    """Tell whether free text in an agent's section may still become its contribution."""
    if section != current_section(state) or state.finished_at is not None:
        return False
    known = state.participants.get(agent)
    if known is not None and known.sealed:
        return False
    if section == SYNTHESIZE:
        return not any(one.kind is EntryKind.SYNTHESIS for one in state.entries)
    return state.entry_of(agent, state.tour) is None


def takes_text(state: Conversation, agent: str, section: str) -> bool:
    """Tell whether text that is added to an agent's section now may be its contribution.

    Besides a first answer that is one it was asked for once more.
    """
    if claims_its_section(state, agent, section):
        return True
    open_yet = section == current_section(state) and state.finished_at is None
    return open_yet and is_asked_again(state, agent)


_HINTS: dict[str, dict[str, str]] = {
    "en": {
        "sealed": "*(sealed until the phase closes)*",
        "sealed_round": "*(sealed until the round closes)*",
        "sealed_again": "*(sealed, and asked once more: write the whole answer anew below)*",
        "again": "*(asked once more{what}: write the whole answer anew below)*",
        "write": "*(to answer: write below, then set the status above to RESPONDED)*",
        "floor": "*(has the floor: write below, then set the status)*",
        "later": "*(speaks later in this round)*",
        "passed": "*(was passed over: {why}; may answer until the round closes)*",
        "silent": "*(no answer: {why})*",
    },
    "fr": {
        "sealed": "*(scellée jusqu'à la fin de la phase)*",
        "sealed_round": "*(scellée jusqu'à la fin du tour)*",
        "sealed_again": "*(scellée, et redemandée : récrire toute la réponse ci-dessous)*",
        "again": "*(redemandée{what} : récrire toute la réponse ci-dessous)*",
        "write": "*(pour répondre : écrire ci-dessous, puis mettre le statut à RÉPONDU)*",
        "floor": "*(a la parole : écrire ci-dessous, puis changer le status)*",
        "later": "*(parle plus tard dans ce tour)*",
        "passed": "*(son tour est passé : {why} ; peut répondre jusqu'à la fin du tour)*",
        "silent": "*(pas de réponse : {why})*",
    },
}
_OPENS, _CLOSES = "*(", ")*"
_PLAIN = frozenset(words[key] for words in _HINTS.values() for key in ("sealed", "write"))
_WHOLE = frozenset(one for words in _HINTS.values() for one in words.values() if "{" not in one)
_STARTS = tuple(
    one[: one.index("{")] for words in _HINTS.values() for one in words.values() if "{" in one
)


def is_hint(line: str, judged: bool) -> bool:
    """Tell whether a line is one of ours; only a `judged` conversation has them all."""
    said = line.strip()
    if not judged or said in _PLAIN:
        return said in _PLAIN
    closed = said.startswith(_OPENS) and said.endswith(_CLOSES)
    return closed and (said in _WHOLE or said.startswith(_STARTS))


def has_hints(procedure: Procedure | None, order: object) -> bool:
    """Tell whether a file may say more of an agent than that its answer is sealed."""
    return bool(order) or (procedure is not None and procedure.verdict == "stances")


def hints_of(state: Conversation) -> dict[tuple[str, str], str]:
    """Return the lines that stand in a file, by section and agent."""
    words = _HINTS.get(state.lang, _HINTS["en"])
    here = current_section(state)
    procedure = PROCEDURES[state.procedure]
    is_judged = has_hints(procedure, state.order)
    found = {}
    for one in state.participants.values():
        if one.sealed:
            kind = "sealed_round" if tour_of(here) else "sealed"
            kind = "sealed_again" if is_judged and one.again == state.tour else kind
            found[here, one.id] = words[kind]
    if not is_judged:
        return found | _to_write(state, words)
    known = {phase.name for phase in procedure.phases if phase.form != "text"}
    for over in state.rounds:
        if over.ended_at is not None and over.phase in known:
            section = section_of(state.procedure, over.phase, over.tour)
            for agent, why in over.absent.items():
                found[section, agent] = words["silent"].format(why=line_of(why))
    if state.finished_at is None:
        found |= _under_way(state, words, found)
    return found


def _under_way(
    state: Conversation, words: dict[str, str], sealed: dict[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    here = current_section(state)
    found = {}
    for one in state.participants.values():
        if one.again == state.tour and (here, one.id) not in sealed:
            found[here, one.id] = words["again"].format(what=_lacking(state, one))
    if takes_turns(state):
        out = passed_over(state)
        kinds = dict.fromkeys(awaited(state), "later") | dict.fromkeys(out, "passed")
        kinds |= dict.fromkeys(owing(state), "floor")
        for agent, kind in kinds.items():
            if (here, agent) not in found:
                found[here, agent] = words[kind].format(why=line_of(out.get(agent, "")))
    return found


def _to_write(state: Conversation, words: dict[str, str]) -> dict[tuple[str, str], str]:
    """Return what says under the names of all who are to answer at once how a person does."""
    here = current_section(state)
    is_open = state.finished_at is None and not takes_turns(state)
    return {(here, agent): words["write"] for agent in owing(state)} if is_open else {}


def _lacking(state: Conversation, one: Participant) -> str:
    """Return what the answer of one that is asked once more lacks, as an insertion."""
    from council.core.deliberation.deliberation import faults_of  # only where a form is asked for

    entry = state.entry_of(one.id, state.tour)
    faults = [] if entry is None else faults_of(state, one.id, entry.text)
    said = [
        fault_in_words(fault.code, state.lang, agent=fault.agent, found=line_of(fault.found))
        for fault in faults
    ]
    return f" ({'; '.join(said)})" if said else ""
