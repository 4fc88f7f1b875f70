"""Conversation files that a person wrote by hand, in the form of the document."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from council.core.conversations.answers import inject
from council.core.conversations.conversation import Conversation
from council.core.conversations.machine import enter_phase
from council.core.conversations.records import to_record
from council.core.errors import InvalidStateError
from council.core.ids import is_uuid4
from council.store.statefile import handwritten, statefile
from tests.core.conversations.samples import answer, convened

NOW = datetime(2026, 2, 8, 22, 0, tzinfo=UTC)
SAMPLE = """<!--council-state
{
  "conversationId": "uuid-v4",
  "mode": "debate",
  "currentPhase": "COLLECT",
  "tour": 1,
  "createdAt": "2026-02-08T20:00:00Z",
  "updatedAt": "2026-02-08T20:15:00Z",
  "timeoutAt": "2026-02-08T21:00:00Z",
  "status": "ACTIVE",
  "participants": {
    "henry": {"status": "RESPONDED", "lastAction": "2026-02-08T20:10:00Z"},
    "sage": {"status": "WAITING", "lastAction": null},
    "nova": {"status": "RESPONDED", "lastAction": "2026-02-08T20:12:00Z"},
    "blaise": {"status": "WAITING", "lastAction": null}
  },
  "convergence": {
    "responseRate": 0.5,
    "hasConsensus": false,
    "blockingIssues": []
  }
}
-->
"""
FRENCH = f"""# Conversation Active : Un robot météo ?

## Métadonnées
- Mode: debate
- Phase courante: COLLECT
- Tour: 1

## Brief (immuable)
On a besoin d'un avis.

En deux paragraphes.

## Participants
- 🦉 Henry (agent:henry): RESPONDED
- 🦎 Sage (agent:sage): [status: WAITING]
- 🌟 Nova (agent:nova): RESPONDED
- 🧮 Blaise (agent:blaise): WAITING
- 🐝 Béa (agent:bea): DONE

## Réponses - Phase COLLECT
### 🦉 Henry
[Tour 1]: Oui.

# Avec un titre

### 🦎 Sage
Une pensée en cours.

### 🌟 Nova
[Tour 1]: Non.
[Tour 1]: Ou peut-être.

### 🧮 Blaise

## État de Convergence
- Taux de réponse: 2/4
- Convergence détectée: non
- Blocages identifiés: aucun

## Phase Suivante
- Condition de passage: tous répondus OU timeout
- Actions requises: attendre

{SAMPLE}"""


def sample_fields() -> dict[str, object]:
    return dict(json.loads(SAMPLE[len("<!--council-state") : SAMPLE.rindex("-->")]))


def holds(state: Conversation, fields: dict[str, object]) -> None:
    record = to_record(state)
    for field, value in fields.items():
        if field != "participants":
            assert record[field] == value, field
            continue
        for agent, facts in dict(value).items():
            assert {key: record["participants"][agent][key] for key in facts} == facts


@pytest.mark.req("C0-015", "C0-017", "C0-018")
def test_sample_of_the_document_loads_unchanged():
    assert len(sample_fields()) == 10
    holds(statefile.load(SAMPLE, "sample")[0], sample_fields())
    holds(handwritten.import_page(SAMPLE, "active")[0], sample_fields())


@pytest.mark.req("XC-012", "C0-015")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_french_file_of_the_document_becomes_a_conversation(end: str):
    state, page = handwritten.import_page(FRENCH.replace("\n", end), "weather")
    fields = sample_fields()
    del fields["convergence"]  # a fifth participant changes the rate
    holds(state, fields)
    assert (state.name, state.topic, state.lang) == ("weather", "Un robot météo ?", "fr")
    assert state.brief == "On a besoin d'un avis.\n\nEn deux paragraphes."
    assert (state.participants["bea"].name, state.participants["bea"].status) == ("Béa", "DONE")
    assert [(one.id, one.text, one.origin) for one in state.entries] == [
        ("1-henry", "Oui.\n\n# Avec un titre", "claimed"),
        ("1-nova", "Non.", "claimed"),
        ("1-nova-2", "Ou peut-être.", "claimed"),
    ]
    assert [(one.tour, one.phase) for one in state.rounds] == [(1, "COLLECT")]
    text = statefile.render(state, page)
    back, again = statefile.load(text, "written")
    assert back == state
    assert statefile.render(back, again) == text
    assert again.sections == {"COLLECT:sage": "Une pensée en cours."}
    for once in ("Oui.", "Non.", "On a besoin", "Une pensée", "## Métadonnées", "### 🦉 Henry"):
        assert text.count(once) == 1, once


def test_rounds_are_made_up_from_phase_and_tour():
    text = FRENCH.replace('"COLLECT"', '"CHALLENGE"').replace('"tour": 1', '"tour": 2')
    text = text.replace(
        "## État", "## Réponses - Phase CHALLENGE\n### 🦉 Henry\n[Tour 2]: Si.\n\n## État"
    )
    state, _ = handwritten.import_page(text, "weather")
    assert [(one.tour, one.phase) for one in state.rounds] == [(1, "COLLECT"), (2, "CHALLENGE")]
    assert ("2-henry", "CHALLENGE", "Si.") in [
        (one.id, one.phase, one.text) for one in state.entries
    ]


def test_file_without_a_block_is_read_from_its_lines():
    text = FRENCH.replace(SAMPLE, "")
    state, _ = handwritten.import_page(text, "weather", NOW)
    again, _ = handwritten.import_page(text, "weather", NOW)
    assert state == again
    assert state.created_at == NOW
    assert list(state.participants) == ["henry", "sage", "nova", "blaise", "bea"]
    assert state.participants["henry"].status == "RESPONDED"
    assert state.response_rate == 0.6


@pytest.mark.parametrize("text", ["", "hello", "# A title\n\nSome words.\n", "<!--council-state\n"])
def test_file_that_holds_no_conversation_is_refused(text: str):
    with pytest.raises(InvalidStateError):
        handwritten.import_page(text, "weather", NOW)


def test_file_of_ours_without_its_history_is_taken_as_it_stands():
    state, page = handwritten.import_page(FRENCH, "weather")
    text = statefile.render(state, page).replace("[Tour 1]: Non.", "[Tour 1]: Si.")
    with pytest.raises(InvalidStateError):
        statefile.load(text, "file")
    again, page = handwritten.import_page(text, "weather")
    assert [one.text for one in again.entries if one.id == "1-nova"] == ["Si."]
    statefile.load(statefile.render(again, page), "file")


@pytest.mark.req("C0-044", "XC-010")
def test_marked_texts_are_entries_also_where_the_state_block_is_lost():
    state = convened("henry", "sage", sealed_phases=False)
    state = answer(state, "henry", "Yes.").state
    state = enter_phase(state, "CHALLENGE", "timeout", NOW).state
    state = answer(state, "henry", "Late.", task=f"{state.conversation_id}.1.henry.1").state
    state = inject(answer(state, "sage", "No.").state, "Be brief.", author="eve", now=NOW).state
    text = statefile.render(state)
    broken = text[: text.index("<!--council-state")]
    back, page = handwritten.import_page(broken, "active", NOW)
    assert [
        (one.id, one.kind, one.agent, one.phase, one.tour, one.text) for one in back.entries
    ] == [
        (one.id, one.kind, one.agent, one.phase, one.tour, one.text)
        for one in sorted(state.entries, key=lambda one: one.tour)
    ]
    again = statefile.render(back, page)
    assert statefile.load(again, "file")[0] == back
    assert again.count("Be brief.") == 1


@pytest.mark.req("C0-016")
def test_a_file_without_an_id_gets_a_uuid_that_follows_from_what_it_says():
    text = FRENCH.replace('  "conversationId": "uuid-v4",\n', "")
    first, again = (handwritten.import_page(text, "active")[0] for _ in range(2))
    other = handwritten.import_page(text.replace("On a besoin", "Il faut"), "active")[0]
    assert is_uuid4(first.conversation_id)
    assert first.conversation_id == again.conversation_id
    assert is_uuid4(other.conversation_id)
    assert other.conversation_id != first.conversation_id
