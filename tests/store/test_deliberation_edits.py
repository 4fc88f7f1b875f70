"""What becomes of edits in the file of a deliberation, of people and of agents with files alone."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from council.core.conversations import machine
from council.core.conversations.conversation import Conversation
from council.core.conversations.due import due_agents
from council.core.conversations.procedures import Rules
from council.store.statefile import handwritten, merging, statefile
from council.store.statefile.claims import findings
from council.store.statefile.edits import Taken, take_in
from tests.examples import examples
from tests.store.debates import HOUR, NOW, debate, passed, round_of, spoken, turn
from tests.store.scrambling import scrambled_texts

LATER = NOW + HOUR / 2
Edit = Callable[[str], str]


def changed(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


def taken(edit: Edit, state: Conversation, **more: object) -> Taken:
    """Take an edit in and check what must hold whatever it was."""
    ours = statefile.render(state)
    start, _ = statefile.load(ours, "ours")
    result = take_in(
        ours, edit(ours), ours, now=LATER, nonce="ab" * 16, sealed=state.sealed, **more
    )
    text = written(result)
    back, again = statefile.load(text, "written")
    assert back == result.state.copy(sealed={})
    assert statefile.render(back, again) == text
    texts = {one.id: one.text for one in back.entries}
    assert {one.id: one.text for one in start.entries}.items() <= texts.items()
    assert not take_in(text, text, text, now=LATER, nonce="cd" * 16).events
    json.dumps([event.data for event in result.events])
    return result


def written(result: Taken) -> str:
    return statefile.render(result.state, result.page)


def types(result: Taken) -> list[str]:
    return [event.type for event in result.events]


def said(result: Taken) -> list[tuple[str, str, str]]:
    return [(str(one.kind), one.id, one.text) for one in result.state.entries]


def accepted(result: Taken) -> dict[str, tuple[object, object]]:
    return {
        event.data["field"]: (event.data["old"], event.data["new"])
        for event in result.events
        if event.type == "edit.accepted"
    }


def refused(result: Taken) -> dict[str, str]:
    return {
        event.data["field"]: event.data["reason"]
        for event in result.events
        if event.type == "edit.refused"
    }


def all_of(*edits: Edit) -> Edit:
    def edit(text: str) -> str:
        for one in edits:
            text = one(text)
        return text

    return edit


def by_text(label: str, text: str, section: str = "Phase DELIBERATE, round 1") -> Edit:
    """Add a text at the end of a subsection, as the protocol asks agents to."""

    def edit(file: str) -> str:
        start = file.index(f"\n### {label}\n", file.index(section)) + 1
        # Contributions hold headings of their own, so ours are found by what follows them.
        ends = [file.find(mark, start) for mark in ("\n### ", "\n## Responses -", "\n## Conv")]
        end = min(at for at in ends if at > 0)
        return f"{file[:end].rstrip()}\n{text}\n{file[end:]}"

    return edit


def by_status(agent: str, status: str, *, line: bool = False) -> Edit:
    if line:
        return lambda text: changed(text, f"(agent:{agent}): WAITING", f"(agent:{agent}): {status}")
    old = f'"{agent}": {{"status": "WAITING"'
    return lambda text: changed(text, old, old.replace("WAITING", status))


# Turns


@pytest.mark.req("C0-001", "DL-021")
@pytest.mark.parametrize("line", [True, False])
def test_who_has_the_floor_speaks_by_text_and_status(line: bool):
    text = turn()
    edit = all_of(
        by_text("Claude", f"[Tour 1]: {text}"), by_status("claude", "RESPONDED", line=line)
    )
    result = taken(edit, debate())
    assert said(result) == [("contribution", "1-claude", text)]
    assert due_agents(result.state) == ("gpt",)
    event = next(one for one in result.events if one.type == "contribution.recorded")
    assert (event.data["faults"], event.data["askedAgain"]) == ([], False)
    assert written(result).count("One reason.") == 1


@pytest.mark.req("DL-021", "C0-067")
def test_text_out_of_turn_is_refused_and_counts_when_its_author_has_the_floor():
    text = turn("claude=agree")
    result = taken(all_of(by_text("Gpt", text), by_status("gpt", "RESPONDED")), debate())
    assert said(result) == []
    assert refused(result) == {
        "contribution.gpt": "it is not the turn of gpt: DELIBERATE waits for claude"
    }
    assert result.state.participants["gpt"].status == "WAITING"
    state, page = statefile.load(written(result), "file")
    assert findings(state, page) == [
        "gpt wrote text in DELIBERATE out of turn: it counts only when it has the floor; "
        "now claude has it"
    ]
    state = spoken(state, "claude")
    ours = statefile.render(state, page)
    theirs = by_status("gpt", "RESPONDED")(ours)
    result = take_in(ours, theirs, ours, now=LATER, nonce="ab" * 16)
    assert [one.text for one in result.state.entries] == [turn(), text]
    assert due_agents(result.state) == ("glm",)


@pytest.mark.req("DL-021")
def test_text_without_status_out_of_turn_is_a_note_until_the_round_closes():
    result = taken(by_text("Glm", "Half a thought."), debate())
    assert types(result) == ["note.found"]
    assert result.events[0].data == {"phase": "DELIBERATE", "tour": 1, "chars": 15}
    closed = machine.enter_phase(result.state, "VOTE", "stopped", LATER).state
    assert "<!--council:note-->\nHalf a thought.\n" in statefile.render(closed, result.page)


@pytest.mark.req("DL-021")
def test_several_who_speak_in_one_save_are_heard_in_the_order_of_speaking():
    edit = all_of(
        by_text("Glm", turn("claude=agree gpt=agree")),
        by_text("Claude", turn()),
        by_text("Gpt", turn("claude=agree")),
        *(by_status(agent, "RESPONDED") for agent in ("glm", "gpt", "claude")),
    )
    result = taken(edit, debate())
    assert [one.agent for one in result.state.entries] == ["claude", "gpt", "glm"]
    assert not refused(result)


@pytest.mark.req("DL-081")
def test_who_was_passed_over_may_still_write_while_the_round_is_open():
    state = passed(debate(), NOW + HOUR)
    result = taken(all_of(by_text("Claude", turn()), by_status("claude", "RESPONDED")), state)
    assert [one.agent for one in result.state.entries] == ["claude"]
    assert result.state.rounds[-1].absent == {}
    assert due_agents(result.state) == ("gpt",)


@pytest.mark.req("DL-021")
@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("gpt", "it is not the turn of gpt: DELIBERATE waits for claude"),
        ("claude", "a turn in DELIBERATE is a text; write it into the section of claude as well"),
    ],
)
def test_status_alone_is_no_turn(agent: str, why: str):
    result = taken(by_status(agent, "RESPONDED"), debate())
    assert refused(result) == {f"participants.{agent}.status": why}
    assert due_agents(result.state) == ("claude",)
    left = taken(by_status(agent, "DONE"), debate())
    assert left.state.participants[agent].status == "DONE"


@pytest.mark.req("DL-013")
@pytest.mark.parametrize("sealed", [True, False])
def test_agreed_is_refused_because_agreement_is_a_stance(sealed: bool):
    edit = all_of(by_text("Claude", turn()), by_status("claude", "AGREED"))
    result = taken(edit, debate(sealed_phases=sealed))
    assert list(refused(result)) == ["participants.claude.status"]
    assert said(result) == []
    assert "One reason." in written(result)
    assert result.state.participants["claude"].status == "WAITING"


@pytest.mark.req("DL-087")
def test_text_for_a_round_that_closed_meanwhile_stays_a_note_in_that_round():
    state = spoken(spoken(debate(), "claude"), "gpt", "claude=partial")
    base = statefile.render(state)
    ours = statefile.render(passed(state, NOW + HOUR))
    edit = all_of(by_text("Glm", turn(position="Slow.")), by_status("glm", "RESPONDED"))
    result = take_in(base, edit(base), ours, now=LATER, nonce="ab" * 16)
    assert [one.agent for one in result.state.entries] == ["claude", "gpt"]
    assert refused(result) == {"participants.glm.status": "round 1 was closed meanwhile"}
    text = written(result)
    assert text.index("<!--council:note-->") < text.index("Slow.") < text.index("round 2")


# Asked once more


@pytest.mark.req("DL-013", "DL-015")
def test_file_alone_is_enough_to_be_asked_again_and_to_answer_anew():
    state = spoken(debate(), "claude")
    first = turn(position="First.")
    result = taken(all_of(by_text("Gpt", first), by_status("gpt", "RESPONDED")), state)
    assert result.state.participants["gpt"].again == 1
    assert "*(asked once more (no response to claude)" in written(result)
    # The second answer begins like the first: it is not an old copy.
    second = turn(position="First.") + "\n\n## Responses to Others\n- @claude: agree — yes"
    result = taken(by_text("Gpt", second), result.state)
    assert said(result)[1:] == [("draft", "1-gpt", first), ("contribution", "1-gpt-2", second)]
    assert result.state.participants["gpt"].again == 0
    assert due_agents(result.state) == ("glm",)


@pytest.mark.req("DL-013")
def test_old_copy_with_the_first_answer_is_no_answer_anew():
    state = spoken(debate(), "claude")
    base = statefile.render(state)
    first = turn(position="First.")
    mine = all_of(by_text("Gpt", first), by_status("gpt", "RESPONDED"))(base)
    one = take_in(base, mine, base, now=LATER, nonce="ab" * 16)
    ours = written(one)
    again = changed(mine, "## Convergence", "A remark.\n\n## Convergence")
    result = take_in(base, again, ours, now=LATER, nonce="cd" * 16)
    assert said(result) == said(one)
    assert result.state.participants["gpt"].again == 1
    assert "A remark." in written(result)


@pytest.mark.req("DL-097", "DL-013")
def test_answer_anew_in_the_sealed_round_leaves_the_file_with_its_draft():
    state = debate(sealed_phases=True)
    first, second = turn(position="First.", confidence=9), turn(position="Second.")
    result = taken(all_of(by_text("Gpt", first), by_status("gpt", "RESPONDED")), state)
    assert [one.text for one in result.seal] == [first]
    result = taken(by_text("Gpt", second), result.state)
    assert [(one.text, one.drafts) for one in result.seal] == [(second, [first])]
    assert "First." not in written(result)
    assert "Second." not in written(result)
    assert result.state.participants["gpt"].again == 0


def test_note_that_stood_there_is_not_taken_for_the_answer_anew():
    noted = taken(by_text("Claude", "A note."), debate())
    state = spoken(noted.state, "claude", confidence=9)
    ours = statefile.render(state, noted.page)
    assert state.participants["claude"].again == 1
    assert "<!--council:note-->\nA note.\n" in ours
    theirs = changed(ours, "## Convergence", "A remark.\n\n## Convergence")
    result = take_in(ours, theirs, ours, now=LATER, nonce="ab" * 16)
    assert [one.kind for one in result.state.entries] == ["contribution"]


@pytest.mark.req("DL-015", "C0-044")
@pytest.mark.parametrize("new", ["Second thoughts.", ""])
def test_draft_is_protected_as_every_contribution_is(new: str):
    state = spoken(spoken(debate(), "claude", confidence=9, position="First."), "claude")
    assert [one.kind for one in state.entries] == ["draft", "contribution"]
    result = taken(lambda text: changed(text, "First.", new), state)
    assert types(result) == ["contribution.restored"]
    assert written(result) == statefile.render(state)
    assert new in result.kept[0].text


@pytest.mark.req("XC-014")
def test_nothing_is_taken_in_where_trust_is_strict():
    edit = all_of(by_text("Claude", turn()), by_status("claude", "RESPONDED"))
    result = taken(edit, debate(), strict=True)
    assert list(refused(result)) == ["contribution.claude"]
    state = spoken(debate(), "claude", confidence=9)
    result = taken(by_text("Claude", turn()), state, strict=True)
    assert list(refused(result)) == ["contribution.claude"]
    assert "<!--council:note-->\n## Position" in written(result)


# Facts


def in_config(key: str, old: object, new: str) -> Edit:
    return lambda text: changed(text, f'"{key}": {json.dumps(old)}', f'"{key}": {new}')


@pytest.mark.req("C0-019", "DL-022", "DL-042")
@pytest.mark.parametrize(
    ("key", "old", "new", "field"),
    [
        ("maxRounds", 5, 2, "max_rounds"),
        ("consensusThreshold", 0, 3, "threshold"),
        ("earlyStop", "strong", "soft", "early_stop"),
    ],
)
def test_rules_that_a_person_may_change(key: str, old: object, new: object, field: str):
    result = taken(in_config(key, old, json.dumps(new)), debate())
    assert getattr(result.state.rules, field) == new
    assert accepted(result) == {f"config.{key}": (old, new)}


@pytest.mark.req("C0-019", "DL-022", "DL-042")
@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("maxRounds", 5, "0"),
        ("maxRounds", 5, "true"),
        ("maxRounds", 5, '"many"'),
        ("consensusThreshold", 0, "4"),
        ("consensusThreshold", 0, "-1"),
        ("earlyStop", "strong", '"weak"'),
        ("earlyStop", "strong", "null"),
        ("anonymous", False, "true"),
        ("stabilityStop", True, "1"),
        ("alike", 0.9, "0.1"),
        ("advocate", "", '"gpt"'),
    ],
)
def test_other_rules_and_impossible_values_are_put_back(key: str, old: object, new: str):
    state = debate()
    result = taken(in_config(key, old, new), state)
    assert list(refused(result)) == [f"config.{key}"]
    assert result.state == state
    assert [one.text for one in result.kept] == [str(json.loads(new))]


@pytest.mark.req("C0-019")
def test_whole_config_is_put_back_and_a_field_of_another_program_stays():
    state = debate()
    start = statefile.render(state)
    block = start[start.index('"config": ') :].partition("\n")[0]
    for broken in ('"config": 7,', '"config": {},'):
        result = taken(lambda text, new=broken: changed(text, block, new), state)
        assert result.state.rules == state.rules
        assert refused(result)
    result = taken(lambda text: changed(text, '"config": {', '"config": {"mood": [1], '), state)
    assert result.state.rules.extra == {"mood": [1]}


@pytest.mark.req("C0-019", "XC-104")
def test_order_of_speaking():
    def with_order(value: str) -> Edit:
        return lambda text: changed(text, '"rev": 0,', f'"rev": 0, "order": {value},')

    result = taken(with_order('"fixed"'), debate())
    assert result.state.order == "fixed"
    assert accepted(result) == {"order": ("", "fixed")}
    back = taken(lambda text: changed(text, ' "order": "fixed",\n', ""), result.state)
    assert back.state.order == ""
    for value in ('"backwards"', "3"):
        assert list(refused(taken(with_order(value), debate()))) == ["order"]
    council = debate(
        procedure="council", phases=("COLLECT", "SYNTHESIZE"), phase="COLLECT", rules=None
    ).copy(session_id="")
    assert taken(with_order('"rotate"'), council).state.order == "rotate"


@pytest.mark.req("C0-019", "DL-051", "DL-047")
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"id": "ck0f8', '"id": "other', "id"),
        ('"speaker": "gpt"', '"speaker": "glm"', "rounds"),
        ('"turnAt": "2026', '"turnAt": "2025', "rounds"),
        ('"type": "none"', '"type": "strong"', "rounds"),
        ('"again": 2', '"again": 1', "participants.gpt.again"),
        (', "again": 2', "", "participants.gpt.again"),
        ("- Speaker: Gpt", "- Speaker: Glm", "speaker"),
        (
            "- Convergence detected: none",
            "- Convergence detected: strong",
            "convergence.hasConsensus",
        ),
        ('"kind": "contribution"', '"kind": "draft"', "ledger"),
    ],
)
def test_what_the_tool_owns_is_put_back_and_reported(old: str, new: str, field: str):
    state = round_of(debate(), "partial")
    state = spoken(state, "gpt", "claude=agree glm=agree", confidence=9)
    assert (state.tour, state.participants["gpt"].again) == (2, 2)
    result = taken(lambda text: changed(text, old, new), state)
    assert result.state == state
    assert list(refused(result)) == [field]


def test_fields_of_the_tool_cannot_be_added():
    state = debate(session_id="")
    result = taken(lambda text: changed(text, '"rev": 0,', '"rev": 0, "id": "mine",'), state)
    assert (result.state, list(refused(result))) == (state, ["id"])
    result = taken(lambda text: changed(text, '"gpt": {', '"gpt": {"again": 1, '), state)
    assert (result.state, list(refused(result))) == (state, ["participants.gpt.again"])


@pytest.mark.req("DL-023", "DL-025", "C0-019")
@pytest.mark.parametrize("status", ["CONVERGED", "TIMEOUT"])
def test_status_set_by_a_person_ends_the_rounds_and_the_vote_is_next(status: str):
    state = spoken(debate(), "claude")
    result = taken(lambda text: changed(text, "- Status: ACTIVE", f"- Status: {status}"), state)
    assert "goes on to VOTE" in written(result)
    went_on = machine.advance(result.state, LATER).state
    assert (went_on.phase, went_on.rounds[0].reason) == ("VOTE", "stopped")


@pytest.mark.req("DL-025", "C0-019")
def test_phase_goes_forward_to_the_vote_and_not_past_it():
    state = spoken(debate(), "claude")
    to = {
        phase: lambda text, phase=phase: changed(text, "phase: DELIBERATE", f"phase: {phase}")
        for phase in ("VOTE", "SYNTHESIZE")
    }
    result = taken(to["VOTE"], state)
    assert (result.state.phase, result.state.tour) == ("VOTE", 2)
    assert result.state.rounds[0].verdict["type"] == "none"
    assert "consensus.checked" in types(result)
    result = taken(to["SYNTHESIZE"], state)
    assert refused(result) == {"currentPhase": "VOTE comes before SYNTHESIZE"}
    assert result.state == state
    voting = taken(to["VOTE"], state).state
    on = taken(lambda text: changed(text, "phase: VOTE", "phase: SYNTHESIZE"), voting)
    assert on.state.phase == "SYNTHESIZE"


def test_deadline_in_the_past_lets_the_floor_pass():
    state = debate()
    result = taken(
        lambda text: changed(text, "- Timeout: 2026-02-08T21", "- Timeout: 2026-02-08T20:00:01Z #"),
        state,
    )
    assert refused(result)  # it is no time
    result = taken(
        lambda text: changed(
            text, "- Timeout: 2026-02-08T21:00:00Z", "- Timeout: 2026-02-08T20:00:01Z"
        ),
        state,
    )
    assert "- Speaker: Claude, until 2026-02-08T20:00:01Z" in written(result)
    assert due_agents(machine.advance(result.state, LATER).state) == ("gpt",)


def test_heading_of_a_round_may_be_renamed():
    state = round_of(debate(), "partial")
    result = taken(
        lambda text: changed(text, "## Responses - Phase DELIBERATE, round 1", "## How it began"),
        state,
    )
    assert result.state.titles == {"h:phase:DELIBERATE/1": "How it began"}
    assert "## How it began\n### Claude\n" in written(result)


def test_name_is_taken_from_a_heading_in_whatever_order_agents_stand():
    state = round_of(debate(), "partial")
    start = statefile.render(state).index("round 2")
    result = taken(
        lambda text: text[:start] + changed(text[start:], "### Glm", "### 🐝 Glinda"), state
    )
    glm = result.state.participants["glm"]
    assert (glm.name, glm.emoji) == ("Glinda", "🐝")


# From the file alone


@pytest.mark.req("DL-056", "DL-012")
@pytest.mark.parametrize("cut", ["block", "ledger"])
def test_deliberation_is_rebuilt_from_its_texts_when_block_and_journal_are_lost(cut: str):
    state = debate(rules=Rules(stability=False))
    state = spoken(spoken(state, "claude", confidence=9, position="First."), "claude")
    state = round_of(round_of(state, "partial"), "partial")
    state = spoken(state, "glm", position="Third round.")
    text = statefile.render(state)
    start, end = text.index("<!--council-state"), text.index("<!--council-eof")
    if cut == "block":
        broken = text[:start] + text[end:]
    else:
        at = text.index(' "rounds": [')
        broken = f"{text[: at - 2]}\n}}\n-->\n{text[end:]}"
    back, page = handwritten.import_page(broken, "active", NOW)
    assert back.procedure == "deliberation"
    assert [(one.tour, one.phase) for one in back.rounds] == [
        (one.tour, one.phase) for one in state.rounds
    ]
    assert [(one.id, one.kind, one.agent, one.text) for one in back.entries] == [
        (one.id, one.kind, one.agent, one.text) for one in state.entries
    ]
    again = statefile.render(back, page)
    assert statefile.load(again, "file")[0] == back
    assert again.count("Third round.") == 1
    assert due_agents(back) == due_agents(state)


@pytest.mark.req("DL-056", "C0-001")
@pytest.mark.parametrize("line", [True, False])
@pytest.mark.parametrize("strict", [True, False])
def test_text_that_came_in_after_the_history_was_lost_is_a_contribution(line: bool, strict: bool):
    state = spoken(debate(), "claude")
    said_there = all_of(
        by_text("Gpt", turn("claude=agree")), by_status("gpt", "RESPONDED", line=line)
    )
    text = said_there(statefile.render(state))
    start = merging.begin(text, "active", "live.md", LATER, strict=strict)
    spoke = [one.agent for one in start.state.entries]
    assert spoke == (["claude"] if strict else ["claude", "gpt"])
    assert (not start.changed) is strict
    again = statefile.render(start.state, start.page)
    assert again.count("@claude: agree") == 1
    assert statefile.load(again, "again")[0] == start.state
    assert not merging.begin(again, "active", "live.md", LATER, strict=strict).changed


@pytest.mark.req("DL-097")
def test_text_of_a_sealed_round_is_sealed_also_when_the_history_was_lost():
    edit = all_of(by_text("Gpt", turn()), by_status("gpt", "RESPONDED"))
    text = edit(statefile.render(debate(sealed_phases=True)))
    start = merging.begin(text, "active", "live.md", LATER)
    assert [(one.agent, one.text) for one in start.seal] == [("gpt", turn())]
    assert "One reason." not in statefile.render(start.state, start.page)


@pytest.mark.req("DL-056", "XC-012")
def test_deliberation_written_by_hand_is_imported():
    text = f"""# Conversation Active : Thé ou café ?

## Métadonnées
- Phase courante: DELIBERATE
- Tour: 2

## Brief (immuable)
Dire lequel.

## Participants
- Claude (agent:claude): WAITING
- Gpt (agent:gpt): RESPONDED
- Glm (agent:glm): WAITING

## Réponses - Phase DELIBERATE, tour 1
### Claude
{turn()}

### Gpt
{turn("claude=agree", position="Premier jet.")}
[Tour 1]: {turn("claude=partial")}

### Glm
{turn("claude=agree gpt=agree")}

## Réponses - Phase DELIBERATE, tour 2
### Gpt
{turn("claude=agree glm=agree")}

### Glm
En cours.

## Phase Suivante
- Condition de passage: tous répondus
"""
    state, page = handwritten.import_page(text, "active", NOW)
    assert (state.procedure, state.phase, state.lang) == ("deliberation", "DELIBERATE", "fr")
    assert [(one.tour, one.agent, one.kind) for one in state.entries] == [
        (1, "claude", "contribution"),
        (1, "gpt", "draft"),
        (1, "gpt", "contribution"),
        (1, "glm", "contribution"),
        (2, "gpt", "contribution"),
    ]
    assert state.entries[2].text == turn("claude=partial")
    assert due_agents(state) == ("glm",)
    assert "### Glm\nEn cours.\n\n*(a la parole" in statefile.render(state, page)


@pytest.mark.req("DL-056")
@pytest.mark.parametrize("done", range(8))
def test_damaged_block_is_rebuilt_in_every_phase(done: int):
    state = debate(rules=Rules(stability=False, max_rounds=2))
    for _ in range(done):
        if due_agents(state):
            others = [one for one in state.participants if one != due_agents(state)[0]]
            state = spoken(
                state, due_agents(state)[0], " ".join(f"{one}=partial" for one in others)
            )
    result = taken(lambda text: changed(text, '"rev": 0,', '"rev": 0'), state)
    assert result.state.copy(sealed={}) == state.copy(sealed={})
    assert result.events[0].type == "block.restored"


# Whatever a person writes


def _base() -> Conversation:
    state = spoken(debate(rules=Rules(stability=False)), "claude", confidence=9)
    state = round_of(spoken(state, "claude"), "partial")
    return spoken(spoken(state, "gpt", "claude=agree glm=agree"), "glm", "claude=agree")


BASE = _base()
OURS = statefile.render(BASE)
LINES = OURS.split("\n")
WORDS = ("words", "## Other", "### Other", "*(no answer: no)*", "- Speaker: x")


@pytest.mark.req("C0-044")
@pytest.mark.parametrize(
    "text",
    ["- Speaker: x", "One line.\nAnother line.", "A thought.\n\nOne more thought.\nIts end."],
)
def test_a_cut_file_that_is_saved_again_adds_nothing_once_the_answer_has_become_a_draft(text: str):
    at = max(number for number, line in enumerate(LINES) if "id=2-glm " in line)
    theirs = "\n".join([*LINES[:at], text, LINES[at]])
    result = taken(lambda _: theirs, BASE)
    assert [one.text for one in result.state.entries][-1] == text

    again = take_in(OURS, theirs, written(result), now=LATER, nonce="cd" * 16)

    assert again.state.entries == result.state.entries


@settings(max_examples=examples(150))
@given(scrambled_texts(LINES, most=5, words=WORDS))
@pytest.mark.req("DL-056", "C0-044")
def test_no_edit_loses_doubles_or_breaks_anything(theirs: str):
    assert BASE.participants["glm"].again == 2
    result = taken(lambda _: theirs, BASE)
    texts = [(one.id, one.text) for one in result.state.entries]
    for entry in BASE.entries:
        assert texts.count((entry.id, entry.text)) == 1
    assert len({key for key, _ in texts}) == len(texts)
    assert [one.verdict for one in result.state.rounds[:1]] == [BASE.rounds[0].verdict]
    again = take_in(OURS, theirs, written(result), now=LATER, nonce="cd" * 16)
    assert [one.id for one in again.state.entries] == [key for key, _ in texts]
