"""A process that lives long: what it remembers of a conversation is what a fresh one reads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.conversations import answers, machine, steering
from council.core.conversations.conversation import Conversation, Step
from council.core.errors import CouncilError
from council.store.conversations.conversations import Conversations
from council.store.paths import Workspace
from council.store.statefile import statefile
from tests.examples import examples
from tests.store import councils, debates
from tests.store.conversations.remembering import nothing_remembered
from tests.store.councils import NOW
from tests.store.scrambling import scrambled_texts

NAMES = {"first": councils.opened, "second": debates.debate}
AGENTS = ("henry", "sage", "claude", "gpt")
WORDS = (
    "# Active conversation: Another topic",
    "- 🐢 Rex (agent:henry): DONE",
    "- Henry (agent:sage): WAITING",
    "- New One (agent:newone): WAITING",
    "- Status: TIMEOUT",
    "- Current phase: SYNTHESIZE",
    "- Mode: review",
    "## Éléments",
    "### 🦎 Somebody",
    "A remark.",
    "",
)


def said(agent: str, text: str, status: str) -> Callable[[Conversation], Step]:
    def change(state: Conversation) -> Step:
        step = answers.respond(state, agent, text, now=NOW, nonce="n" * 32, status=status)
        return step.then(machine.advance(step.state, NOW, ours=True))

    return change


CHANGES = st.one_of(
    st.builds(
        said,
        st.sampled_from(AGENTS),
        st.sampled_from(("Yes.", "No.", debates.turn("gpt=agree"), "<!--council:end-->\n## Brief")),
        st.sampled_from(("responded", "responded", "done")),
    ),
    st.sampled_from(
        (
            lambda state: answers.inject(state, "Be brief.", author="eve", now=NOW),
            lambda state: machine.advance(state, NOW + timedelta(hours=2)),
            lambda state: steering.pause(state, NOW),
            lambda state: steering.resume(state, NOW),
            lambda state: Step(state=state),
        )
    ),
)


def edited_by_hand(draw: st.DrawFn, live: Path) -> None:
    lines = live.read_text().split("\n")
    live.write_text(draw(scrambled_texts(lines, most=2, words=WORDS)), "utf-8", "surrogatepass")


def assert_all_agree(warm: Conversations, name: str) -> None:
    try:
        standing = warm.edit(name, lambda state: Step(state=state), now=NOW).state
    except CouncilError as error:
        with nothing_remembered(), pytest.raises(type(error)):
            Conversations(warm.workspace).edit(name, lambda state: Step(state=state), now=NOW)
        return
    with nothing_remembered():
        fresh = Conversations(warm.workspace)
        read, last = fresh.read(name), fresh.page(name, NOW).last
        assert statefile.render(*statefile.load(last, "file")) == last
    assert standing.copy(sealed={}) == read.copy(sealed={})


@pytest.mark.long
@settings(max_examples=examples(40))
@given(st.data())
def test_it_says_what_a_fresh_one_says_whatever_others_do_meanwhile(data: st.DataObject):
    draw = data.draw
    with (
        tempfile.TemporaryDirectory() as root,
        pytest.MonkeyPatch.context() as patch,
    ):
        for call in ("fsync", "fdatasync"):  # nothing is cut off here, and it is much quicker
            patch.setattr(os, call, lambda _descriptor: None)
        warm = Conversations(Workspace(root))
        sealed = draw(st.booleans())
        for name, made in NAMES.items():
            state = made(name=name, conversation_id=f"id-of-{name}", sealed_phases=sealed)
            warm.create(state, now=NOW)
        for _ in range(draw(st.integers(1, 8))):
            name = draw(st.sampled_from(tuple(NAMES)))
            live = Path(warm.workspace.conversation_file(name))
            how = draw(st.sampled_from(("warm", "warm", "fresh", "by hand", "restored", "adopted")))
            try:
                if how == "warm":
                    warm.edit(name, draw(CHANGES), now=NOW)
                elif how == "fresh":
                    change = draw(CHANGES)
                    with nothing_remembered():
                        Conversations(warm.workspace).edit(name, change, now=NOW)
                elif how == "by hand":
                    edited_by_hand(draw, live)
                elif how == "restored":
                    warm.restore(name, draw(st.integers(0, 3)), now=NOW)
                else:
                    warm.adopt(name, now=NOW)
            except CouncilError:
                pass
            assert_all_agree(warm, name)
