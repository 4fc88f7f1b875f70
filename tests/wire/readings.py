"""What the tests of the wire ask of a reading, and texts of every version."""

from __future__ import annotations

from hypothesis import strategies as st

from council.wire.messages import parse

V1 = "[MSG_01]\nFROM: ORCHESTRATOR\nTO: WORKER\nTYPE: REQ\nTASK: TASK_01\nDATA: scan logs"
V2 = "MSG_01|O|R|TASK_01|scan logs"
V3 = "MSG_01|O1>W1|R|TASK_01|P0|N|scan logs"
V4 = "M1|O1>W1|R|T1|P0|N|-|scan logs"
V5 = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|scan logs"
V5D = "M1|O1>W1|R|T1|P0|N|-|S1:A3F2:8B4C1D2E|X1:-:14523|$1 logs"
PLAIN = {"V1": V1, "V2": V2, "V3": V3, "V4": V4, "V5": V5, "V5D": V5D}


def faults(text: str | bytes, version: str | None = None) -> list[tuple[str, str, int | None]]:
    return [(one.code, one.rule, one.segment) for one in parse(text, version).errors]


def changed(version: str, segment: int, value: str) -> str:
    """Return the plain message of a version with another value in one segment, from 1."""
    segments = PLAIN[version].split("|")
    segments[segment - 1] = value
    return "|".join(segments)


def block(**lines: str | None) -> str:
    """Return a V1 block with other lines; None leaves one out, `header` is the first."""
    given: dict[str, str | None] = {
        "FROM": "ORCHESTRATOR",
        "TO": "WORKER",
        "TYPE": "REQ",
        "TASK": "TASK_01",
        "DATA": "scan logs",
    }
    header = lines.pop("header", "[MSG_01]")
    given.update(lines)
    told = [f"{name}: {value}" for name, value in given.items() if value is not None]
    return "\n".join([str(header), *told])


# What DATA may hold in every version.
DATA = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="|>"),
    min_size=1,
    max_size=200,
)
_AGENTS = st.one_of(
    st.integers(1, 9).map("O{}".format),
    st.integers(1, 99).map("W{}".format),
    st.integers(1, 9).map("R{}".format),
    st.just("O1.W2"),
)
_TARGETS = st.one_of(_AGENTS, st.sampled_from(["*", "W*", "G3"]))
_PRIORITY = st.sampled_from(["P0", "P1", "P2", None])
_STATE = st.sampled_from(["N", "R", "D", "F", "X", None])
_LONG = st.integers(1, 10**6).map("{:02}".format)
_V3_AGENTS = st.builds("{}{}".format, st.sampled_from("OW"), st.integers(1, 500))


def _with_code(fields: dict[str, object], code: str, letter: str) -> dict[str, object]:
    """Return the fields as they must be where errors carry their code in DATA."""
    if fields["type"] == letter:
        fields["data"] = f"{code}:{fields['data']}"
    return fields


def _with_err(fields: dict[str, object], code: str) -> dict[str, object]:
    return {**fields, "err": code if fields["type"] == "E" else None}


FIELDS = {
    "V1": st.builds(
        lambda fields, code: _with_code(
            {**fields, "to": "WORKER" if fields["from"] == "ORCHESTRATOR" else "ORCHESTRATOR"},
            code,
            "ERR",
        ),
        st.fixed_dictionaries(
            {
                "msg": _LONG.map("MSG_{}".format),
                "from": st.sampled_from(["ORCHESTRATOR", "WORKER"]),
                "type": st.sampled_from(["RES", "CLR", "UPD", "ACK", "ERR"]),
                "task": st.one_of(st.none(), _LONG.map("TASK_{}".format)),
                "data": DATA,
            }
        ),
        st.sampled_from(["E01", "E99"]),
    ),
    "V2": st.builds(
        _with_code,
        st.fixed_dictionaries(
            {
                "msg": _LONG.map("MSG_{}".format),
                "role": st.sampled_from("OW"),
                "type": st.sampled_from("SCUAE"),
                "task": _LONG.map("TASK_{}".format),
                "data": DATA,
            }
        ),
        st.sampled_from(["E01", "E99"]),
        st.just("E"),
    ),
    "V3": st.builds(
        _with_code,
        st.fixed_dictionaries(
            {
                "msg": _LONG.map("MSG_{}".format),
                "from": _V3_AGENTS,
                "to": st.one_of(_V3_AGENTS, st.just("*")),
                "type": st.sampled_from("RSCUAEB"),
                "task": _LONG.map("TASK_{}".format),
                "pri": _PRIORITY,
                "state": _STATE,
                "data": DATA,
            }
        ),
        st.sampled_from(["E01", "E06", "E99"]),
        st.just("E"),
    ),
    "V4": st.builds(
        _with_err,
        st.fixed_dictionaries(
            {
                "msg": st.integers(1, 9999).map("M{}".format),
                "from": _AGENTS,
                "to": st.sampled_from(["W1", "O2", "*", "W*", "G9"]),
                "type": st.sampled_from("RSCUAEBH"),
                "task": st.one_of(st.none(), st.integers(1, 999).map("T{}".format)),
                "pri": _PRIORITY,
                "state": _STATE,
                "data": DATA,
            }
        ),
        st.sampled_from(["E01", "E22", "E99"]),
    ),
    "V5": st.builds(
        _with_err,
        st.fixed_dictionaries(
            {
                "msg": st.integers(0, 9999).map("M{}".format),
                "from": _AGENTS,
                "to": _TARGETS,
                "type": st.sampled_from("RSECUABHJLKX"),
                "tid": st.one_of(st.none(), st.integers(0, 999).map("T{}".format)),
                "pri": _PRIORITY,
                "state": _STATE,
                "depth": st.integers(0, 3),
                "ctx": st.from_regex(r"S[a-z0-9]{1,7}", fullmatch=True),
                "budget": st.one_of(st.none(), st.integers(0, 9999)),
                "data": DATA,
            }
        ),
        st.sampled_from(["E00", "E10", "E31", "E99"]),
    ),
}
