"""The commands that write messages: `msg build`, `convert`, `sign`, `verify`.

Only signatures need a workspace: their key and the nonces that were used lie
there.

Source: PR-007, PR-303, PR-315, PR-547, PR-589, PR-601 to PR-610, `cli.md` section 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from council.commands.message_streams import (
    Answer,
    Given,
    answer_each,
    batches,
    complain,
    fault_line,
    forced_version,
    numbered,
    say,
)
from council.core.errors import (
    ConversionRefusedError,
    CouncilError,
    InvalidInputError,
    InvalidMessageError,
    RefusedError,
    UsageError,
)
from council.core.plain_text import estimated_tokens, json_text
from council.core.reading import read_json
from council.operations.delegation.permitted import permitted
from council.operations.place import Place
from council.operations.protocol.messages import Sidecar, most_bytes, publish_all, shortened_fields
from council.operations.protocol.messages import sign as sign_one
from council.operations.protocol.messages import verify as verify_all
from council.wire.building import build as build_one
from council.wire.building import build_parts, parent_id

_INVALID = InvalidInputError.exit_code
_REFUSED = RefusedError.exit_code
# The fields of a message, and the version it is to be written in, None for the usual one.
_Fields = tuple[dict[str, Any], str | None]


def msg_build(place: Place | None, fields: list[str], values: dict[str, Any]) -> int:
    """Write a message of its fields; what is left out is filled in."""
    if values["parts"] and values["pid"]:
        raise UsageError("a message in parts names no parent", "leave out --parts or --pid")
    forced = forced_version(values["version"])
    options = {**values, "pid": parent_id(values["pid"]) if values["pid"] else ""}
    if fields and fields != ["-"]:
        built = _built(lambda: (_fields_of(fields), forced), options, place)
        return answer_each([[Given(1, b"", False)]], lambda _: built)
    return answer_each(
        batches(None, most_bytes(place), "V5"),
        lambda given: _built(lambda: _record_of(given, forced), options, place),
    )


def _fields_of(given: list[str]) -> dict[str, Any]:
    """Return the fields that `name=value` words name; several pairs may follow as DATA."""
    fields: dict[str, Any] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{word!r} is no field", "write FIELD=VALUE, such as type=R")
        if name.lower() in fields:
            raise UsageError(f"the field {name.lower()} is given twice", "give it once")
        fields[name.lower()] = value
    return fields


def _record_of(given: Any, forced: str | None) -> _Fields:
    """Return fields and version of one line of JSON: bare fields, or what `msg parse` answers."""
    try:
        record = read_json(given.data)
    except ValueError:
        record = None
    if given.too_long or not isinstance(record, dict):
        raise InvalidInputError(
            f"message {given.number} is no JSON object", 'write one a line: {"to": "W1", …}'
        )
    if isinstance(record.get("fields"), dict):
        version = record.get("version")
        known = version if isinstance(version, str) and version != "V5D" else None
        return record["fields"], forced or known
    return record, forced


def _built(told: Callable[[], _Fields], options: dict[str, Any], place: Place | None) -> Answer:
    """Build one message; in a workspace, what DATA has no room for is published before."""
    version, json = "V5", options["json"]
    published: list[str] = []
    try:
        fields, wanted = told()
        version = wanted or "V5"
        minimal, pid = options["minimal"], options["pid"]
        if options["parts"]:
            texts = build_parts(fields, version, minimal=minimal)
        elif place is None:
            texts = [build_one(fields, version, minimal=minimal, pid=pid)]
        else:
            short, moved = shortened_fields(fields, version, pid)
            texts = [build_one(short, version, minimal=minimal, pid=pid)]
            published = publish_all(place, moved)
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        return _failed(InvalidInputError("a field is no text", "write it in UTF-8"), version, json)
    except CouncilError as error:
        return _failed(error, version, json)
    notes = [f"published {one}: DATA had no room for it" for one in published]
    if json:
        more = {"artifacts": published} if published else {}
        return [json_text({"text": one, "version": version, **more}) for one in texts], notes, 0
    return [f"{one}\n" if version == "V1" else one for one in texts], notes, 0


def _failed(
    error: CouncilError, version: str, json: bool, found: Any = None, given: Given | None = None
) -> Answer:
    """Return an error as the answer to one of many messages; each fault gets its line."""
    if isinstance(error, InvalidMessageError):
        notes = [fault_line(version, fault, found) for fault in error.faults]
    else:
        notes = [f"{error.message} ({error.hint})" if error.hint else error.message]
    lines = [json_text({"error": error.to_record()})] if json else []
    return lines, numbered(notes, given) if given else notes, error.exit_code


def msg_convert(place: Place | None, message: str | None, values: dict[str, Any]) -> int:
    """Write messages in another version; tell what is lost, or why it cannot be."""
    lossy, structural = values["lossy"], values["structural"]
    json, size = values["json"], values["size"]
    target, forced = forced_version(values["to"]) or "", forced_version(values["version"])
    if target == "V5D":
        raise UsageError("nothing is written in V5D", "it is a draft; write V5")
    kept = Sidecar(permitted(values["sidecar"], os.environ, writing=True), target)
    sizes = [0, 0]

    def answer(given: Given) -> Answer:
        found = given.read(forced)
        try:
            made = kept.convert(found, target, lossy=lossy, structural=structural)
        except (InvalidMessageError, ConversionRefusedError) as error:
            return _failed(error, found.version, json, found, given)
        before, after = map(estimated_tokens, (found.text.rstrip("\r\n"), made.text))
        sizes[0] += before
        sizes[1] += after
        if json:
            told = {"size": {"before": before, "after": after}} if size else {}
            return [json_text({**made.to_record(), **told})], [], 0
        lost = [f"lost: {', '.join(made.losses)}"] if made.losses else []
        text = f"{made.text}\n" if target == "V1" and not given.alone else made.text
        return [text], numbered(lost, given), 0

    given = batches(message, most_bytes(place), forced)
    code = answer_each(given, answer, settle=kept.save)
    if size and not json and sizes[0]:
        complain([_compared(*sizes)])
    return code


def _compared(before: int, after: int) -> str:
    share = abs(after - before) * 100 // before
    than = "less" if after <= before else "more"
    return f"about {before} tokens become {after}, {share} % {than}"


def msg_sign(
    place: Place, message: str | None, as_: str, session: str, key_file: str, json: bool
) -> int:
    """Sign V5 messages with the shared key and a nonce that was never used."""

    def answer(given: Given) -> Answer:
        found = given.read("V5")
        try:
            made = sign_one(place, found, signer=as_, session=session, key_file=key_file)
        except (InvalidMessageError, RefusedError, UsageError) as error:
            return _failed(error, "V5", json, found, given)
        return [json_text(made.to_record()) if json else made.text], [], 0

    return answer_each(batches(message, most_bytes(place), "V5"), answer)


def msg_verify(place: Place, message: str | None, key_file: str, json: bool) -> int:
    """Check signatures; each holds once, and a second time is a replay."""
    worst = 0
    for batch in batches(message, most_bytes(place), "V5"):
        readings = [one.read("V5") for one in batch]
        verdicts = verify_all(place, readings, key_file=key_file)
        out: list[str] = []
        notes: list[str] = []
        for given, found, verdict in zip(batch, readings, verdicts, strict=True):
            if json:
                out.append(json_text(verdict.to_record()))
            elif verdict.used:
                out.append(f"valid: {':'.join(verdict.used)}")
            else:
                notes += numbered(_refusal(verdict, found), given)
            if not verdict.valid:
                worst = max(worst, _INVALID if verdict.reason == "faulty" else _REFUSED)
        say(out)
        complain(notes)
    return worst


_REASONS = {
    "missing": "not signed",
    "malformed": "the signature has the wrong form",
    "forged": "the signature does not fit the message and the key",
    "replayed": "a replay: this signature was used before",
}


def _refusal(verdict: Any, found: Any) -> list[str]:
    lines = [fault_line("V5", fault, found) for fault in verdict.errors]
    return [
        f"{_REASONS[verdict.reason]}; {line}" if verdict.reason in _REASONS else line
        for line in lines
    ]
