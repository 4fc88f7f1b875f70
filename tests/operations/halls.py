"""Workspaces with rooms whose agents are real little programs, for the tests of the operations."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta

from council.core.rooms.channels import Channel
from council.operations.report import Report
from council.operations.rooms import (
    channels,
    discord,
    discord_ties,
    discussing,
    rooms,
    showing,
    turns,
)
from tests.drivers.discord_server import BOT, GENERAL, TOKEN, Server
from tests.operations.tables import Table, script

GUIDE = "## Topic\nUmbrellas\n\n## Goals\nA list.\n\n## Completion criteria\nAll agree.\n"
MINUTE = timedelta(minutes=1)

# Speaks so many cycles and then passes.
TALKS = (
    'cat >/dev/null; if [ "$COUNCIL_TOUR" -le {cycles} ]; then '
    'echo "$COUNCIL_AGENT in cycle $COUNCIL_TOUR"; else echo NO_REPLY; fi'
)
PASSES = "cat >/dev/null; echo NO_REPLY"
FAILS = "cat >/dev/null; exit 3"


def talks(cycles: int) -> dict[str, object]:
    """Return an agent that speaks in the first cycles and then passes."""
    return script(TALKS.format(cycles=cycles))


# Both ways in which what is said is delivered (DG-088); the parameter of a fixture.
WAYS = ("folder", "discord")


class Hall(Table):
    """A workspace with rooms, and the operations on them at a chosen time.

    With a server, its room `weather` is tied to a channel there, and people speak there.
    """

    server: Server | None = None

    @property
    def environ(self) -> dict[str, str]:
        if self.server is None:
            return super().environ
        return {**super().environ, "DISCORD_TOKEN": TOKEN, discord.URL: self.server.url}

    def room(self, *members: str, name: str = "weather", mode: str = "chat") -> Hall:
        channels.create(self.place, mode, name, members or ("owl", "gecko"))
        if self.server is not None and name == "weather":
            discord_ties.tie(self.place, name, str(GENERAL), "", "")
        return self

    def exchange(self, name: str = "weather") -> Channel:
        """Do what a heartbeat does between a room and Discord, and nothing else."""
        discord.exchange(self.place, name, waits=True)
        return self.standing(name)

    def discuss(
        self, *members: str, name: str = "umbrellas", by: str = "owl", callback: str = ""
    ) -> Hall:
        discussing.create(self.place, name, by, GUIDE, members, callback=callback)
        return self

    def post(self, text: str = "Will it rain?", by: str = "alice", name: str = "weather") -> Hall:
        if self.server is None or name != "weather" or by in self.place.agents():
            channels.post(self.place, name, by, text)
        else:
            known = {one["global_name"]: int(one["id"]) for one in self.server.users.values()}
            account = known.get(by) or self.server.join(1000 + len(known), by)
            self.server.write(account, text)
            self.exchange(name)
            self.beat()
        return self

    def end(self, agent: str, text: str, name: str = "weather", run: str = "") -> str:
        return turns.end(self.place, name, agent, run, text, post=True).outcome

    def standing(self, name: str = "weather") -> Channel:
        return showing.standing(self.place, name).channel

    def said(self, name: str = "weather") -> list[str]:
        """Return what was said in a room, `author: text`, without the guide."""
        store = rooms.channels(self.place)
        found = store.newest(store.see(name).channel)
        return [
            f"{one.agent or one.extra.get('named') or one.author}: {one.content}"
            for one in found
            if one.kind != "guide"
        ]

    def is_alike(self, name: str = "weather") -> bool:
        """Return true if all that was said here since the tie lies on Discord, once, in order."""
        assert self.server is not None
        said = [one.partition(": ")[2] for one in self.said(name)]
        found = [
            one["content"].partition("\n")[2] if one["author"]["id"] == str(BOT) else one["content"]
            for one in self.server.messages[GENERAL]
        ]
        return found == said

    def kinds(self, *wanted: str, about: str = "") -> list[str]:
        """Return `type agent` of events, once each, of one room or of all."""
        known: dict[object, str] = {}
        for one in self.events(*wanted):
            if not about or one["conversationId"] == about:
                known[one["eventId"]] = f"{one['type']} {one.get('agentId') or ''}".strip()
        return list(known.values())


def woken(report: Report) -> dict[str, list[str]]:
    """Return whom a heartbeat has woken in which room."""
    return {one.name: one.woken for one in report.all_rooms() if one.woken}


def files_below(folder: str | os.PathLike[str]) -> Iterable[str]:
    """Yield the paths of all files below a folder."""
    for here, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(here, name)
