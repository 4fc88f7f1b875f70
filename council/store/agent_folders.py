"""The folder of an agent: its persona, its policy, and places for what it keeps.

    SOUL.md      who it is
    policy.json  who may call it
    skills/      what it has learnt to do
    memory/      what it wants to remember
    tasks/       what it is asked, while a person or a tool answers for it
    notes/       whatever else
    agent/       state of its runs, from the first one on
    sessions/    what passed between it and other agents, from the first time on

The last two may lie elsewhere (`[paths] run_state`).

Facts are written into a `SOUL.md` without touching anything else in it.
Only the values of the named keys are exchanged, at the places where the YAML
parser found them; comments, order, quotes and the persona stay as a person
wrote them. The result is read again before it is given out: where it does not
say exactly what was wanted, nothing is written and a person is asked.

Source: P8-002, P8-004, P8-059, `cli.md` section 5.
"""

from __future__ import annotations

import json
import os
import re

from council.core.delegation.policies import Policy, new_policy, policy_of
from council.core.errors import InvalidStateError
from council.core.reading import bounded_yaml
from council.core.record import Any
from council.store import files
from council.store.agents import soul_path
from council.store.conversations.naming import prepare_control
from council.store.documents.stored import understood
from council.store.paths import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.settings import Settings

    Facts = dict[str, str | list[str]]

POLICY_FILE = "policy.json"
PARTS = ("skills", "memory", "tasks", "notes")


def make(workspace: Workspace, agent: str) -> list[str]:
    """Make what is missing of an agent's folder but its persona; return the files it wrote.

    Raises:
        CouncilError: The id is not legal, or the system refuses.
    """
    home = workspace.agent(agent)
    made = []
    for path in (home, *(os.path.join(home, part) for part in PARTS)):
        files.make_folder(path)
    policy = policy_path(workspace, agent)
    if not os.path.lexists(policy):
        text = json.dumps(new_policy(), indent=2) + "\n"
        if files.write_new(policy, text.encode("ascii")):
            made.append(policy)
    return made


def make_run_state(workspace: Workspace, agent: str) -> str:
    """Make the folders of what an agent's runs leave behind; return that of its own state.

    Raises:
        CouncilError: The system refuses.
    """
    state = workspace.agent_state(agent)
    for path in (state, workspace.sessions(agent)):
        if not os.path.isdir(path):
            files.make_folder(path)
            if not path.startswith(f"{workspace.agents}/"):  # those git leaves out already
                from council.store.gitignore import lay_in

                lay_in(path)
    return state


def policy_path(workspace: Workspace, agent: str) -> str:
    """Return the file of an agent's policy."""
    return os.path.join(workspace.agent(agent), POLICY_FILE)


def read_policy(workspace: Workspace, agent: str) -> Policy:
    """Return the policy of an agent; without a file everybody may and nothing is loosened.

    Raises:
        InvalidStateError: The file cannot be understood; nobody reaches the agent until it is.
        CouncilError: The system refuses.
    """
    path = policy_path(workspace, agent)
    standing = files.read_stable(path)
    if standing is None:
        return Policy(agent=agent)
    where = os.path.relpath(path, workspace.root)
    record = understood(standing.data, where, "correct it; until then nobody reaches the agent")
    return policy_of(agent, record, where)


_FENCE = re.compile(r"^---[ \t]*\n", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ./_-]*")
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_ORDER = ("name", "emoji", "role", "model", "driver", "preset", "capabilities", "handles")


def write_facts(workspace: Workspace, settings: Settings, agent_id: str, facts: Facts) -> str:
    """Let the `SOUL.md` of an agent say these facts; make it where there is none.

    Returns:
        The path of the file, "" when it said all of it before.

    Raises:
        InvalidStateError: The front matter is not to be changed by a program.
        CouncilError: The system refuses.
    """
    from council.store.lock import Lock

    path = soul_path(workspace.root, settings, agent_id)
    prepare_control(workspace)
    with Lock(f"{workspace.control}/souls.lock"):
        standing = files.read_stable(path)
        if standing is None:
            files.make_folder(os.path.dirname(path))
            if files.write_new(path, new_page(agent_id, facts).encode("utf-8")):
                return path
            standing = files.read_stable(path)
        try:
            old = (standing.data if standing else b"").decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidStateError(f"{path} is not UTF-8", "save it as UTF-8") from None
        new = with_facts(old, facts, path)
        if new == old:
            return ""
        latest = files.read_stable(path)
        if latest is None or standing is None or latest.digest != standing.digest:
            raise InvalidStateError(f"{path} was being edited", "save it, then try again")
        files.replace(path, new.encode("utf-8"))
    return path


def new_page(agent_id: str, facts: Facts) -> str:
    """Return a `SOUL.md` with these facts, and a place for the persona."""
    title = str(facts.get("name") or agent_id.capitalize())
    lines = [_line(key, facts[key]) for key in _ORDER if key in facts]
    about = f"# Below the next line: who {title} is, how it thinks, what it looks out for."
    return "\n".join(["---", *lines, about, "---", ""])


def with_facts(text: str, facts: Facts, path: str) -> str:
    """Return the text of a `SOUL.md` with these facts in its front matter, nothing else changed.

    Raises:
        InvalidStateError: Its front matter is not to be changed by a program.
    """
    crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    plain = text.replace("\r\n", "\n") if crlf else text
    mark = "\ufeff" if plain.startswith("\ufeff") else ""
    head, body = _parted(plain[len(mark) :], path)
    before = _read(head, path)
    wanted = {key: value for key, value in facts.items() if before.get(key) != value}
    if not wanted:
        return text
    changed = _changed(head, wanted)
    try:
        is_right = _read(changed, path) == {**before, **wanted}
    except InvalidStateError:
        is_right = False
    if not is_right:
        raise _by_hand(path, "has front matter of an unusual form")
    new = f"{mark}---\n{changed}---\n{body}"
    return new.replace("\n", "\r\n") if crlf else new


def _parted(text: str, path: str) -> tuple[str, str]:
    """Return front matter and body; a text without front matter is all body."""
    fences = [one.span() for one in _FENCE.finditer(text if text.endswith("\n") else text + "\n")]
    if not fences or fences[0][0] != 0:
        if text.startswith("---"):
            raise _by_hand(path, "has front matter of an unusual form")
        return "", text
    if len(fences) < 2:
        raise _by_hand(path, "has front matter without an end")
    return text[fences[0][1] : fences[1][0]], text[fences[1][1] :]


def _read(head: str, path: str) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(bounded_yaml(head))
    except (yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise _by_hand(path, f"has front matter that is not YAML: {said}") from None
    if not isinstance(found, dict | None):
        raise _by_hand(path, "has front matter that names no facts")
    return found or {}


def _by_hand(path: str, what: str) -> InvalidStateError:
    return InvalidStateError(f"{path} {what}", "correct it by hand; nothing was changed")


def _changed(head: str, facts: Facts) -> str:
    """Exchange the values that are there, from the last to the first; add the others below."""
    import yaml

    node = yaml.compose(head, Loader=yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    places = {key.value: (key, value) for key, value in pairs}
    new = head
    end = len(head)
    if pairs:
        end = _end_of(pairs[-1][1])
        line_end = head.find("\n", end)
        end = len(head) if line_end < 0 else line_end + 1
        if end and head[end - 1] != "\n":
            new += "\n"
            end += 1
    added = "".join(_line(key, facts[key]) + "\n" for key in facts if key not in places)
    new = new[:end] + added + new[end:]
    standing = [(*places[key], key) for key in facts if key in places]
    for key_node, value_node, key in sorted(standing, key=lambda one: -one[1].start_mark.index):
        start = min(value_node.start_mark.index, _end_of(value_node))
        gap = head[key_node.end_mark.index : start]
        if "\n" in gap:  # a list in lines of its own below its key
            start = key_node.end_mark.index + gap.index(":") + 1
        blank = "" if new[start - 1] == " " else " "
        new = new[:start] + blank + _value(facts[key]) + new[_end_of(value_node) :]
    return new


def _end_of(node: Any) -> int:
    """Return where the last sign of a value stands; a list in lines ends with its last item."""
    import yaml

    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_of(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        end -= 1  # the break that ends its last line
    return end


def _line(key: str, value: str | list[str]) -> str:
    return f"{key}: {_value(value)}"


def _value(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(one) for one in value)}]"
    plain = _PLAIN.fullmatch(value) and not value.endswith(" ")
    if plain and value.lower() not in _WORDS_OF_YAML:
        return value
    return json.dumps(value, ensure_ascii=False)
