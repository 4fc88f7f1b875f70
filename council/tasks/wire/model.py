"""What a message says: as one version writes it (`Parsed`), and in the words of V5 (`Message`).

In DATA `;` separates items, `=` makes one a pair, `,` separates the items of a list. Double quotes
protect `;` and `,` and stay part of the value (PR-542, A-58).
"""

from __future__ import annotations

import re

from council.kernel.errors import Invalid
from council.kernel.record import Any, Record
from council.tasks.wire import tables

COUNTS = {5: "V2", 7: "V3", 8: "V4", 10: "V5D", 11: "V5"}
_V1_LINES = ("from", "to", "type", "task", "data")
_UNCLEAN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
MOST_CHARS = 200  # of DATA
# A key of the context, a field of a task (`T1:S`) or a stored text, a message.
REFERENCE = re.compile(r'#(CTX|REF|MSG):([^ ;,"=#]*)')
_STANDING = {"V3": "deprecated", "V4": "stable", "V5": "recommended", "V5D": "draft"}


class Fault(Record, settled=True):
    """One check that fails, or a warning; `segment` counts from 1, None is the whole message."""

    code: str
    rule: str
    segment: int | None = None


class Parsed(Record):
    """A message as one version (`V5D` is the draft) reads it."""

    version: str
    text: str
    segments: list[str] = []  # as written; [] where they could not be separated
    fields: dict[str, Any] = {}  # by name, an unused one is None; {} for a message with faults
    errors: list[Fault] = []  # in the order of the checklist; the first is the code for the wire
    warnings: list[str] = []  # each once; a message with faults has none

    def sound(self) -> Parsed:
        """Return the reading itself; raise Invalid (`bad-message`) where it has faults."""
        if not self.errors:
            return self
        first = self.errors[0]
        where = f" in segment {first.segment}" if first.segment else ""
        what = f"no valid {self.version} message: {first.code} ({first.rule}){where}"
        faults = [fault.to_json() for fault in self.errors]
        raise Invalid("bad-message", what, f"council explain {first.code}", errors=faults)

    def shown(self) -> dict[str, Any]:
        """Return what `msg parse --json` prints."""
        standing = _STANDING.get(self.version, "legacy")
        head = {"version": self.version, "standing": standing, "valid": not self.errors}
        errors = [fault.to_json() for fault in self.errors]
        return {**head, "fields": self.fields, "errors": errors, "warnings": self.warnings}


class Message(Record):
    """What one message says, in the words and codes of V5; unused values are "".

    `number` is 7 for `M7`. `sender` and `receiver` are protocol ids, `User`, or as target a group,
    `*`, `W*`. `budget` is the number of tokens left, None for no limit.
    """

    number: int = 0
    sender: str
    receiver: str
    kind: str
    task: str = ""
    priority: str = "P1"
    state: str = ""
    code: str = ""
    depth: int = 0
    context: str = ""
    budget: int | None = None
    data: str = "ok"

    @property
    def pairs(self) -> dict[str, str]:
        """Return the `name=value` pairs of DATA; the last of two with one name counts."""
        return split(self.data)[1]


def parted(text: str, mark: str) -> list[str]:
    """Return the parts of a text between the marks that no quotes protect."""
    pieces = text.split('"')
    if len(pieces) % 2 == 0:  # a quote that is never closed protects nothing
        pieces[-2:] = ['"'.join(pieces[-2:])]
    parts = [""]
    for at, piece in enumerate(pieces):
        first, *others = [f'"{piece}"'] if at % 2 else piece.split(mark)
        parts[-1] += first
        parts += others
    return parts


def split(data: str) -> tuple[list[str], dict[str, str]]:
    """Return the bare words and the pairs of DATA; a text without any pair has no words either."""
    flags: list[str] = []
    pairs: dict[str, str] = {}
    for item in parted(data, ";") if "=" in data else []:
        name, equals, value = item.partition("=")
        if equals and name:
            pairs[name] = value
        elif item:
            flags.append(item)
    return (flags, pairs) if pairs else ([], {})


def fitted(text: str, room: int = MOST_CHARS) -> str:
    """Return a text as the value of a pair: one line of 1 to `room` characters without marks."""
    plain = "".join(" " if one in '|>;"' or not one.isprintable() else one for one in text)
    line = " ".join(plain.split())
    return (line if len(line) <= room else line[: room - 1].rstrip() + "…") or "-"


# The parser: one for all versions, driven by their checklists (`texts/protocol.txt`)


def detect(text: str) -> str:
    """Return the version of a text, the nearest one where none fits (PR-002)."""
    bars = text.count("|")
    if text[:1] == "[" or re.match("MSG_[^|]*\n(FROM|TO):|FROM:", text):
        return "V1"
    if bars + 1 in COUNTS:
        return COUNTS[bars + 1]
    if text[:4] == "MSG_":
        return "V3" if bars > 5 or (bars == 5 and ">" in text.split("|")[1]) else "V2"
    return "V4" if text[:1] == "M" and 0 < bars < 9 else "V5"


def parse(text: str, version: str = "", strict: bool = False) -> Parsed:
    """Return what a message says, with every fault and warning.

    One line break may end it. `version` is `V1` to `V5`, `V5D`, or "" to find it. `strict` turns
    every warning that has a code into a fault (PR-006).
    """
    version = version or detect(text)
    form, line = tables.FORMS[version], re.sub("\r?\n\\Z", "", text)
    is_block, segments = version == "V1", line.split("|")
    unclean = _UNCLEAN.search(re.sub("\r?\n", "", line) if is_block else line)
    if unclean or not (is_block or len(segments) == len(form.names)):
        row = form.checks[0 if unclean else 1]
        return Parsed(version=version, text=text, errors=[Fault(code=row.code, rule=row.rule)])
    values = _block(line) if is_block else dict(zip(form.names, segments, strict=True))
    errors = [
        _fault(row, version)
        for row in form.checks
        if row.segment in values and row.applies(values) and not row.fits(values)
    ]
    faulty = [fault.segment for fault in errors]
    rows = [row for row in form.warnings if row.applies(values) and row.fits(values)]
    notes = [note for note in (_fault(row, version) for row in rows) if note.segment not in faulty]
    if any(note.rule == "W_DATA_TRUNCATED" for note in notes):
        values["data"] = values["data"][:MOST_CHARS]
    if strict:
        errors += [note for note in notes if note.code]
        errors.sort(key=lambda fault: fault.segment or 0)
    values["msg"] = values["msg"].strip("[]") if is_block else values["msg"]
    own = {name: values[name] for name in form.names}
    parsed = Parsed(version=version, text=text, segments=list(own.values()), errors=errors)
    if not errors:
        parsed.fields = _fields(version, own)
        parsed.warnings = list(dict.fromkeys(note.rule for note in notes))
    return parsed


def _fault(row: tables.Row, version: str) -> Fault:
    names = tables.FORMS[version].names
    counts = version != "V1" or row.segment == "msg" or row.rule[:2] == "W_"
    at = names.index(row.segment) + 1 if counts and row.segment in names else None
    return Fault(code=row.code, rule=row.rule, segment=at)


def _block(block: str) -> dict[str, str]:
    """Return the lines of a V1 block by name, with three values that only its checks read."""
    header, *lines = block.replace("\r\n", "\n").split("\n")
    cells = [line.partition(":") for line in lines]
    order = [name if colon else "" for name, colon, _ in cells]
    texts = {name: value.removeprefix(" ") for name, _, value in reversed(cells)}  # the first one
    empty = ",".join(name for name in map(str.upper, _V1_LINES) if texts.get(name) == "")
    values = {name: texts.get(name.upper(), "") for name in _V1_LINES}
    roles = f"{values['from']}>{values['to']}"
    return {"msg": header, **values, "order": ",".join(order), "empty": empty, "roles": roles}


def _fields(version: str, values: dict[str, str]) -> dict[str, Any]:
    """Return the fields of a valid message by name."""
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name == "route":
            fields["from"], _, fields["to"] = value.partition(">")
        else:
            fields[name] = None if value in ("-", "") and name != "data" else value
        if name == "pri" and version in ("V3", "V5"):
            fields["pri_effective"] = fields["pri"] or "P1"
    text = values["data"]
    if version in ("V1", "V2", "V3"):
        coded = {"err": text[:3], "desc": text[4:]} if values["type"] in ("E", "ERR") else {}
        return {**fields, **coded}
    fields["flags"], fields["pairs"] = split(text)
    if version == "V5":
        fields["depth"] = int(fields["depth"] or 0)
        fields["budget"] = int(fields["budget"][1:]) if fields["budget"] else None
    if version == "V5D":
        for name, keys in (("auth", ("sid", "nonce", "sig")), ("trace", ("trace", "parent", "ts"))):
            parts = [None if one == "-" else one for one in values[name].split(":")]
            fields[name] = dict(zip(keys, parts, strict=True)) if parts != [None] else None
        mode = {"#": "ref", "~": "zip"}.get(text[:1], "text")
        fields["data_mode"] = "dict" if re.match(r"\$\d", text) else mode
    return fields
