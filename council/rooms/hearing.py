"""What a turn said: its final text, whether it is a pass, whom it addresses, if it has arrived."""

from __future__ import annotations

from council.kernel.errors import Invalid
from council.kernel.record import Any
from council.kernel.words import load
from council.rooms.model import NO_REPLY, Member, Message

LOOKED_AT = 20


def is_pass(text: str) -> bool:
    """Return whether a final text says nothing: document 001's words, alone or in markup."""
    said = text.strip()
    if said in ("", "NO", NO_REPLY):
        return True
    if "REPLY" not in said:
        return False
    from council.agents.expressions import search, without  # late: few texts have the word

    said = without("token", said).replace("\\_", "_").strip("()[]\u200b\ufeff ")
    return search("a room pass", said) is not None


def spoken(text: str, agent: str, members: dict[str, Member]) -> str:
    """Return what an agent's program says in a room, "" for a pass.

    Thoughts, tokens of chat templates and the agent's own label are taken off. Lines that it
    writes for other members are marked as its words about them.
    """
    import re  # late: slow to import

    from council.agents.expressions import pattern, unwrapped, without  # late: of what was run

    def label_of(many: dict[str, Member]) -> re.Pattern[str]:
        both = (name for ident, one in many.items() for name in (ident, one.name))
        names = map(re.escape, filter(None, both))
        return pattern(f"{{=before a label}}(?:{'|'.join(names) or '(?!)'}){{=behind a label}}", "")

    text = without("control", unwrapped(text).replace("\r\n", "\n")).strip()
    lines = label_of({agent: members.get(agent, Member())}).sub("", text).strip().split("\n")
    while len(lines) > 1 and is_pass(lines[-1]):
        lines.pop()
    text = without("pass behind an answer", "\n".join(lines).strip())
    if is_pass(text):
        return ""
    label = label_of({ident: one for ident, one in members.items() if ident != agent})
    first, *lines = text.split("\n")
    return "\n".join([first, *(f"> {one}" if label.match(one) else one for one in lines)])


def same_name(name: str) -> str:
    """Return a name without case, and without what a reader cannot see of it."""
    if not name.isascii():
        from unicodedata import normalize  # late: its tables take 100 KB

        name = normalize("NFKC", "".join(c for c in name if c.isprintable() or c.isspace()))
    return " ".join(name.strip(" *_@").split()).casefold()


def addressed(text: str, members: dict[str, Member]) -> str:
    """Return the agent whose `@id` or `@name` a text begins with, "" for nobody."""
    begin = text.lstrip(" \t\n*").casefold()
    if begin[:1] != "@":
        return ""
    for ident, one in members.items():
        for name in (ident, one.name.casefold()) if one.agent_id else ():
            after = begin[len(name) + 1 : len(name) + 2]
            is_whole = not after or not (after.isalnum() or after in "_-")
            if name and begin.startswith(f"@{name}") and is_whole:
                return ident
    return ""


def final_text(messages: Any) -> str:
    """Return what the last message of the assistant says: its parts of type text, joined."""
    found = messages.get("messages") if isinstance(messages, dict) else messages
    if not isinstance(found, list):
        hint = 'give the JSON of `event.messages`: "[…]"'
        raise Invalid("bad-messages", "the messages of the run are no list", hint)
    from council.agents.readers import text_at  # late: only hooks bring such messages

    last = [one for one in found if isinstance(one, dict) and one.get("role") == "assistant"][-1:]
    return text_at(last[0], "content") if last else ""


def tail_of(text: str, length: int) -> str:
    """Return the fingerprint of a text: its last characters, without blanks behind them."""
    return text.rstrip()[-length:]


def has_arrived(tail: str, messages: list[Message], anchor: int, agent: str) -> bool:
    """Return whether what an agent said after the anchor ends with that fingerprint.

    It may lie in several messages. Blanks do not count: they get lost where a text is cut.
    """
    own = [one for one in messages[-LOOKED_AT:] if agent in (one.author, one.agent_id)]
    said, end = "".join(one.content for one in own if one.id > anchor), "".join(tail.split())
    return bool(end) and "".join(said.split()).endswith(end)


def is_alike(before: str, now: str) -> bool:
    """Return whether two texts have nine tenths of their words in common."""
    one, other = set(before.casefold().split()), set(now.casefold().split())
    return bool(one and other) and len(one & other) >= 0.9 * len(one | other)


def check_guide(text: str) -> None:
    """Refuse a guide without a heading, or a label before a colon, for each of its parts."""
    lines = [line.strip() for line in text.casefold().split("\n")]
    heads = [line.partition(":")[0] for line in lines if line[:1] in ("#", "*") or ":" in line]
    words = {word.strip("#*-_") for line in heads for word in line.split()[:6]}
    names, parts = load("texts/room-en.txt"), ("topic", "goals", "completion criteria")
    missing = [part for part in parts if words.isdisjoint(names[part].split())]
    if missing:
        hint = "a guide (--guide FILE) has ## Topic, ## Goals, ## Completion criteria"
        raise Invalid("guide", f"the guide has no heading for: {', '.join(missing)}", hint)
