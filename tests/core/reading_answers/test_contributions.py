"""The blockers and the status that a contribution states."""

from __future__ import annotations

import pytest

from council.core.reading_answers.cleaning import blockers_in, split_status
from tests.core.reading_answers.corpus import rows
from tests.timing import assert_linear


@pytest.mark.req("HR-011", "HR-012")
@pytest.mark.parametrize("row", rows("council"), ids=lambda row: row["id"])
def test_a_contribution_of_the_corpus_is_read_as_it_was_meant(row):
    issues = blockers_in(row["text"])
    said, stated = split_status(row["text"])
    counted = "agreed" if stated == "agreed" and not issues else "responded"
    assert {"blockers": issues, "status": counted} == row["expected"]
    assert not stated or "STATU" not in said.upper()


@pytest.mark.req("C0-080", "HR-011")
@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("BLOCKING: no budget", ["no budget"]),
        ("I agree.\nBLOCKING:  no budget  \nBLOCKING: no time\n", ["no budget", "no time"]),
        ("BLOQUANT : pas de budget", ["pas de budget"]),
        ("BLOQUANT\u202f: pas de budget", ["pas de budget"]),
        ("BLOCKING: no budget\r\nfine", ["no budget"]),
        ("- BLOCKING: in a list", ["in a list"]),
        ("  * **Blocker** – in a nested list.", ["in a nested list"]),
        ("3) BLOCKING — numbered", ["numbered"]),
        ("**BLOCKING: all of it in bold.**", ["all of it in bold"]),
        ("__Blocking issue:__ no rollback", ["no rollback"]),
        ("**BLOCKING** the budget is open", ["the budget is open"]),
        ("⛔ BLOCKING: with an emoji", ["with an emoji"]),
        ("🚫 **Blocker 2:** with an emoji", ["with an emoji"]),
        ("`BLOCKING:` the marker as code", ["the marker as code"]),
        ("[BLOCKING] as a tag", ["as a tag"]),
        ("Blocking concern (security): keys in the log", ["keys in the log"]),
        ("My main blocker: the price", ["the price"]),
        ("**Point bloquant :** le contrat.", ["le contrat"]),
        ("#### 2. Blocker: the permit", ["the permit"]),
        ("BLOCKING: nothing is documented", ["nothing is documented"]),
        ("BLOCKING: none of the vendors answers", ["none of the vendors answers"]),
        ("BLOCKING: no issue tracker exists", ["no issue tracker exists"]),
        ("BLOCKING: yes, the licence", ["the licence"]),
        ("BLOCKING: the file `a.py`. It lies", ["the file `a.py`. It lies"]),
        ("## Blocking issues\n\n- **Licence**: unread.\n- No owner\n\nElse fine.",
         ["Licence: unread", "No owner"]),
        ("**Blockers**\n\n1. one\n   and its rest\n2. two\n", ["one and its rest", "two"]),
        ("### BLOQUANT\n\nLe contrat n'est pas relu.\n\nLe reste va.",
         ["Le contrat n'est pas relu"]),
        ("## Blockers\n\nI see two:\n\n- a\n- b", ["a", "b"]),
        ("BLOCKING:\n- one\n- two", ["one", "two"]),
        ("## Blockers\n\n### No budget\n\nWhy.\n\n### No time\n\n## Rest\n\n### Fine",
         ["No budget", "No time"]),
        ("## Blockers\n\n- BLOCKING: one\n- BLOCKING: two", ["one", "two"]),
        ("<think>\nBLOCKING: a thought\n</think>\nBLOCKING: mine", ["mine"]),
        ("```text\nBLOCKING: an example\n```\nBLOCKING: mine", ["mine"]),
        ("````\n```\nBLOCKING: nested\n```\n````\nBLOCKING: mine", ["mine"]),
        ("```a code span``` and words\nBLOCKING: mine", ["mine"]),
    ],
)  # fmt: skip
def test_a_blocker_is_read_in_every_form_in_which_people_write_one(text, issues):
    assert blockers_in(text) == issues


@pytest.mark.req("C0-080", "HR-011")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing is BLOCKING: it is fine",
        "> BLOCKING: what sage said",
        "@sage wrote:\nBLOCKING: the licence\nThat is solved.",
        '"BLOCKING: the licence" is solved.',
        "    BLOCKING: an example",
        "`BLOCKING: an example`",
        "~~~\nBLOCKING: an example\n```\nBLOCKING: still\n~~~",
        "blocking: in lower case",
        "BLOCKING without a colon",
        "Blocking the release now would be wrong.",
        "Non-blocking: the colour",
        "Not blocking: the colour",
        "BLOCKING:",
        "BLOCKING:   \n\nI think we can go.",
        "BLOCKING: none.",
        "BLOCKING: None from my side; go on.",
        "**BLOCKING:** no blockers",
        "- Blockers: n/a",
        "Blocking issues: I have none.",
        "BLOCKING: no, the risk is small",
        "BLOQUANT : aucun",
        "BLOQUANT : rien de bloquant à ce stade",
        "Points bloquants : je n'en vois pas.",
        "BLOCKING: resolved since",
        "BLOCKING: the licence — withdrawn",
        "BLOCKING (resolved): the licence",
        "BLOCKING: ~~the licence~~",
        "~~BLOCKING: the licence~~",
        "BLOCKING: <one sentence>",
        "BLOCKING: …",
        "## Blocking issues\n\nNone.",
        "## Blocking issues\n\n- None",
        "### Blockers\n\nThere are no blocking issues left.",
        "### Points bloquants\n\nAucun.",
        "## Blockers\n\n## Next\n\n- a",
        "No blockers: go on.",
    ],
)
def test_quotations_code_and_words_that_deny_one_raise_no_blocker(text):
    assert blockers_in(text) == []


@pytest.mark.req("HR-012")
@pytest.mark.parametrize(
    ("text", "said", "status"),
    [
        ("Fine.\n\nSTATUS: AGREED", "Fine.", "agreed"),
        ("Fine.\nStatus: Agreed.", "Fine.", "agreed"),
        ("Fine.\n\n---\n**STATUS: AGREED** ✅\n", "Fine.", "agreed"),
        ("Fine.\n\n- `STATUS: RESPONDED`\n\n---", "Fine.", "responded"),
        ("Fine.\n\n### Status — AGREED", "Fine.", "agreed"),
        ("Fine.\n\n## Status\n\nAGREED", "Fine.", "agreed"),
        ("Fine.\n\n```\nSTATUS: AGREED\n```", "Fine.", "agreed"),
        ("I agree. STATUS: AGREED", "I agree.", "agreed"),
        ("**I agree.** **Status:** agreed", "**I agree.**", "agreed"),
        ("Bien.\n\n**Statut :** d’accord", "Bien.", "agreed"),
        ("Bien.\n\nSTATUT : ACCORD", "Bien.", "agreed"),
        ("Bien.\n\nSTATUT: RÉPONDU", "Bien.", "responded"),
        ("Fine.\n\nSTATUS: DONE", "Fine.", "done"),
        ("Fine.\n\nSTATUS: AGREED\n\nBLOCKING: none", "Fine.\n\nBLOCKING: none", "agreed"),
        ("STATUS: AGREED", "", "agreed"),
    ],
)
def test_the_last_line_may_state_the_status(text, said, status):
    assert split_status(text) == (said, status)


@pytest.mark.req("HR-012")
@pytest.mark.parametrize(
    "text",
    [
        "STATUS: AGREED would be wrong of me.",
        "STATUS: AGREED\n\nStill, the date worries me.",
        "I would not yet print STATUS: AGREED",
        "Fine.\n\nSTATUS: not agreed",
        "Fine.\n\nSTATUS: AGREED, but for the date",
        "Fine.\n\nSTATUS: AGREED | RESPONDED",
        "Fine.\n\n> STATUS: AGREED",
        "The status of this: agreed by all",
        "We are agreed.",
        "",
    ],
)
def test_anything_else_than_a_last_line_with_one_status_states_none(text):
    assert split_status(text) == (text, "")


@pytest.mark.parametrize("piece", ["BLOCKING", "- Blockers:\n", "**", "STATUS: ", "# ", "a:\n-"])
def test_reading_takes_time_in_proportion_to_the_text(piece):
    def read(size: int) -> None:
        text = "BLOCKING status\n" + piece * size
        blockers_in(text)
        split_status(text)

    assert_linear(read, 1000, 32_000, 32)
