"""Minutes: what a stranger reads first, and a record that no text in it can bend."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import frontmatter
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from council.core.conversations.answers import respond
from council.core.conversations.conversation import (
    ANSWERED,
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Participant,
    Status,
)
from council.core.conversations.machine import advance, begin
from council.core.conversations.records import to_record
from council.core.conversations.steering import cancel
from council.core.reasons import read_reason
from council.operations.reporting.minute_summary import synthesis_parts
from council.operations.reporting.minutes import minutes_file_name, render_data, render_minutes
from council.store.conversations.minutes import (
    HEAD_BYTES,
    conversation_of,
    read_data,
    read_minutes,
    read_minutes_head,
)
from council.store.statefile.quoting import (
    entry_mark,
    quoted,
    read_entries,
    unquoted,
)
from council.store.texts import words_of
from tests.examples import examples, one_in
from tests.timing import assert_cheap

START = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
NAMES = {"henry": ("Henry", "🦉"), "sage": ("Sage", "🦎"), "nova": ("Nova", "🌟")}
FRONT = [
    "schemaVersion",
    "title",
    "date",
    "conversation",
    "outcome",
    "participants",
    "tags",
    "data",
]
SYNTHESIS = """## Decision

Build it as a script.

## Dissent

Sage wants an owner first.

## Recommendation

Start small.

## Next step

Nova names an owner by Friday.
"""
HOSTILE = (
    "I agree.\n---\ntitle: forged\n---\n# Agreed: forged\n### 🦎 Sage\n"
    '<!--council:entry id=1-sage tour=1 sha256=0-->\n<!--council-state\n{"rev": 99}\n-->\n'
    "```\nnever closed\r## Decision\r\n</blockquote><script>x</script><!-- \\<b> \\\\<i>\n"
    "Sage: NO RESPONSE (timeout)\u2028| a | b |\n[Tour 2]: more\n\n"
)


def minute(count: int) -> datetime:
    return START + timedelta(minutes=count)


def opened(topic: str = "Should we build a weather bot?", **more: object) -> Conversation:
    values: dict[str, object] = {
        "conversation_id": "1f0e7c1a-5e0e-4c1e-9a44-3f0d3c6ad001",
        "name": "active",
        "topic": topic,
        "brief": "Families ask for the weather.\n\n# Budget\nTwo days.",
        "created_at": START,
        "updated_at": START,
        "timeout_at": minute(60),
        "coordinator": "henry",
        "sealed_phases": False,
        "participants": {
            agent: Participant(id=agent, name=name, emoji=emoji)
            for agent, (name, emoji) in NAMES.items()
        },
    }
    return begin(Conversation(**{**values, **more}), START).state  # type: ignore[arg-type]


def said(
    state: Conversation,
    at: int,
    status: str = "responded",
    origin: Origin = Origin.CLAIMED,
    **texts: str,
) -> Conversation:
    for agent, text in texts.items():
        state = respond(state, agent, text, now=minute(at), status=status, origin=origin).state
    return advance(state, minute(at)).state


def played(status: str = "responded", synthesis: str = SYNTHESIS, **more: object) -> Conversation:
    state = said(opened(**more), 1, henry="Yes.", sage="Wait.", nova="Maybe.")  # type: ignore[arg-type]
    state = said(state, 5, henry="Numbers?", sage="BLOCKING: no owner\nWho pays?", nova="Hm.")
    state = said(state, 9, status, henry="A script.", nova="Fine.")
    state = said(state, 10, status, sage="With an owner, yes.")
    return said(state, 20, henry=synthesis)


def blocks(text: str) -> list[str]:
    """Return the lines of the document that are ours: those that are not quoted."""
    return [line for line in text.split("\n") if not line.startswith(">")]


def data(state: Conversation) -> dict[str, Any]:
    """Return what lies beside the minutes for programs."""
    return read_data(render_data(state, now=minute(30)))


@pytest.mark.req("C0-030")
def test_the_file_is_named_after_day_and_subject() -> None:
    state = opened('Où: "le --- café"\n# 🦉?')
    assert minutes_file_name(state, minute(0)) == "2026-02-08-ou-le-cafe.md"


@pytest.mark.req("C0-079")
def test_agreement_is_told_by_title_and_front_matter() -> None:
    text = render_minutes(played("agreed"), now=minute(30))
    assert "# Agreed: Should we build a weather bot?" in text.split("\n")
    meta = data(played("agreed"))["facts"]
    assert (meta["outcome"], meta["consensus"]) == ("consensus", True)
    assert meta["closed_reason"] == "consensus"
    assert read_minutes(text)["outcome"] == "consensus"
    assert "None on record: Henry, Sage, Nova declared agreement" in text


@pytest.mark.req("C0-079", "C0-080")
def test_no_agreement_names_the_blocker_and_who_raised_it() -> None:
    text = render_minutes(played(), now=minute(30))
    assert "# No agreement: Should we build a weather bot?" in text.split("\n")
    meta = data(played())["facts"]
    assert (meta["outcome"], meta["consensus"]) == ("disagreement", False)
    assert meta["closed_reason"] == "phases_exhausted"
    assert "- BLOCKING: no owner (raised by Sage, round 2, CHALLENGE)" in blocks(text)


def test_who_did_not_agree_when_others_did_is_named_with_the_last_words() -> None:
    state = said(opened(phases=("COLLECT", "CHALLENGE", "SYNTHESIZE")), 1, henry="A", nova="B")
    state = said(state, 2, sage="C")
    state = said(state, 5, "agreed", henry="Good.", nova="Good.")
    state = said(state, 6, sage="No. It costs too much.")
    state = said(state, 9, henry="We build it.")
    text = render_minutes(state, now=minute(10))
    assert read_minutes(text)["outcome"] == "no-consensus"
    assert (
        "- Sage did not declare agreement; last word in round 2, CHALLENGE: "
        "“No. It costs too much.”" in blocks(text)
    )


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_every_status_that_an_answer_may_have_has_its_sentence(lang: str) -> None:
    assert {f"answered.{one.lower()}" for one in ANSWERED} <= words_of(lang, "minutes").keys()


@pytest.mark.req("C0-073", "C0-079", "C0-063")
def test_a_timeout_names_the_absent_each_on_a_line_of_its_own() -> None:
    state = said(opened(), 1, henry="Yes.")
    for hour in range(1, 12):
        state = advance(state, minute(61 * hour)).state
    text = render_minutes(state, now=minute(999))
    assert "# Timed out: Should we build a weather bot?" in text.split("\n")
    assert "- Sage: NO RESPONSE (timeout)" in blocks(text)
    assert blocks(text).count("- Nova: NO RESPONSE (timeout)") == 1
    assert "  - round 1, COLLECT" in blocks(text)
    meta = data(state)["facts"]
    assert meta["outcome"] == meta["closed_reason"] == "timeout"
    assert meta["absent"] == ["henry", "sage", "nova"]
    assert "## Automatic digest (no synthesis was written)" in blocks(text)
    assert "## Decision" not in blocks(text)


@pytest.mark.req("C0-073")
def test_the_reason_of_a_failed_run_stands_below_the_exact_line() -> None:
    state = said(opened(), 1, henry="Yes.", nova="Yes.")
    state = advance(state, minute(61)).state
    state.rounds[0].absent["sage"] = read_reason("exit status 3")
    lines = blocks(render_minutes(state, now=minute(62)))
    at = lines.index("- Sage: NO RESPONSE (failed)")
    assert lines[at + 1] == "  - round 1, COLLECT: exit status 3"


@pytest.mark.req("XC-012")
def test_french_minutes_tell_in_french_who_ended_the_round_that_was_missed() -> None:
    state = said(opened(), 1, henry="Yes.", nova="Yes.").copy(lang="fr")
    state = advance(state, minute(61)).state
    state.rounds[0].absent["sage"] = read_reason("stopped")
    state.rounds[1].absent["sage"] = read_reason("timeout")
    lines = blocks(render_minutes(state, now=minute(62)))
    at = lines.index("- Sage: NO RESPONSE (timeout)")
    assert lines[at + 1] == "  - tour 1, COLLECT : arrêté"


@pytest.mark.req("C0-073")
@pytest.mark.parametrize(("closed_by", "cause"), [("", "timeout"), ("stopped", "stopped")])
def test_only_a_round_ended_by_hand_has_another_cause(closed_by: str, cause: str) -> None:
    state = advance(said(opened(), 1, henry="Yes.", nova="Yes."), minute(61)).state
    state.rounds[0].reason = closed_by
    assert f"- Sage: NO RESPONSE ({cause})" in blocks(render_minutes(state, now=minute(62)))


@pytest.mark.req("C0-079")
def test_a_cancelled_conversation_keeps_what_was_said_and_claims_no_decision() -> None:
    state = cancel(said(opened(), 1, henry="Yes."), minute(7)).state
    text = render_minutes(state, now=minute(8))
    assert "# Cancelled: Should we build a weather bot?" in text.split("\n")
    assert data(state)["facts"]["closed_reason"] == "cancelled"
    assert "- Sage: NO RESPONSE (cancelled)" in blocks(text)
    assert "No synthesis was written, so no decision is on record." in blocks(text)
    assert read_entries(text)["1-henry"] == "Yes."


def test_settled_by_hand_is_not_called_an_agreement() -> None:
    state = played().copy(
        closed_reason=ClosedReason.CONSENSUS, status=Status.CONVERGED, blocking_issues=[]
    )
    assert "# Declared settled:" in render_minutes(state, now=minute(30))


@pytest.mark.req("C0-063", "C0-030")
def test_decision_dissent_and_next_step_stand_before_everything_else() -> None:
    text = render_minutes(played("agreed"), now=minute(30))
    titles = [line for line in blocks(text) if line.startswith("## ")]
    assert titles == [
        "## Decision",
        "## Dissent and blockers",
        "## Recommendation",
        "## Next step",
        "## In short",
        "## Brief",
        "## Round 1: COLLECT",
        "## Round 2: CHALLENGE",
        "## Round 3: RESOLVE",
        "## Timings",
        "## Authorship",
    ]
    assert text.index("> Build it as a script.") - text.index("\n# Agreed") < 900
    assert "> Nova names an owner by Friday." in text[: text.index("## In short")]
    assert data(played("agreed"))["texts"]["4-henry"] == SYNTHESIS


def test_a_synthesis_without_headings_is_shown_whole_and_first() -> None:
    text = render_minutes(played(synthesis="We build it, says Henry."), now=minute(30))
    titles = [line for line in blocks(text) if line.startswith("## ")]
    assert titles[:2] == ["## Synthesis", "## Dissent and blockers"]
    assert text.count("> We build it, says Henry.") == 1


def test_the_box_tells_who_how_long_and_how_many_rounds() -> None:
    lines = blocks(render_minutes(played("agreed"), now=minute(30)))
    assert "- **Took part**: 🦉 Henry, 🦎 Sage, 🌟 Nova" in lines
    assert "- **Rounds**: 4 (COLLECT, CHALLENGE, RESOLVE, SYNTHESIZE)" in lines
    assert "- **Duration**: 20m, from 2026-02-08 20:00Z to 2026-02-08 20:20Z" in lines
    assert "- **Synthesis by**: 🦉 Henry (claimed)" in lines


@pytest.mark.req("XC-012")
def test_french_minutes_recognise_french_headings() -> None:
    synthesis = (
        "## Décision\n\nOn le fait.\n\n**Désaccord :** Sage.\n\n### Prochaine étape\nVendredi."
    )
    text = render_minutes(played("agreed", synthesis, lang="fr"), now=minute(30))
    lines = blocks(text)
    assert "# Accord : Should we build a weather bot?" in lines
    for title in ("## Décision", "## Désaccords et points bloquants", "## Prochaine étape"):
        assert title in lines
    assert "## Tour 1 : COLLECT" in lines
    assert read_minutes(text)["title"] == "Accord : Should we build a weather bot?"


@pytest.mark.req("XC-010")
def test_hostile_contributions_change_no_line_but_their_own() -> None:
    def lines(text: str) -> list[str]:
        state = said(opened(phases=("COLLECT", "SYNTHESIZE")), 1, henry="Yes.", nova=text)
        state = said(said(state, 2, sage="No."), 3, henry=text)
        rendered = render_minutes(state, now=minute(4))
        assert data(state)["texts"]["1-nova"] == text
        assert read_entries(rendered).keys() == {one.id for one in state.entries}
        assert data(state).items() >= to_record(state).items()
        return [
            line
            for line in blocks(rendered)
            if "sha256" not in line and not line.startswith("*Every text")
        ]

    tame = [line for line in lines("I agree.") if line]
    assert [line for line in lines(HOSTILE) if line] == tame


@pytest.mark.req("XC-010")
def test_hostile_text_cannot_open_or_close_markup() -> None:
    text = render_minutes(played(brief=HOSTILE, synthesis=HOSTILE), now=minute(30))
    for markup in ("<script", "</blockquote", "</script"):
        assert text.replace(f"\\{markup}", "").count(markup) == 0


LIVE = """\
[a](javascript:alert(1)) ![b](https://evil.example/b.png "t") [c][d] ![e][d] [d] [d][] f\\[g](h:i)
![[embedded]] [[page|alias]] <javascript:alert(1)> <https://evil.example> <j@evil.example>
<img src=x onerror=alert(1)> <!-- hidden --> [![k](l)](m) [n](<o> 'p') `[` [q](r) \\`[s](t)
https://evil.example www.evil.example mailto:u@evil.example WWW.evil.example obsidian://open?v=x

[d]: javascript:alert(1)
[v]:
  <https://evil.example> "title"

- [w](x)
  1. [y]: z:a

| [h](i) |
|---|
| [j](k) |
\x1b]0;owned\x07\x9b31m\u202e\u2066\u061c\u200e end"""


@pytest.mark.req("SC-005")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_no_text_in_minutes_is_a_link_an_image_or_an_order_to_a_terminal(lang: str) -> None:
    state = played(brief=LIVE, synthesis=LIVE, topic=LIVE, lang=lang)
    for one in state.participants.values():
        one.name, one.role, one.emoji = LIVE, LIVE, LIVE
    for entry in state.entries:
        entry.text = LIVE
    text = render_minutes(state, now=minute(30))

    body = text.split("\n---\n", 1)[1]
    parsed = MarkdownIt("commonmark").enable("table").parse(body)
    inner = [child for token in parsed for child in [token, *(token.children or [])]]
    kinds = {token.type for token in inner}
    raw = [one.content.strip() for one in inner if one.type.startswith("html")]
    assert {"blockquote_open", "heading_open"} <= kinds
    assert not kinds & {"link_open", "image"}
    assert all(one.startswith("<!--council:entry ") for one in raw)
    for live in ("https://", "obsidian://", "www.evil", "WWW.evil", "u@evil", "[[page", "](", "]:"):
        assert live not in body
    shown = "".join(one.content for one in inner if one.type in ("text", "text_special"))
    for readable in ("https://evil.example", "javascript:alert(1)", "[[page|alias]]", "end"):
        assert readable in shown
    assert [one for one in body if not one.isprintable() and one != "\n"] == []
    assert set(data(state)["texts"].values()) == {LIVE}


@given(st.text(st.sampled_from("a\\<>!/b \n#`-"), max_size=60))
@settings(max_examples=examples(200), deadline=None)
def test_every_text_comes_out_as_it_went_in(text: str) -> None:
    assert unquoted(quoted(text)) == text
    page = f"\n{entry_mark('1-sage', 1, 'ab')}\n*facts*\n\n{quoted(text)}\n\n## Next\n"
    assert read_entries(page) == {"1-sage": text}


@pytest.mark.parametrize(
    "topic",
    [
        "a: b",
        "\"quoted\" and 'single'",
        "two\nlines\n---\ntitle: x",
        "---",
        "🦉 emoji",
        "- item",
        "[x]: {y} & *z !tag %d @at `c`",
        "# heading",
        "null",
        "2026-02-08",
        "trailing\\ \x07bell\x85next",
        "<!--council-state",
    ],
)
def test_no_topic_breaks_the_front_matter_or_the_title(topic: str) -> None:
    text = render_minutes(opened(topic), now=minute(1))
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in topic).split())
    assert frontmatter.loads(text).metadata["title"] == f"Still open: {plain}"
    assert read_minutes(text)["title"] == f"Still open: {plain}"
    titles = [line for line in blocks(text) if line.startswith("# ")]
    assert len(titles) == 1
    assert len(text[: text.index("\n# Still open")].split("\n---")) == 2


@pytest.mark.req("XC-013")
def test_front_matter_and_data_carry_version_and_all_keys() -> None:
    front = read_minutes(render_minutes(played("agreed"), now=minute(30)))
    assert list(front) == FRONT
    meta = data(played("agreed"))["facts"] | front
    assert meta["schemaVersion"] == 1
    assert meta["date"] == "2026-02-08"
    assert meta["conversation"] == "1f0e7c1a-5e0e-4c1e-9a44-3f0d3c6ad001"
    assert (meta["name"], meta["mode"], meta["procedure"]) == ("active", "debate", "council")
    assert meta["participants"] == ["henry", "sage", "nova"]
    assert (meta["rounds"], meta["duration"], meta["absent"]) == (4, "20m", [])
    assert meta["tags"] == ["council", "debate", "consensus"]
    assert meta["data"] == "2026-02-08-should-we-build-a-weather-bot.json"


@pytest.mark.req("XC-013", "C0-014")
def test_the_state_at_the_end_reads_back_with_unknown_fields() -> None:
    state = played("agreed")
    state.extra = {"fromTheFuture": "--> <!-- --- "}
    assert data(state).items() >= to_record(state).items()
    assert conversation_of(data(state)) == state
    assert "<!--council-state" not in render_minutes(state, now=minute(30))


@pytest.mark.req("XC-014")
def test_one_process_that_answers_for_several_stands_out() -> None:
    state = said(opened(), 1, origin=Origin.VERIFIED, henry="Yes.")
    state = said(state, 2, sage="No.", nova="No.")
    lines = blocks(render_minutes(state, now=minute(3)))
    assert "*2026-02-08 20:01Z · verified · RESPONDED*" in lines
    assert "*2026-02-08 20:02Z · claimed · RESPONDED*" in lines
    assert any(line.startswith("**Texts of several agents are claimed") for line in lines)
    assert "- Sage: 1 claimed (1-sage)" in lines
    assert not [line for line in lines if line.startswith("- Henry: ")]


def test_an_invented_quotation_is_marked() -> None:
    state = said(opened(), 1, henry="We should wait a season.", sage="No.", nova="No.")
    state = said(state, 2, nova='@henry\n> wait a season\n\n@henry: "never do it at all"')
    lines = blocks(render_minutes(state, now=minute(3)))
    assert "- ✓ “wait a season”: found in what Henry said" in lines
    assert "- ✗ “never do it at all”: NOT FOUND in what Henry said" in lines


def test_late_contributions_and_guidance_stand_apart_from_the_rounds() -> None:
    state = said(opened(), 1, henry="Yes.", sage="No.", nova="No.")
    task = f"{state.conversation_id}.1.nova.1"
    late = respond(state, "nova", "Sorry, here.", now=minute(5), task=task).state
    late.entries.append(
        Entry(
            id="2-guidance",
            kind=EntryKind.INJECTION,
            agent="anna",
            phase="CHALLENGE",
            tour=2,
            at=minute(6),
            text="Keep it short.",
            digest="",
            target="sage",
        )
    )
    text = render_minutes(late, now=minute(9))
    after = text[text.index("## Late contributions") :]
    assert "> Sorry, here." in after[: after.index("## Guidance from outside")]
    assert "round 2, CHALLENGE · to Sage" in after
    assert "> Keep it short." in after


def test_timings_tell_who_answered_when() -> None:
    lines = blocks(render_minutes(played("agreed"), now=minute(30)))
    assert (
        "| 3 | RESOLVE | 2026-02-08 20:05Z | 5m | all agreed | Henry 4m, Nova 4m, Sage 5m |"
        in lines
    )
    assert "| 4 | SYNTHESIZE | 2026-02-08 20:10Z | 10m | written | Henry 10m |" in lines


def test_front_matter_edited_by_a_person_is_read_as_far_as_it_goes() -> None:
    text = render_minutes(played("agreed"), now=minute(30))
    edited = text.replace("outcome: consensus", "outcome: consensus\nrating: good\nbroken: [a\n")
    meta = read_minutes(edited.replace("\n", "\r\n"))
    assert meta["outcome"] == "consensus"
    assert meta["rating"] == "good"
    assert read_minutes("# no front matter") == {}
    assert read_minutes("---\nnever: closed") == {}
    assert read_minutes("---\n- a list\n---\n") == {}


def test_the_first_bytes_are_enough_for_a_list() -> None:
    text = render_minutes(played("agreed", topic="long " * 300), now=minute(30))
    assert read_minutes_head(text.encode()[:HEAD_BYTES]) == read_minutes(text)
    crowd = {f"agent-{n}": Participant(id=f"agent-{n}") for n in range(900)}
    many = render_minutes(opened(participants=crowd), now=minute(1)).encode()
    head = read_minutes_head(many[:HEAD_BYTES])
    assert head["title"] == "Still open: Should we build a weather bot?"
    assert head["outcome"] == "open"
    assert read_minutes_head("é".encode() * 4000) == {}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("# The decision\nGo.\n# Next steps\nNow.", ["decision", "next-step"]),
        ("**Décision** : on y va\n\n**Prochaines étapes**\n\nDemain", ["decision", "next-step"]),
        ("Decision: go\nRecommendation: slowly", ["decision", "recommendation"]),
        ("## 1. Decision\n### Recommendation\nGo.", ["recommendation"]),
        ("```\n## Decision\nno\n```", []),
        ("We took the decision: go", []),
        ("## Decision\n\n## Dissent\n", []),
        ("", []),
    ],
)
def test_usual_headings_of_a_synthesis_are_recognised(text: str, kinds: list[str]) -> None:
    assert [part.kind for part in synthesis_parts(text)] == kinds


@given(st.text(st.sampled_from("#* \n`~:Decisonxt p"), max_size=80))
@settings(max_examples=examples(150), deadline=None)
def test_a_part_is_always_words_of_the_text(text: str) -> None:
    for part in synthesis_parts(text):
        assert part.text in text


@pytest.mark.parametrize(
    "piece",
    one_in(3, ["\\", "\\<", "<a", "# Decision\n", "**Dissent**\nx\n", "> a b c d\n", "x\r"]),
)
def test_no_text_makes_the_minutes_slow(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    state = played("agreed", synthesis=text)

    def write_and_read() -> None:
        assert render_minutes(state, now=minute(30))
        assert data(state)["texts"]["4-henry"] == text

    assert_cheap(write_and_read, within_s=5)
