"""What the scripted model says to a prompt, and which tools it calls.

It reads a prompt as any model would: what is quoted between marks is no instruction,
a form that the prompt shows is filled in, a command that it shows is run.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.e2e.protocols import Asked, Call, Entry, Json, Reply, Tool

ERROR_TEXT = "⚠️ Exec failed"
HANDED_IN = "My answer is handed in."
INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
SHELL_TOOLS = ("exec", "exec_command", "bash", "shell", "shell_command", "run_shell_command")

_HANDS_IN = re.compile(
    r"^[ \t]*((?:\S*/)?council (?:respond|vote|synthesize|turn end)\b"
    r"[^\n]*<<-?\s*'?([\w-]+)'?[^\n]*)\n"
    r".*?^[ \t]*\2[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_READS = re.compile(r"(?:^[ \t]*|`)((?:\S*/)?council (?:context|prompt)\b[^\n`]*)", re.MULTILINE)
_QUOTED = re.compile(
    r"^[ \t]*\[\[([0-9a-f]{8,}) begin ([^\]\n]*)\]\]\n(.*?)^[ \t]*\[\[\1 end [^\]\n]*\]\]",
    re.MULTILINE | re.DOTALL,
)
_TEXT_ARGUMENTS = ("text", "answer", "contribution", "content", "message", "markdown")


def reply_to(mood: str, asked: Asked) -> Reply:
    """Return what the model says or calls next."""
    if asked.wants is not None:
        return Reply(json.dumps(example_of(asked.wants)))
    if mood == "says-error":
        return Reply(ERROR_TEXT)
    prompt, since = _task(asked.entries)
    if mood == "tools":
        return _by_shell(asked, prompt, since) or Reply(answer_to(prompt))
    if mood == "mcp":
        return _by_mcp(asked, prompt, since) or Reply(answer_to(prompt))
    return Reply(answer_to(prompt))


def _task(entries: tuple[Entry, ...]) -> tuple[str, tuple[Entry, ...]]:
    """Return the last thing that a user asked, and what was called and came back since."""
    for at in range(len(entries) - 1, -1, -1):
        kind, text = entries[at]
        if kind == "user" and text.strip() and not text.lstrip().startswith(INTERNAL):
            return text, entries[at + 1 :]
    return "", entries


def answer_to(prompt: str) -> str:
    """Return a text that fits what a prompt asks: a contribution, a vote, a synthesis, a word."""
    word = re.search(r"[Aa]nswer with the single word:? *[`\"']?(\w+)", prompt)
    if word:
        return word[1]
    plain, quoted = _QUOTED.sub("", prompt), _QUOTED.findall(prompt)
    found = re.search(r"\(agent id `([\w-]+)`\)|\(id d'agent `([\w-]+)`\)|`([\w-]+)`\)", plain)
    me = next(filter(None, found.groups()), "model") if found else "model"
    form = re.findall(r"^ {4}(## .+|- @.+|\[.+\]|.+\.)$", plain, re.MULTILINE)
    if sum(line.startswith("## ") for line in form) > 1:
        return _filled(form, me)
    if plain.startswith("# Room:"):
        spoken = re.search(r"^You are \*\*([\w-]+)\*\*", plain, re.MULTILINE)
        mine = f"This is {spoken[1] if spoken else me}. I would begin with the smallest step."
        return "NO_REPLY" if mine in prompt else mine
    if "```json" in plain:
        schema = plain.split("```json\n", 1)[1].split("```", 1)[0]
        return json.dumps(example_of(json.loads(schema)))
    phase = re.search(r"\(([A-Z]{3,}), (?:round|tour) (\d+)\)", plain)
    if phase is None:
        return f"I have read {len(prompt.split())} words and have nothing to add."
    return _contribution(me, phase[1], phase[2], plain, quoted)


def _contribution(
    me: str, phase: str, tour: str, plain: str, quoted: list[tuple[str, str, str]]
) -> str:
    """Return a position, or criticism with a quotation, such as Markdown of models looks."""
    points = []
    for _, head, body in quoted:
        author = re.search(r"\(\\?@([\w-]+)\)", head)
        said = next((line for line in body.splitlines() if line.startswith("Position")), "")
        if author and said and author[1] != me and author[1] not in "".join(points):
            points.append(f"@{author[1]}\n> {said}\n\nThis holds if the first step is small.")
    text = [
        f"Position of {me} in {phase}, round {tour}: begin with the smallest step, and measure.",
        *points,
        f"Three reasons carry it — déjà éprouvés ✓ — and {me} stands for each of them:",
        "| reason | weight |\n|---|--:|\n| it can be undone | 3 |\n| it is cheap | 2 |",
        "```sh\nmake test  # what would change my mind: a step that cannot be undone\n```",
    ]
    if "`STATUS: AGREED`" in plain:
        text.append("STATUS: AGREED")
    return "\n\n".join(text)


def _filled(form: list[str], me: str) -> str:
    """Return a form with its brackets filled in."""
    text: list[str] = []
    for line in form:
        if line.startswith("## "):
            text += ["", line]
            if re.search(r"[Cc]onfi[da]", line):
                text.append("4")
            elif not re.search(r"Responses|Agreement|Insights|Réponses|Accord", line):
                text.append(f"Begin with the smallest step, and measure, says {me}.")
        elif line.startswith("- @"):
            stance = "acknowledged" if "acknowledged" in line else "agree"
            text.append(f"{line.split(':', 1)[0]}: {stance} — the reason holds.")
    return "\n".join(text).strip()


def _by_shell(asked: Asked, prompt: str, since: tuple[Entry, ...]) -> Reply | None:
    """Return the call of the shell that the prompt asks for, None if it asks for none."""
    shell = next((one for one in asked.tools if one.name.lower() in SHELL_TOOLS), None)
    if shell is None:
        return None
    calls = [one.text for one in since if one.kind == "call"]
    if any(re.search(r"council (?:respond|vote|synthesize|turn end)\b", one) for one in calls):
        return Reply(HANDED_IN)
    results = [one.text for one in since if one.kind == "result"]
    for text in reversed([prompt, *results]):
        shown = _HANDS_IN.search(_QUOTED.sub("", text))
        if shown:
            return Reply(call=_shell_call(shell, command_with_answer(text, shown)))
    reads = _READS.search(prompt)
    if reads and not calls:
        return Reply(call=_shell_call(shell, reads[1]))
    return Reply(HANDED_IN) if calls else None


def command_with_answer(prompt: str, shown: re.Match[str]) -> str:
    """Return the command that a prompt shows, with an answer in the place of its placeholder."""
    first, mark = shown[1], shown[2]
    answer = answer_to(prompt)
    if "`--status agreed`" in prompt and "council respond" in first:
        first = first.replace("council respond", "council respond --status agreed", 1)
    return f"{first}\n{answer}\n{mark}"


def _shell_call(tool: Tool, command: str) -> Call:
    wanted = tool.schema.get("properties") or {"command": {"type": "string"}}
    name = next(one for one in ("command", "cmd", *wanted) if one in wanted)
    is_list = wanted[name].get("type") == "array"
    given: Json = {one: example_of(wanted[one]) for one in tool.schema.get("required", ())}
    given[name] = ["bash", "-lc", command] if is_list else command
    return Call(tool.name, given, tool.namespace)


def _by_mcp(asked: Asked, prompt: str, since: tuple[Entry, ...]) -> Reply | None:
    """Return the call of `context`, then of `respond` (or `vote`, `synthesize`), then an end."""
    tools = {
        verb: one
        for verb in ("context", "respond", "vote", "synthesize")
        for one in asked.tools
        if re.search(rf"(^|[^a-z]){verb}$", one.name) and "council" in f"{one.namespace}{one.name}"
    }
    if "context" not in tools:
        return None
    calls = [one.text for one in since if one.kind == "call"]
    results = [one.text for one in since if one.kind == "result"]
    if any(re.match(r"\S*(respond|vote|synthesize)\b", one) for one in calls):
        return Reply(HANDED_IN)
    if not results:
        return Reply(call=_mcp_call(tools["context"], prompt, ""))
    context = results[-1]
    verb = "respond"
    if re.search(r"^    ## (Decision|Décision|Consensus Summary)", context, re.MULTILINE):
        verb = "synthesize"
    elif re.search(r"^    ## (Final Position|Position finale)", context, re.MULTILINE):
        verb = "vote"
    if verb not in tools:
        return None
    return Reply(call=_mcp_call(tools[verb], context, answer_to(context)))


def _mcp_call(tool: Tool, read: str, answer: str) -> Call:
    """Return a call whose arguments are what was read, and the answer as its text."""
    wanted: Json = tool.schema.get("properties") or {}
    required = tool.schema.get("required", ())
    known = {
        "task": re.search(r"Your task: `([^`]+)`", read) or re.search(r"`task`: `([^`]+)`", read),
        "name": re.search(r"Conversation: `([^`]+)`", read),
        "conversation": re.search(r"Conversation: `([^`]+)`", read),
        "agent": re.search(r"\(agent id `([\w-]+)`\)", read),
    }
    given: Json = {one: found[1] for one, found in known.items() if found and one in wanted}
    if answer:
        place = next((one for one in (*_TEXT_ARGUMENTS, *required) if one in wanted), "text")
        given[place] = answer
        may_agree = "`STATUS: AGREED`" in read or "`status`: `agreed`" in read
        if may_agree and "status" in wanted:
            given["status"] = "agreed"
    for one in required:
        given.setdefault(one, example_of(wanted.get(one, {})))
    return Call(tool.name, given, tool.namespace)


def example_of(schema: Json) -> Any:
    """Return the smallest value of a JSON Schema."""
    fixed = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if fixed:
        return fixed[0]
    either = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if either:
        return example_of(either[0])
    kind = schema.get("type", "string")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        fields = schema.get("properties") or {}
        return {one: example_of(fields.get(one, {})) for one in schema.get("required", fields)}
    if kind == "array":
        return [example_of(schema.get("items") or {})] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": False, "null": None}.get(kind, "as asked")
