"""`council demo`: a whole council before your eyes, through the real commands.

Each command it prints is run as a process of its own, exactly as printed.
Between them it only reads the conversation and prints what it sees.

Source: C0-082, `cli.md` section 2 (`demo`), XC-011.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

import council
from council.cli.edge import Output
from council.cli.stage import Stage, verdict
from council.core.conversations.conversation import Conversation
from council.core.errors import CouncilError, NotFoundError, TimedOutError
from council.core.record import Record
from council.drivers.scripted import ANSWERS_FILE, parse_script
from council.operations.conversations.follow import minutes_of
from council.operations.place import Place, open_place
from council.store.agents import SOUL_FILE
from council.store.conversations.minutes import data_path
from council.store.files import make_folder, remove, write_new
from council.store.settings import Settings, language
from council.store.slots import Slots

# --- The agents of the demo: who they are, what they will say, where that is put

PARTICIPANTS = ("henry", "sage", "nova", "blaise")
COORDINATOR = "maman"
BRIEF_FILE = "brief.md"

# Seconds an agent takes to answer when a person watches, by round.
_PACE = {
    "henry": (1, 2, 1),
    "sage": (2, 1, 2),
    "nova": (2, 2, 1),
    "blaise": (3, 1, 2),
    COORDINATOR: (2,),
}
# The stage reads ten times a second; the last phase must be there to be seen.
_SHORTEST_SYNTHESIS_S = 1


class Cast(Record):
    """The agents of one performance, and which of their files it wrote itself."""

    topic: str
    participants: list[str]
    coordinator: str
    brief: str
    written: list[str]


def put_in_place(place: Place, lang: str, *, paced: bool) -> Cast:
    """Write the agents of the demo into the workspace; overwrite nothing.

    Args:
        place: The workspace.
        lang: The language of what they say.
        paced: Whether they take their time, for a person who watches.
    """
    texts = os.path.join(os.path.dirname(os.path.abspath(council.__file__)), "demo", lang)
    ids = _free_ids(place, texts)
    written: list[str] = []
    for agent, as_id in ids.items():
        folder = place.paths.agent(as_id)
        _write(os.path.join(folder, SOUL_FILE), _text(texts, agent, SOUL_FILE), written)
        answers = _answers(_text(texts, agent, ANSWERS_FILE), ids, paced=paced)
        remove(os.path.join(folder, ANSWERS_FILE))  # of a performance that was killed
        _write(os.path.join(folder, ANSWERS_FILE), answers, written)
    brief = os.path.join(place.paths.agent(ids[COORDINATOR]), BRIEF_FILE)
    remove(brief)
    _write(brief, _text(texts, BRIEF_FILE), written)
    return Cast(
        topic=_text(texts, "topic.txt").strip(),
        participants=[ids[agent] for agent in PARTICIPANTS],
        coordinator=ids[COORDINATOR],
        brief=os.path.relpath(brief, place.root),
        written=written,
    )


def take_away(place: Place, cast: Cast) -> None:
    """Remove what `put_in_place` wrote, and the folders that are empty then."""
    for path in cast.written:
        remove(path)
    told = place.paths.tasks(cast.coordinator)
    for file in os.listdir(told) if os.path.isdir(told) else ():
        if file.endswith(".notice.md"):  # to a coordinator who is ours alone
            remove(os.path.join(told, file))
    for agent in (*cast.participants, cast.coordinator):
        state = (place.paths.agent_state(agent), place.paths.sessions(agent))
        for folder in (place.paths.tasks(agent), *state, place.paths.agent(agent)):
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)


def _free_ids(place: Place, texts: str) -> dict[str, str]:
    """Return the id of each agent: its own, or when that is another's a free one."""
    agents = (*PARTICIPANTS, COORDINATOR)
    prefix = ""
    number = 1
    while any(_is_taken(place, texts, agent, prefix + agent) for agent in agents):
        prefix = "demo-" if number == 1 else f"demo{number}-"
        number += 1
    return {agent: prefix + agent for agent in agents}


def _is_taken(place: Place, texts: str, agent: str, as_id: str) -> bool:
    if as_id in place.settings.agents:
        return True
    folder = place.paths.agent(as_id)
    soul = os.path.join(folder, SOUL_FILE)
    if not os.path.lexists(folder):
        return False
    if not os.path.isfile(soul):
        return bool(os.listdir(folder))
    with open(soul, encoding="utf-8", errors="replace", newline="") as file:
        there = file.read()
    return there not in [
        _text(os.path.join(os.path.dirname(texts), lang), agent, SOUL_FILE) for lang in ("en", "fr")
    ]


def _answers(text: str, ids: dict[str, str], *, paced: bool) -> str:
    """Return the script of one agent with the ids and the pace of this performance."""
    parts = []
    for at, one in enumerate(parse_script(text)):
        words = ["##", ids[one.agent], one.due, one.status]
        seconds = _PACE[one.agent][at] if paced else 0
        if one.agent == COORDINATOR:
            seconds = max(seconds, _SHORTEST_SYNTHESIS_S)
        if seconds:
            words += ["after", f"{seconds}s"]
        said = one.text
        for agent, as_id in ids.items():
            said = said.replace(f"@{agent}", f"@{as_id}")
        parts.append(f"{' '.join(word for word in words if word)}\n{said}\n")
    return "\n".join(parts)


def _text(*parts: str) -> str:
    with open(os.path.join(*parts), encoding="utf-8", newline="") as file:
        return file.read()


def _write(path: str, text: str, written: list[str]) -> None:
    make_folder(os.path.dirname(path))
    if write_new(path, text.encode("utf-8")):
        written.append(path)


LONGEST_S = 120
PHASE_TIMEOUT = "10m"
_CHECK_EVERY_S = 0.1
_BEAT_EVERY_S = 3.0
_RUNS_END_WITHIN_S = 10.0


def play(root: str, lang: str, *, quiet: bool) -> Output:
    """Play the worked example in `root`, or else in a temporary workspace.

    Args:
        root: An existing or new directory, "" for a temporary one.
        lang: `en` or `fr`, "" for what settings and locale say.
        quiet: Print nothing on the way.

    Raises:
        CouncilError: A command failed, or the council did not come to its end.
    """
    language(Settings(), lang, os.environ)  # an odd one is refused before a folder is made
    if root:
        return _Performance(os.path.abspath(root), lang, quiet=quiet, ours=False).play()
    folder = tempfile.mkdtemp(prefix="council-demo-")
    return _Performance(os.path.realpath(folder), lang, quiet=quiet, ours=True).play()


class _Performance:
    """One demo in one workspace; `ours` is a temporary one, which stays as it was played."""

    def __init__(self, root: str, lang: str, *, quiet: bool, ours: bool) -> None:
        self.root = root
        self.lang = lang
        self.ours = ours
        self.stage = Stage(quiet=quiet)
        self.name = ""

    def play(self) -> Output:
        try:
            place = self._set_up()
            cast = put_in_place(place, self.lang, paced=self.stage.is_watched)
            try:
                return self._perform(place, cast)
            except KeyboardInterrupt:
                self._break_off(place)
                raise
            finally:
                if not self.ours:
                    take_away(place, cast)
        except KeyboardInterrupt:
            if self.ours:
                shutil.rmtree(self.root, ignore_errors=True)
            raise

    def _set_up(self) -> Place:
        os.makedirs(self.root, exist_ok=True)
        if os.path.realpath(os.getcwd()) != os.path.realpath(self.root):
            self.stage.command("cd", self.root)
        self._run("init", *(("--lang", self.lang) if self.lang else ()))
        place = open_place(self.root, "", os.environ)
        self.lang = language(place.settings, self.lang, os.environ)
        self.stage.speak(self.lang)
        return place

    def _perform(self, place: Place, cast: Cast) -> Output:
        self.name = _free_name(place)
        self._run(
            "convene",
            cast.topic,
            *("--agents", ",".join(cast.participants), "--coordinator", cast.coordinator),
            *("--brief-file", cast.brief, "--timeout", PHASE_TIMEOUT),
            *(() if self.name == "active" else ("--name", self.name)),
            *("--lang", self.lang),
        )
        state = place.conversations.read(self.name)
        conversation_id = state.conversation_id
        self.stage.said(self._run("heartbeat", *self._only_ours(place)))
        phases = self._follow(place, state)
        minutes = minutes_of(place, conversation_id)
        record = {
            "root": self.root,
            "name": self.name,
            "conversationId": conversation_id,
            "minutes": minutes.path,
            "phases": phases,
        }
        shown = os.path.relpath(minutes.path) if not self.ours else minutes.path
        return Output(record=record, text=verdict(minutes.text, shown, self.lang))

    def _follow(self, place: Place, state: Conversation) -> list[dict[str, Any]]:
        """Show what happens until the conversation is archived; return its phases."""
        started_at = beaten_at = time.monotonic()
        with self.stage:
            while True:
                self.stage.show(state)
                self.stage.tick(state, place.now())
                time.sleep(_CHECK_EVERY_S)
                try:
                    found = place.conversations.read(self.name)
                except NotFoundError:
                    return self.stage.phases
                if found.conversation_id != state.conversation_id:
                    return self.stage.phases
                clock = time.monotonic()
                if found.rev != state.rev:
                    beaten_at = clock
                elif clock - beaten_at > _BEAT_EVERY_S:
                    self._run("heartbeat", "--name", self.name, aloud=False)
                    beaten_at = clock
                if clock - started_at > LONGEST_S:
                    raise TimedOutError(
                        f"the demo has not come to its end in {LONGEST_S} s",
                        f"see: council status --root {shlex.quote(self.root)}",
                    )
                state = found

    def _only_ours(self, place: Place) -> tuple[str, ...]:
        """Return the option that leaves other open conversations alone, if there are any."""
        return () if place.conversations.names() == [self.name] else ("--name", self.name)

    def _break_off(self, place: Place) -> None:
        """Leave nothing open and nothing running; the runs of the demo last seconds."""
        try:
            if self.name in place.conversations.names():
                ended = self._run("cancel", "--name", self.name, "--json", aloud=False)
                minutes = os.path.join(self.root, json.loads(ended)["minutes"])
                for path in (minutes, data_path(minutes)):
                    remove(path)
        except CouncilError:
            return
        finally:
            slots = Slots(place.paths.places, place.settings.max_runs)
            ends_at = time.monotonic() + _RUNS_END_WITHIN_S
            while slots.taken() and time.monotonic() < ends_at:
                time.sleep(_CHECK_EVERY_S)

    def _run(self, *words: str, aloud: bool = True) -> str:
        """Run `council WORDS` in the workspace and return what it printed."""
        if aloud:
            self.stage.command("council", *words)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "council", *words],
            cwd=self.root,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
            raise CouncilError(
                f"`council {words[0]}` ended with {done.returncode}: "
                f"{why[-1].removeprefix('council: ')}",
                f"the workspace is {self.root}",
            )
        return done.stdout.decode("utf-8", "replace")


def _free_name(place: Place) -> str:
    open_names = place.conversations.names()
    names = ["active", "demo", *(f"demo-{number}" for number in range(2, len(open_names) + 3))]
    return next(name for name in names if name not in open_names)


def _environment() -> dict[str, str]:
    """Return our environment without what would send a command elsewhere."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COUNCIL_") or name == "COUNCIL_NOW"
    }
