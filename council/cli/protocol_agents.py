"""The commands on the registry of the protocol: who takes part in it, and how they are.

`agent join|leave|caps|query|liveness|select`, `agent group add|remove|list`.

Source: `cli.md` section 2, PR-404, PR-405, PR-421, PR-504 to PR-518, PR-561.
"""

from __future__ import annotations

from council.cli.edge import Output
from council.cli.parameters import argument, command, flag, listed, option, whole_number
from council.core.errors import UsageError
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.protocol.registry_changes import Done

_ROLES = {"orchestrator": "O", "worker": "W", "router": "R", "o": "O", "w": "W", "r": "R"}
_VERSIONS = ("V4", "V5")

WHO = argument("[ID]", "A protocol id such as W3, or an agent.")
AS = option("--as", "AGENT", "Who it is; else COUNCIL_AGENT or the agent's folder.")
CAPS = option("--caps", "A,B", "What it can do, such as web_search,plan.")


@command(
    "agent join",
    "council agent join --as henry",
    'council agent join W3 --caps web_search --desc "Research"',
)
def join(
    place: Place,
    who: str = WHO,
    as_: str = AS,
    role: str = option("--role", "ROLE", "Its role: worker, orchestrator, router; or W, O, R."),
    caps: str = CAPS,
    desc: str = option("--desc", "TEXT", "What it is there for, in one line."),
    max_depth: str = option(
        "--max-depth", "1-6", "The depth of hand-offs from which on it refuses."
    ),
    version: str = option("--version", "V4|V5", "What it speaks; else V5."),
    fallback: str = option("--fallback", "V4|V5", "What it speaks besides."),
) -> Output:
    """Give an agent its protocol id: the one it proposes, or the next free one."""
    from council.core.protocol.registering import Joining
    from council.operations.protocol.registry import join as register
    from council.operations.protocol.registry_looks import whom

    proposed, agent = whom(place, who, as_)
    wish = Joining(
        proposed=proposed,
        role=_role(role, proposed),
        agent=agent,
        capabilities=tuple(dict.fromkeys(listed(caps))) if caps else None,
        description=_line(desc),
        max_depth=whole_number(max_depth, "--max-depth", 6) or None,
        version=_version(version, "--version"),
        fallback=_version(fallback, "--fallback"),
    )
    return _done(register(place, wish))


def _role(word: str, proposed: str) -> str:
    letter = _ROLES.get(word.lower()) if word else proposed[:1] or "W"
    if word.lower() in ("g", "group"):
        raise UsageError("a group does not join", "make one: council agent group add G1 W1 W2")
    if letter is None:
        raise UsageError(f"no role {word!r}", "choose worker, orchestrator or router")
    if proposed and letter != proposed[0]:
        raise UsageError(f"{proposed} is no {word}", "leave --role out, or propose another id")
    return letter


def _version(word: str, option: str) -> str:
    if word and word.upper() not in _VERSIONS:
        raise UsageError(f"{option} {word!r} is not spoken here", "choose V4 or V5")
    return word.upper()


def _line(text: str) -> str:
    from council.core.protocol.messages import inline, is_inline

    if text and not is_inline(text):
        raise UsageError(
            "--desc does not fit into a message", f"such as: {inline(text, 60)}; no | > ; or quotes"
        )
    return text


def _done(done: Done, note: str = "") -> Output:
    """Say what an act on the registry came to: the word, then what was answered."""
    entry = done.entry
    about = done.id
    if entry is not None and entry.agent:
        about = f"{done.id} ({entry.agent})"
    lines = [f"{about}: {done.outcome.replace('-', ' ')}", *(f"  {one}" for one in done.answers)]
    notes = [f"council: {note}"] if note else []
    return Output(record=done.to_record(), text="\n".join(lines), notes=notes)


@command("agent leave", 'council agent leave W3 --reason "shutdown"')
def leave(
    place: Place,
    who: str = WHO,
    reason: str = option("--reason", "TEXT", "Why it leaves."),
    as_: str = AS,
) -> Output:
    """Take an agent out of the protocol, and out of all its groups."""
    from council.operations.conversations.answer import wake_next
    from council.operations.protocol.registry import leave as take_out
    from council.operations.protocol.registry_looks import protocol_id_of

    done = take_out(place, protocol_id_of(place, who or as_), reason)
    wake_next(place)  # what it was at goes to somebody else
    return _done(done)


@command("agent caps", "council agent caps", "council agent caps W3 web_search,plan")
def caps(
    place: Place,
    who: str = WHO,
    capabilities: str = argument("[A,B]", "What it can do from now on, and nothing else."),
    as_: str = AS,
) -> Output:
    """Declare what an agent can do, or show it; without an agent, the standard capabilities."""
    from council.core.protocol.protocol_ids import is_protocol_id
    from council.operations.protocol.registry import declare
    from council.operations.protocol.registry_changes import not_registered, registry_of
    from council.operations.protocol.registry_looks import protocol_id_of

    if not (who or as_):
        return _standard()
    about, wanted = (as_, who) if as_ and not is_protocol_id(who) else (who or as_, "")
    one = protocol_id_of(place, about)
    wanted = capabilities or wanted
    if wanted:
        return _done(declare(place, one, listed(wanted)))
    entry = registry_of(place).get(one)
    if entry is None:
        raise not_registered(one)
    record = {"id": one, "capabilities": list(entry.capabilities)}
    return Output(record=record, text="\n".join(entry.capabilities) or "none declared")


def _standard() -> Output:
    from council.core.protocol.registry import CAPABILITIES

    return Output(record={"standard": list(CAPABILITIES)}, text="\n".join(CAPABILITIES))


@command("agent query", 'council agent query "W*" --status active', reads=True)
def query(
    place: Place,
    pattern: str = argument("[FILTER]", "Whom: *, W*, O*, R*, or one id.", "*"),
    status: str = option("--status", "STATUS", "Only these: active, unavailable or left."),
    filter_: str = option("--filter", "FILTER", "The same as the argument."),
) -> Output:
    """List who takes part in the protocol: ids, agents, status, load, capabilities."""
    from council.cli.registry_views import query_text
    from council.operations.protocol.registry_looks import query as look

    found = look(place, filter_ or pattern, status)
    return Output(record=found.to_record(), text=query_text(found, place.now()))


@command("agent liveness", "council agent liveness W3 --load 45 --queue 2")
def liveness(
    place: Place,
    who: str = WHO,
    load: str = option("--load", "PERCENT", "How busy it is, 0 to 100."),
    queue: str = option("--queue", "N", "How many messages wait for it."),
    as_: str = AS,
) -> Output:
    """Say that an agent is alive, with load and queue; without --load, show who is."""
    from council.cli.registry_views import liveness_text
    from council.operations.protocol.registry import tell_liveness
    from council.operations.protocol.registry_looks import protocol_id_of
    from council.operations.protocol.registry_looks import query as look

    if not load and not queue:
        found = look(place, protocol_id_of(place, who or as_) if who or as_ else "*")
        return Output(record=found.to_record(), text=liveness_text(found, place.now()))
    percent, waiting = _count(load, "--load"), _count(queue, "--queue")
    done = tell_liveness(place, protocol_id_of(place, who or as_), percent, waiting)
    output = _done(done, note=f"warning: {done.reason}" if done.reason else "")
    return output.copy(record={**output.record, "warning": done.reason or None})


def _count(text: str, option: str) -> int:
    digits = text.removesuffix("%") or "0"
    if not (digits.isascii() and digits.isdigit() and len(digits) < 7):
        raise UsageError(f"{option} {text!r} is not a whole number from 0")
    return int(digits)


@command("agent select", "council agent select web_search,summarize --explain", reads=True)
def select(
    place: Place,
    capabilities: str = argument("CAPS", "What the task needs, such as web_search,plan."),
    explain: bool = flag("--explain", "Show every candidate, and why it is where it is."),
    count: str = option("--count", "N", "How many at most; else the best one."),
    depth: str = option("--depth", "0-5", "The depth at which they would be called."),
    threshold: str = option("--threshold", "0-1", "The least score; else of council.toml."),
) -> Output:
    """Say which worker would get a task, by capabilities, load and last use."""
    from council.cli.registry_views import selection_output
    from council.operations.protocol.registry_looks import weigh

    wanted = listed(capabilities)
    if not wanted:
        raise UsageError("no capability was named", "such as: council agent select plan")
    found = weigh(place, wanted, depth=_count(depth, "--depth"), threshold=_share(threshold))
    many = whole_number(count, "--count", 99) or 1
    return selection_output(found, many, explain=explain, now=place.now())


def _share(text: str) -> float | None:
    if not text:
        return None
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"--threshold {text!r} is not a number from 0 to 1")
    return share


GROUP = argument("GROUP", "A group, G1 to G9.")


@command("agent group add", "council agent group add G1 W1 W2")
def group_add(
    place: Place, group: str = GROUP, members: list[str] = argument("W…", "Workers, such as W1 W2.")
) -> Output:
    """Put workers into a group; a message to it reaches each of them once."""
    return _change_group(place, group, members, add=True)


@command("agent group remove", "council agent group remove G1 W2")
def group_remove(
    place: Place,
    group: str = GROUP,
    members: list[str] | None = argument(
        "[W…]", "Whom to take out; without any, all of them.", None
    ),
) -> Output:
    """Take workers out of a group; without any left there is no such group."""
    return _change_group(place, group, members or [], add=False)


def _change_group(place: Place, group: str, members: list[str], *, add: bool) -> Output:
    from council.operations.protocol.registry import change_group
    from council.operations.protocol.registry_looks import protocol_id_of

    named = [protocol_id_of(place, one) for one in listed(*members)]
    done = change_group(place, group, named, add=add)
    left = done.registry.groups.get(group, [])
    record = {"outcome": done.outcome, "group": group, "members": left, "answers": done.answers}
    return Output(record=record, text=f"{group}: {' '.join(left) or 'nobody'}")


@command("agent group list", "council agent group list --json", reads=True)
def group_list(place: Place) -> Output:
    """List the groups and their members."""
    from council.operations.protocol.registry_changes import registry_of

    groups = {name: list(many) for name, many in sorted(registry_of(place).groups.items())}
    lines = [f"{name}: {' '.join(many) or 'nobody'}" for name, many in groups.items()]
    none = "no groups yet; make one: council agent group add G1 W1 W2"
    return Output(record={"groups": groups}, text="\n".join(lines) or none)
