"""Advice on tokens: one warning for each rule, and none for what is short already."""

from __future__ import annotations

import pytest

from council.wire.economy import RULES, lint
from tests.wire.readings import PLAIN
from tests.wire.test_v3 import FLOW as V3_FLOW

SAYS_MUCH = "analyse of all the config files is done"


def rules(*messages: str, version: str | None = None) -> list[tuple[int, str]]:
    return [(advice.message, advice.rule) for advice in lint(messages, version)]


@pytest.mark.req("PR-008", "PR-208", "PR-314")
@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("L_POLITE", "M1|O1>W1|R|T1|-|-|-|0|S1|-|please scan"),
        ("L_POLITE", "M1|O1>W1|R|T1|-|-|-|0|S1|-|scan s'il te plaît"),
        ("L_POLITE", "[MSG_01]\nFROM: WORKER\nTO: ORCHESTRATOR\nTYPE: RES\nDATA: merci"),
        ("L_POLITE", "MSG_01|O|A|TASK_01|Thanks!"),
        ("L_KEYWORDS", "M1|O1>W1|R|T1|-|-|-|0|S1|-|" + "word " * 13),
        ("L_KEYWORDS", "MSG_01|O|R|TASK_01|" + "word " * 13),
        ("L_ABBREVIATION", "MSG_01|O1>W1|request|TASK_01|-|N|scan"),
        ("L_ABBREVIATION", "MSG_01|orchestrator|R|TASK_01|scan"),
        ("L_PREFIX", "MSG_01|FROM:O|R|TASK_01|scan"),
        ("L_ONE_LINE", "MSG_01|O|R|TASK_01|scan\nlogs"),
        ("L_UNUSED", "M1|O1>W1|R|T1||N|-|0|S1|-|scan"),
        ("L_UNUSED", "MSG_01|O1>W1|R|TASK_01|||scan"),
        ("L_LONG_ID", "M0001|O1>W1|R|T1|-|-|-|0|S1|-|scan"),
        ("L_LONG_ID", "M1|O1>W1|R|TASK_01|-|-|-|scan"),
        ("L_ROUTE", "MSG_01|O1|W1|R|TASK_01|-|scan"),
        ("L_DEFAULT_PRIORITY", "MSG_01|O1>W1|R|TASK_01|P1|N|scan"),
        ("L_DEFAULT_PRIORITY", "M1|O1>W1|R|T1|P1|N|-|0|S1|-|scan"),
        ("L_CODE_ONLY", "MSG_05|W|E|TASK_01|E01:file not found"),
        ("L_CODE_ONLY", "MSG_05|W|E|TASK_01|E01:Fichier introuvable"),
        ("L_DATA", "M1|O1>W1|R|T1|-|-|-|0|S1|-|" + "x" * 201),
        ("L_DATA", "MSG_01|O1>W1|R|TASK_01|-|N|" + "x" * 201),
    ],
)
def test_each_rule_gives_one_warning(rule: str, text: str):
    assert rules(text) == [(1, rule)]


@pytest.mark.req("PR-008", "PR-208", "PR-314")
def test_a_payload_said_before_is_to_be_referred_to():
    first = f"M1|W1>O1|S|T1|-|D|-|0|S1|-|{SAYS_MUCH}"
    again = f"M2|O1>W2|R|T2|-|N|-|0|S1|-|{SAYS_MUCH}"

    assert rules(first, again) == [(2, "L_REPEATED")]
    assert rules(f"MSG_01|O|R|TASK_01|{SAYS_MUCH}", f"MSG_02|W|S|TASK_01|{SAYS_MUCH}") == [
        (2, "L_REPEATED")
    ]
    assert rules(first, again.replace(SAYS_MUCH, "#REF:T1:S")) == []


@pytest.mark.req("PR-314")
def test_three_copies_of_a_message_make_a_broadcast():
    copies = [f"MSG_0{n}|O1>W{n}|R|TASK_0{n}|-|N|stop" for n in (1, 2, 3)]

    assert rules(*copies) == [(3, "L_COPIES")]
    assert rules(*copies[:2]) == []


@pytest.mark.req("PR-314")
def test_a_state_is_told_only_when_it_changes():
    first = "MSG_01|W1>O1|U|TASK_01|-|R|progress=10%"

    assert rules(first, "MSG_02|W1>O1|C|TASK_01|-|R|which?") == [(2, "L_STATE")]
    assert rules(first, "MSG_02|W1>O1|C|TASK_01|-|-|which?") == []
    assert rules(first, "MSG_02|W1>O1|S|TASK_01|-|D|done") == []


@pytest.mark.parametrize("sender", ["W1", "W2"])
def test_one_sign_of_life_a_cycle_is_enough(sender: str):
    first = "M1|W1>O1|H|-|-|R|-|load=45%;queue=2"
    second = f"M2|{sender}>O1|H|-|-|R|-|load=46%;queue=2"

    assert rules(first, second) == ([(2, "L_LIVENESS")] if sender == "W1" else [])


def test_several_values_go_into_one_data():
    first = "M1|W1>O1|U|T1|-|R|-|files=3"

    assert rules(first, "M2|W1>O1|U|T1|-|-|-|errors=0") == [(2, "L_ONE_DATA")]
    assert rules(first, "M2|W2>O1|U|T2|-|-|-|errors=0") == []


@pytest.mark.parametrize("version", ["V1", "V2", "V4"])
def test_a_short_message_gets_no_advice(version: str):
    assert rules(PLAIN[version]) == []


def test_the_flows_of_the_document_get_advice_on_the_default_priority_and_states_alone():
    assert {rule for _, rule in rules(*V3_FLOW.splitlines())} <= {"L_DEFAULT_PRIORITY", "L_STATE"}


def test_advice_is_told_in_both_languages():
    (advice,) = lint(["M1|O1>W1|R|T1|-|-|-|0|S1|-|merci"])

    assert advice.to_record() == {"rule": "L_POLITE", "message": 1, "text": RULES["L_POLITE"][0]}
    assert advice.text("fr") == RULES["L_POLITE"][1]
