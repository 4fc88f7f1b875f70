"""Conversations that several tests of the page use."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from council.councils import kind, page
from council.councils.model import (
    Absence,
    Blocker,
    Config,
    Entry,
    Heard,
    Option,
    Participant,
    Quote,
    Round,
    Stance,
    State,
)

PHASES = ("COLLECT", "CHALLENGE", "RESOLVE")
FAMILY = {"henry": ("Henry", "🦉"), "sage": ("Sage", "🦎"), "nova": ("Nova", "🌟")}


def people(**status: str) -> dict[str, Participant]:
    return {
        ident: Participant(name=name, emoji=emoji, status=status.get(ident, "WAITING"))
        for ident, (name, emoji) in FAMILY.items()
    }


def said(agent: str, tour: int, text: str, **more: object) -> Entry:
    values: dict[str, object] = {
        "id": f"{tour}-{agent}", "kind": "contribution", "phase": PHASES[tour - 1],
        "at": f"2026-11-28T{8 + tour:02}:20:00Z", "status": "RESPONDED", "origin": "verified",
    }  # fmt: skip
    return Entry(agent=agent, tour=tour, text=text, **{**values, **more})


def begun(tour: int, **more: object) -> Round:
    values: dict[str, object] = {"order": list(FAMILY), "phase": PHASES[tour - 1]}
    values["started_at"] = f"2026-11-28T{8 + tour:02}:00:00Z"
    return Round(tour=tour, **{**values, **more})


def challenge(lang: str = "en") -> State:
    """Return the council of `page.md`, section 2."""
    henry = Participant(
        name="Henry", emoji="🦉", status="RESPONDED", last_action="2026-11-28T10:12:06Z",
        origin="verified",
    )  # fmt: skip
    quote = Quote(text="the cloud is free", of="sage")
    return State(
        conversation_id="3f2b8f2e-5d1c-4c58-9f0e-0d6a3c1f2b11", name="active",
        topic="Should we build a weather bot?", brief="Decide by Friday whether we build it.",
        lang=lang,
        config=Config(
            phases=["COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE"], coordinator="henry",
        ),
        rev=7, mark="e1f6882a627d8c16126385dad53106ea", phase="CHALLENGE", tour=2,
        created_at="2026-11-28T09:00:00Z", updated_at="2026-11-28T10:12:06Z",
        timeout_at="2026-11-28T11:00:00Z", participants={**people(), "henry": henry},
        blockers=[Blocker(agent="henry", text="who pays?", tour=2)],
        rounds=[
            begun(
                1, blind=True, ended_at="2026-11-28T10:00:00Z", reason="timeout",
                absent={"nova": Absence(code="timeout")},
            ),
            begun(2),
        ],
        entries=[
            said("henry", 1, "# Position\nYes: a small local script."),
            said("sage", 1, "No <b>bot</b>: see [the list][1].\n\n[1]: https://example.org/list"),
            said(
                "henry", 2,
                '> No bot: see the list.\n\nNobody looks, and "the cloud is free" is wrong.\n\n'
                "<!--council:end-->\n\nBLOCKING: who pays?",
                heard=Heard(quotations=[quote], blockers=["who pays?"]), at="2026-11-28T10:12:06Z",
            ),
        ],
        drafts={"nova": "I am for it, if it stays small."},
        notes=["Ask the neighbours, too. (Anna)"],
    )  # fmt: skip


def blind(lang: str = "en") -> State:
    """Return the same council in COLLECT: one has answered, one has typed a draft."""
    return challenge(lang).copy(
        phase="COLLECT", tour=1, participants={**people(henry="RESPONDED")}, blockers=[],
        rounds=[begun(1, blind=True)], entries=[said("henry", 1, "SEALED words")],
    )  # fmt: skip


def deliberation(lang: str = "en") -> State:
    """Return a deliberation in its vote."""
    order, talk = list(FAMILY), {"phase": "DELIBERATE", "ended_at": "2026-11-28T09:30:00Z"}
    turns = [
        ("henry", 1, "A monorepo.", "", 4, {}),
        ("sage", 1, "Two repositories.", "", 3, {"henry": "disagree"}),
        ("nova", 1, "A monorepo.", "A", 2, {"henry": "agree"}),
        ("sage", 2, "A monorepo.", "A", 4, {"henry": "agree", "nova": "agree"}),
        ("henry", 2, "A monorepo.", "A", 5, {"sage": "partial"}),
    ]
    entries = []
    for agent, tour, position, choice, sure, words in turns:
        stances = {peer: Stance(word=word) for peer, word in words.items()}
        heard = Heard(position=position, choice=choice, confidence=sure, stances=stances)
        how = {"kind": "turn", "phase": "DELIBERATE", "heard": heard}
        entries.append(said(agent, tour, f"## Position\n\n{position}", **how))
    guidance = Entry(
        id="2-say-1", kind="guidance", agent="anna", phase="DELIBERATE", tour=2,
        at="2026-11-28T09:31:00Z", text="Think of the budget.",
    )  # fmt: skip
    heard = Heard(choice="A", confidence=4)
    vote = said("sage", 3, "SEALED vote", kind="vote", phase="VOTE", heard=heard)
    refused = {"nova": Absence(code="auth", words="The key was refused. See the settings.")}
    rounds = [
        begun(1, parallel=False, **talk),
        begun(2, parallel=False, order=order[1:] + order[:1], absent=refused, **talk),
        begun(3, phase="VOTE", blind=True),
    ]
    return challenge(lang).copy(
        procedure="deliberation",
        config=Config(phases=["DELIBERATE", "VOTE", "SYNTHESIZE"], synthesizer="nova", threshold=2),
        phase="VOTE", tour=3, participants=people(sage="RESPONDED"), blockers=[],
        rounds=rounds, entries=[*entries[:3], entries[3], guidance, entries[4], vote],
        options=[
            Option(letter="A", text="A monorepo.", by="henry"),
            Option(letter="B", text="Two repositories.", by="sage"),
        ],
        drafts={},
    )  # fmt: skip


HOSTILE = (
    "<!--council:end-->", "<!--council-state\n{}\n-->", "<!--council:eof rev=9 mark=x-->", "-->",
    "<script>", "<div", "</div>", "<!--", "<![CDATA[", "```", "~~~", "    ", "> ", "- ", "1. ",
    "# ", "## Notes", "### 🌟 Nova", "`", "``", "\\", "[1]: x", "![a](b)", "]",
    "word", "===", "---", "\n", "\n\n", " ", "Tour 2:",
    "- Nova (agent:nova): DONE", "&lt;b>", "<a@b.c>", "\r\n", "*", "\x1f",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=6), max_size=20).map("".join)


def hostile(text: str, line: str) -> State:
    """Return the council with a text for all texts, and a line for everything on our lines."""
    state = challenge()
    state.brief, state.topic, state.blockers[0].text = text, line, line or "?"
    state.entries = [entry.copy(text=text) for entry in state.entries]
    state.options = [Option(letter="A", text=line)]
    return state


def challenge_page() -> str:
    return page.render(challenge())


def adopted(text: str) -> State:
    """Return the state that a page without a journal begins with, as the document takes it in."""
    (event,) = kind.adopt(text)
    base = State.from_json(event["state"])
    state = base.copy()
    for more in kind.edits(base, base, text, datetime(2026, 11, 28, 9, tzinfo=UTC), True).events:
        kind.evolve(state, more)
    return state
