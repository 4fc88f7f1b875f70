"""The demo on two machines: two workspaces, an engine between them, agents that live in one each.

The PostgreSQL server is one of the demo's own. It ends with the demo, so both workspaces leave
their engine before, and each goes on alone with what it has.

Source: EN-001, EN-002, EN-003.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import ExitStack, suppress

from council.commands.demo import Performance, command
from council.commands.integrating import require
from council.commands.output import Output
from council.core.errors import CouncilError
from council.drivers.postgres_server import folder_of_programs, kept, own_server, server_user
from council.operations.conversations.follow import minutes_of
from council.operations.place import Place, open_place
from council.store.conversations.minutes import data_path
from council.store.documents import journal
from council.store.engine.sessions import is_linked
from council.store.files import content_of
from council.store.settings_file import add_tables
from council.store.texts import words_of

NORTH, SOUTH = "north", "south"
_LIVE_IN_SOUTH = ("nova", "blaise")


class OnTwoMachines(Performance):
    """A demo in the folders `north` and `south` of its root; it is followed in `north`."""

    @staticmethod
    def check() -> None:
        """Refuse, before anything is made, where there can be no engine.

        Raises:
            NotFoundError: PostgreSQL, or what speaks with it, is not installed.
        """
        require("postgres", "an engine")
        folder_of_programs()
        server_user()

    def _played(self) -> Output:
        with own_server() as self._server:
            try:
                with ExitStack() as self._links:
                    return super()._played()
            finally:
                for name in (NORTH, SOUTH):
                    with suppress(CouncilError):
                        self._run("engine", "leave", aloud=False, at=f"{self.root}/{name}")

    def _set_up(self) -> Place:
        self.workspace = f"{self.root}/{NORTH}"
        super()._set_up()
        north = self._come_in("init", NORTH)
        self._go_to(SOUTH)
        self._south = self._come_in("join", SOUTH)
        self._go_to(NORTH)
        return north

    def _go_to(self, name: str) -> None:
        self.workspace = f"{self.root}/{name}"
        os.makedirs(self.workspace, exist_ok=True)
        self.stage.command("cd", f"../{name}")

    def _come_in(self, how: str, name: str) -> Place:
        """Let the workspace have its part in the engine, and a link that lives as long as we do."""
        self.stage.said(self._run("engine", how, self._server.url, "--machine", name))
        self.stage.command("council", "link", "&")
        link = self._links.enter_context(
            kept(
                command("link"),
                signal.SIGTERM,
                subprocess.PIPE,
                cwd=self.workspace,
                env=self._environment(),
            )
        )
        said = link.stdout.readline().decode("utf-8", "replace") if link.stdout else ""
        place = open_place(self.workspace, "", os.environ)
        if not is_linked(place.paths.control):
            raise CouncilError(f"`council link` ended: {said.strip().removeprefix('council: ')}")
        self.stage.said(said)
        return place

    def _put_agent(self, place: Place, agent: str) -> None:
        lives = {"machines": [SOUTH if agent in _LIVE_IN_SOUTH else NORTH]}
        for one in (place, self._south):
            super()._put_agent(one, agent)
            add_tables(one.paths, {f"agents.{agent}": lives})

    def _perform(self, place: Place, brief: str) -> Output:
        words = words_of(self.lang, "ask")
        for machine in (NORTH, SOUTH):
            who = [one for one in self.ids if (one in _LIVE_IN_SOUTH) == (machine == SOUTH)]
            self.stage.note(words["live"].format(who=", ".join(who), machine=machine))
        output = super()._perform(place, brief)
        self._run("engine", "pull", aloud=False, at=self._south.root)
        files, size = self._same_bytes(place, str(output.record["conversationId"]))
        output.record |= {"sameFiles": files, "sameBytes": size}
        said = words["same"].format(files=files, bytes=size)
        return Output(record=output.record, text=f"{output.text}\n{said}\n")

    def _same_bytes(self, place: Place, conversation_id: str) -> tuple[int, int]:
        """Return how many files of the conversation both machines have, and how many bytes.

        Raises:
            CouncilError: One is not the same on both.
        """
        minutes = minutes_of(place, conversation_id).path
        folder = place.paths.conversation_folder(conversation_id)
        paths = [minutes, data_path(minutes), f"{folder}/{journal.FILE}"]
        size = 0
        for path in paths:
            inside = os.path.relpath(path, place.root)
            data = content_of(path)
            if content_of(f"{self._south.root}/{inside}") != data:
                raise CouncilError(
                    f"{inside} is not the same on both machines", f"compare them in {self.root}"
                )
            size += len(data)
        return len(paths), size

    def _break_off(self, place: Place) -> None:
        super()._break_off(place)
        self._let_runs_end(self._south)

    def _environment(self) -> dict[str, str]:
        return {**super()._environment(), **self._server.secret}
