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
from council.commands.output import Output
from council.commands.stage import Stage, verdict
from council.core.conversations.conversation import Conversation
from council.core.errors import CouncilError, NotFoundError, TimedOutError
from council.drivers.scripted import ANSWERS_FILE, parse_script
from council.operations.activity import Activities
from council.operations.conversations.follow import minutes_of
from council.operations.place import Place, open_place
from council.operations.setup import found_programs
from council.store.agents import SOUL_FILE
from council.store.conversations.minutes import data_path
from council.store.files import make_folder, remove, write_new
from council.store.settings import Settings, language
from council.store.slots import Slots
from council.store.texts import words_of

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


def _texts(lang: str) -> str:
    """Return the folder of what the agents say in a language."""
    return os.path.join(os.path.dirname(os.path.abspath(council.__file__)), "demo", lang)


def _free_ids(place: Place) -> dict[str, str]:
    """Return the id of each agent: its own, or when that is another's a free one."""
    agents = (*PARTICIPANTS, COORDINATOR)
    prefix = ""
    number = 1
    while any(_is_taken(place, agent, prefix + agent) for agent in agents):
        prefix = "demo-" if number == 1 else f"demo{number}-"
        number += 1
    return {agent: prefix + agent for agent in agents}


def _is_taken(place: Place, agent: str, as_id: str) -> bool:
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
    return there not in [_text(_texts(lang), agent, SOUL_FILE) for lang in ("en", "fr")]


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


LONGEST_S = 120
PHASE_TIMEOUT = "10m"
_CHECK_EVERY_S = 0.1
_BEAT_EVERY_S = 3.0
_RUNS_END_WITHIN_S = 10.0


def play(root: str, lang: str, *, quiet: bool, made: type[Performance] | None = None) -> Output:
    """Play the worked example in `root`, or else in a temporary workspace.

    Args:
        root: An existing or new directory, "" for a temporary one.
        lang: `en` or `fr`, "" for what settings and locale say.
        quiet: Print nothing on the way.
        made: What plays it, None for one machine.

    Raises:
        CouncilError: A command failed, or the council did not come to its end.
    """
    language(Settings(), lang, os.environ)  # an odd one is refused before a folder is made
    where = root or os.path.realpath(tempfile.mkdtemp(prefix="council-demo-"))
    return (made or Performance)(os.path.abspath(where), lang, quiet=quiet, ours=not root).play()


class Performance:
    """One demo in one workspace; `ours` is a temporary one, which stays as it was played."""

    def __init__(self, root: str, lang: str, *, quiet: bool, ours: bool) -> None:
        self.root = self.workspace = root
        self.lang = lang
        self.ours = ours
        self.stage = Stage(quiet=quiet)
        self.name = ""
        self.ids: dict[str, str] = {}
        self.written: list[str] = []

    def play(self) -> Output:
        """Play it, and leave nothing of it if it is interrupted.

        Raises:
            CouncilError: A command failed, or the council did not come to its end.
        """
        try:
            return self._played()
        except KeyboardInterrupt:
            if self.ours:
                shutil.rmtree(self.root, ignore_errors=True)
            raise

    def _played(self) -> Output:
        place = self._set_up()
        brief = self._put_in_place(place)
        try:
            return self._perform(place, brief)
        except KeyboardInterrupt:
            self._break_off(place)
            raise
        finally:
            if not self.ours:
                self._take_away(place)

    def _set_up(self) -> Place:
        os.makedirs(self.workspace, exist_ok=True)
        if os.path.realpath(os.getcwd()) != os.path.realpath(self.workspace):
            self.stage.command("cd", self.workspace)
        self._run("init", *(("--lang", self.lang) if self.lang else ()))
        place = open_place(self.workspace, "", os.environ)
        self.lang = language(place.settings, self.lang, os.environ)
        self.stage.speak(self.lang)
        return place

    def _put_in_place(self, place: Place) -> str:
        """Write the agents into the workspace, overwriting nothing; return the path of the brief.

        They take their time where a person watches.
        """
        texts = _texts(self.lang)
        self.ids = _free_ids(place)
        for agent in self.ids:
            self._put_agent(place, agent)
        brief = os.path.join(place.paths.agent(self.ids[COORDINATOR]), BRIEF_FILE)
        remove(brief)
        self._write(brief, _text(texts, BRIEF_FILE))
        return os.path.relpath(brief, place.root)

    def _put_agent(self, place: Place, agent: str) -> None:
        texts, folder = _texts(self.lang), place.paths.agent(self.ids[agent])
        self._write(os.path.join(folder, SOUL_FILE), _text(texts, agent, SOUL_FILE))
        answers = _text(texts, agent, ANSWERS_FILE)
        remove(os.path.join(folder, ANSWERS_FILE))  # of a performance that was killed
        answers = _answers(answers, self.ids, paced=self.stage.is_watched)
        self._write(os.path.join(folder, ANSWERS_FILE), answers)

    def _write(self, path: str, text: str) -> None:
        make_folder(os.path.dirname(path))
        if write_new(path, text.encode("utf-8")):
            self.written.append(path)

    def _take_away(self, place: Place) -> None:
        """Remove what was put in place, and the folders that are empty then."""
        for path in self.written:
            remove(path)
        told = place.paths.tasks(self.ids[COORDINATOR])
        for file in os.listdir(told) if os.path.isdir(told) else ():
            if file.endswith(".notice.md"):  # to a coordinator who is ours alone
                remove(os.path.join(told, file))
        for agent in self.ids.values():
            state = (place.paths.agent_state(agent), place.paths.sessions(agent))
            for folder in (place.paths.tasks(agent), *state, place.paths.agent(agent)):
                if os.path.isdir(folder) and not os.listdir(folder):
                    os.rmdir(folder)

    def _perform(self, place: Place, brief: str) -> Output:
        self.name = _free_name(place)
        participants = ",".join(self.ids[agent] for agent in PARTICIPANTS)
        self._run(
            "convene",
            _text(_texts(self.lang), "topic.txt").strip(),
            *("--agents", participants, "--coordinator", self.ids[COORDINATOR]),
            *("--brief-file", brief, "--timeout", PHASE_TIMEOUT),
            *(() if self.name == "active" else ("--name", self.name)),
            *("--lang", self.lang),
        )
        state = place.conversations.read(self.name)
        conversation_id = state.conversation_id
        is_alone = place.conversations.names() == [self.name]
        others = () if is_alone else ("--name", self.name)  # they are left alone
        self.stage.said(self._run("heartbeat", *others))
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
        asks = "ask" if len(found_programs(os.environ)) > 1 else "ask --rehearse"
        yours = words_of(self.lang, "ask")["yours"].format(f'council {asks} "…"')
        return Output(record=record, text=f"{verdict(minutes.text, shown, self.lang)}\n{yours}")

    def _follow(self, place: Place, state: Conversation) -> list[dict[str, Any]]:
        """Show what happens until the conversation is archived; return its phases."""
        started_at = beaten_at = time.monotonic()
        with self.stage:
            while True:
                self.stage.show(state)
                self.stage.tick(state, Activities(place).of(state), place.now())
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
                        f"see: council status --root {shlex.quote(self.workspace)}",
                    )
                state = found

    def _break_off(self, place: Place) -> None:
        """Leave nothing open and nothing running; the runs of the demo last seconds."""
        try:
            if self.name in place.conversations.names():
                ended = self._run("cancel", "--name", self.name, "--json", aloud=False)
                minutes = os.path.join(self.workspace, json.loads(ended)["minutes"])
                for path in (minutes, data_path(minutes)):
                    remove(path)
        except CouncilError:
            return
        finally:
            self._let_runs_end(place)

    def _let_runs_end(self, place: Place) -> None:
        slots = Slots(place.paths.places, place.settings.max_runs)
        ends_at = time.monotonic() + _RUNS_END_WITHIN_S
        while slots.taken() and time.monotonic() < ends_at:
            time.sleep(_CHECK_EVERY_S)

    def _run(self, *words: str, aloud: bool = True, at: str = "") -> str:
        """Run `council WORDS` in the workspace, or `at` another; return what it printed."""
        if aloud:
            self.stage.command("council", *words)
        done = subprocess.run(
            command(*words),
            cwd=at or self.workspace,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
            raise CouncilError(
                f"`council {words[0]}` ended with {done.returncode}: "
                f"{why[-1].removeprefix('council: ')}",
                f"the workspace is {self.workspace}",
            )
        return done.stdout.decode("utf-8", "replace")

    def _environment(self) -> dict[str, str]:
        """Return our environment without what would send a command elsewhere."""
        return {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("COUNCIL_") or name == "COUNCIL_NOW"
        }


def command(*words: str) -> list[str]:
    """Return the words that start a command of this council."""
    return [sys.executable, "-P", "-m", "council", *words]


def _free_name(place: Place) -> str:
    open_names = place.conversations.names()
    names = ["active", "demo", *(f"demo-{number}" for number in range(2, len(open_names) + 3))]
    return next(name for name in names if name not in open_names)
