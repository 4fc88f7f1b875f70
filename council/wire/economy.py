"""What a run of messages could say with fewer tokens: advice, never a fault.

It reads a message alone, and at what came before it: a repeated payload, a
copy for each worker, a state that did not change, too many signs of life.

Source: PR-008, PR-208, PR-314, PR-414.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from council.core.protocol.payload import items_of
from council.core.record import Record
from council.wire.codes import is_known, meaning_of
from council.wire.forms import DATA_CHARS, DEFAULT_PRIORITY
from council.wire.messages import parse
from council.wire.parsed import Parsed

# Many workers with the same request make a broadcast.
_COPIES = 3
_KEYWORDS = 12
_REPEATED_CHARS = 20
_POLITE = frozenset(
    (
        *("hello", "hi", "thanks", "thank", "please", "regards", "kindly", "sorry"),
        *("bonjour", "bonsoir", "salut", "merci", "svp", "stp", "cordialement"),
    )
)
_POLITE_PHRASES = ("s'il te plaît", "s'il vous plaît", "s’il te plaît", "s’il vous plaît")
_LONG_WORDS = frozenset(
    (
        *("request", "response", "clarification", "update", "acknowledge", "error"),
        *("orchestrator", "worker", "broadcast", "heartbeat"),
    )
)
_PREFIXES = ("FROM:", "TO:", "TYPE:", "TASK:", "DATA:")

RULES: dict[str, tuple[str, ...]] = {
    "L_POLITE": ("no polite phrases", "pas de formules de politesse"),
    "L_KEYWORDS": ("keywords instead of sentences", "mots-clés plutôt que phrases"),
    "L_ABBREVIATION": ("write the stable abbreviation", "écrire l'abréviation stable"),
    "L_PREFIX": ("no prefixes such as FROM:", "pas de préfixes tels que FROM:"),
    "L_ONE_LINE": ("one line for one message", "une ligne par message"),
    "L_UNUSED": ("an unused segment is -", "un segment inutilisé est -"),
    "L_LONG_ID": ("short ids without leading zeros", "identifiants courts sans zéros"),
    "L_ROUTE": ("the route is FROM>TO in one segment", "la route est FROM>TO en un segment"),
    "L_REPEATED": ("refer to it by id", "s'y référer par identifiant"),
    "L_CODE_ONLY": ("the code alone says it", "le code seul suffit"),
    "L_DEFAULT_PRIORITY": ("P1 is implied: write -", "P1 est implicite : écrire -"),
    "L_STATE": ("the state only when it changes", "l'état seulement s'il change"),
    "L_COPIES": ("send it once to *", "l'envoyer une fois à *"),
    "L_DATA": ("beyond 200 characters send #REF:", "au-delà de 200 caractères, envoyer #REF:"),
    "L_LIVENESS": ("one sign of life a cycle", "un signe de vie par cycle"),
    "L_ONE_DATA": ("put several values into one DATA", "grouper les valeurs dans un DATA"),
}


class Advice(Record):
    """One thing to save: the rule, and the message it is about, counted from 1."""

    rule: str
    message: int

    def text(self, lang: str = "en") -> str:
        """Return the advice for people."""
        return RULES[self.rule][lang == "fr"]

    def to_record(self) -> dict[str, object]:
        """Return the advice as JSON."""
        return {"rule": self.rule, "message": self.message, "text": self.text()}


class _Seen:
    """What earlier messages of the run said."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.payloads: dict[str, set[tuple[str, str, str]]] = {}
        self.alive: set[str] = set()
        self.last: tuple[object, ...] = ()


def lint(messages: Iterable[str], version: str | None = None) -> list[Advice]:
    """Return what the messages of one cycle, in order, could save.

    Args:
        messages: Texts of any version, also faulty ones.
        version: The version to read all of them in; None finds each.
    """
    seen = _Seen()
    found: list[Advice] = []
    for number, text in enumerate(messages, start=1):
        parsed = parse(text, version)
        rules = dict.fromkeys((*_of_text(parsed), *_of_fields(parsed), *_of_run(parsed, seen)))
        found += [Advice(rule=rule, message=number) for rule in rules]
    return found


def _of_text(parsed: Parsed) -> Iterator[str]:
    text = parsed.text.rstrip("\n")
    if parsed.version != "V1":
        if "\n" in text:
            yield "L_ONE_LINE"
        segments = parsed.segments or text.split("|")
        if any(segment.startswith(_PREFIXES) for segment in segments):
            yield "L_PREFIX"
        if "" in segments[:-1]:
            yield "L_UNUSED"
        if len(segments) > 2 and _is_end(segments[1]) and _is_end(segments[2]):
            yield "L_ROUTE"
    lowered = [word.strip(".,;:!?=").lower() for word in text.replace("|", " ").split()]
    if not _POLITE.isdisjoint(lowered) or any(one in text.lower() for one in _POLITE_PHRASES):
        yield "L_POLITE"
    if parsed.version != "V1" and not _LONG_WORDS.isdisjoint(
        segment.lower() for segment in text.split("|")[1:3]
    ):
        yield "L_ABBREVIATION"
    if parsed.version in ("V4", "V5") and ("MSG_" in text[:4] or "|TASK_" in text):
        yield "L_LONG_ID"


def _is_end(segment: str) -> bool:
    return segment[:1] in ("O", "W") and segment[1:].isdigit()


def _of_fields(parsed: Parsed) -> Iterator[str]:
    if any(note.name == "W_NONCANONICAL" for note in parsed.notes):
        yield "L_LONG_ID"
    if any(note.name == "W_DATA_TRUNCATED" for note in parsed.notes):
        yield "L_DATA"
    fields = parsed.fields
    if not fields:
        return
    data = fields["data"]
    if parsed.version == "V3" and len(data) > DATA_CHARS:
        yield "L_DATA"
    if any(len(item.split()) > _KEYWORDS for item in items_of(data)):
        yield "L_KEYWORDS"
    # V4 names no default, so there a P1 says something.
    if parsed.version in ("V3", "V5") and fields["pri"] == DEFAULT_PRIORITY:
        yield "L_DEFAULT_PRIORITY"
    if parsed.version == "V2" and fields.get("desc") and is_known(fields["err"], "V2"):
        means = {meaning_of(fields["err"], "V2", lang) for lang in ("en", "fr")}
        if fields["desc"].lower() in means:
            yield "L_CODE_ONLY"


def _of_run(parsed: Parsed, seen: _Seen) -> Iterator[str]:
    fields = parsed.fields
    if not fields:
        return
    sender = fields.get("from") or fields["role"]
    target = fields.get("to", "")
    task = fields.get("tid", fields.get("task")) or ""
    data, kind, state = fields["data"], fields["type"], fields.get("state")
    if state and task and seen.states.get(task) == state and kind in ("U", "C"):
        yield "L_STATE"
    if state and task:
        seen.states[task] = state
    if kind == "H":
        if sender in seen.alive:
            yield "L_LIVENESS"
        seen.alive.add(sender)
    earlier = seen.payloads.setdefault(data, set())
    copies = {end for *said, end in earlier if said == [kind, sender]}
    if copies and target not in copies:
        if len(copies) + 1 >= _COPIES:
            yield "L_COPIES"
    elif earlier and len(data) >= _REPEATED_CHARS:
        yield "L_REPEATED"
    earlier.add((kind, sender, target))
    # Two updates in a row about one task could have been one.
    now = (sender, target, kind, task)
    if kind in ("U", "UPD") and seen.last == now and len(data) < DATA_CHARS // 2:
        yield "L_ONE_DATA"
    seen.last = now
