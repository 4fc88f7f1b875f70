"""Whether a council can begin: what `doctor` can see to be missing, asked before one is opened.

Nothing is looked for here: the causes are those of `causes`, of which some keep an agent, or any
agent, from being started.

Source: FW-005, FW-006.
"""

from __future__ import annotations

from collections.abc import Collection

from council.core.errors import (
    CouncilError,
    NotFoundError,
    NotReadyError,
    RefusedError,
    StorageError,
)
from council.drivers.programs import PRESETS
from council.operations.examining.causes import Cause, in_order, of_workspace
from council.operations.place import Place
from council.operations.setup import found_programs
from council.store.agents import is_woken
from council.store.texts import words_of

# Which causes keep anything from being started, which only programs, and which one agent.
_OF_ALL: dict[str, type[CouncilError]] = {
    "halted": RefusedError,
    "disk-full": StorageError,
    "folder-closed": RefusedError,
}
_OF_PROGRAMS: dict[str, type[CouncilError]] = {"cap": RefusedError}
_OF_AGENT: dict[str, type[CouncilError]] = dict.fromkeys(
    ("no-driver", "no-command", "no-program", "no-right", "no-model", "no-library", "no-key"),
    NotFoundError,
)


def missing(place: Place, agents: Collection[str]) -> list[Cause]:
    """Return the causes for which these agents, or some of them, could not be started.

    Agents of other machines are looked for there.
    """
    woken = [one for one in agents if is_woken(place.root, place.settings, one)]
    here = [one for one in woken if place.has(one)]
    return [
        one
        for one in in_order(of_workspace(place))
        if one.code in _OF_ALL
        or (one.code in _OF_PROGRAMS and woken)
        or (one.code in _OF_AGENT and one.agent in here)
    ]


def refuse_unready(place: Place, agents: Collection[str], lang: str) -> None:
    """Refuse to begin with agents of whom some could not be started.

    Raises:
        NotReadyError: A line for each thing that is missing, with the way out.
    """
    causes = missing(place, agents)
    if causes:
        lines = [(one.said(lang), _ways(one, causes, agents, lang)) for one in causes]
        raise NotReadyError(lines, {**_OF_ALL, **_OF_PROGRAMS, **_OF_AGENT}[causes[0].code])


def _ways(one: Cause, causes: list[Cause], agents: Collection[str], lang: str) -> str:
    """Return how a cause is mended, and how to do without its agent if enough others are left."""
    unable = {cause.agent for cause in causes}
    able = [agent for agent in agents if agent not in unable]
    if one.code not in _OF_AGENT or len(able) < 2:
        return one.fix(lang)
    leave = words_of(lang, "ask")["without"].format(agent=one.agent, others=",".join(able))
    return f"{one.fix(lang)}; {leave}"


def undeclared_programs(place: Place, unknown: list[str]) -> list[tuple[str, str]]:
    """Return what is said of well-known programs that are named as agents and are none here."""
    lines = []
    for name in unknown:
        if name in PRESETS:
            model = " --model MODEL" if PRESETS[name].needs_model else ""
            add = f"council agent add {name} --preset {name}{model}"
            if name in found_programs(place.environ):
                lines.append((f"{name} is no agent of this workspace yet", f"make it one: {add}"))
            else:
                lines.append((f"{name} is not on PATH", f"install it; then: {add}"))
    return lines


def too_few(place: Place, agents: list[str], where: str) -> NotReadyError:
    """Return the refusal where nobody was named and fewer than two agents are known, with ways on.

    Args:
        place: The workspace, or the folder in which one would be made.
        agents: Who is known there.
        where: What is said of the place.
    """
    usable = [name for name, one in PRESETS.items() if not one.needs_model]
    found = found_programs(place.environ)
    others = [one for one in usable if one not in found]
    ask = 'council ask "…"'
    lines = [(f"{where}; a council needs two participants", "")]
    if not found:
        lines[0] = (f"{lines[0][0]}, and no agent program is on PATH: {', '.join(usable)}", "")
    elif any(one not in agents for one in found):
        lines.append((f"on PATH: {', '.join(found)}", f"council init --agents {','.join(found)}"))
    if others:
        lines.append(("install an agent program, then ask again", ", ".join(others)))
    lines += [
        (
            "or use a model behind a URL",
            "council init; council agent add NAME --model M --base-url URL",
        ),
        ("or take part yourselves", f"{ask} --people {'ann' if agents else 'ann,bob'}"),
        (
            "or see a council without any of them",
            'council demo; with your own question: council ask --rehearse "…"',
        ),
    ]
    return NotReadyError(lines, NotFoundError)
