"""The table of routes: all commands are served, and each route is what its command takes."""

from __future__ import annotations

import pytest

from council.commands.options import ROWS, is_group, names
from council.web.routes import routes

# Every other command, and why it has no route.
NONE = """
init  a server serves one workspace, which is there before it
link  it is a process of this machine that goes on
schedule  the clock of the machine belongs to who sits at it
integrate  it changes programs of the machine; its commands are run by who sits at it
demo  it plays in a workspace of its own, for a terminal
ask  POST councils and GET councils/{name}/events: it is both, for a terminal
wait  GET councils/{name}/events tells it at once
edit  it opens an editor in a terminal
serve  it is this interface itself
mcp  it is a server of its own
link  it is a process of its own, for a machine
engine init  which database a machine shares belongs to who sits at it
engine join  likewise
engine status  likewise
engine pull  the link does it
engine leave  as engine init
engine rebuild  as engine init
engine migrate  as engine init
halt  an old name of pause --all: POST halt
watch  an old name of status --watch: GET events
prompt  an old name of context: GET councils/{name}/context
artifact gc  an old name of gc --artifacts: DELETE artifacts
msg answer  an old name of say: POST say
"""
REASONS = dict(line.split("  ", 1) for line in NONE.strip().split("\n"))


def _commands(group: str = "") -> set[str]:
    found = {f"{group} {one}".strip() for one in names(group, hidden=True)}
    return {one for one in found if not is_group(one)}.union(
        *(_commands(one) for one in found if is_group(one))
    )


@pytest.mark.req("P8-005")
def test_every_command_has_a_route_or_a_reason_why_it_has_none():
    served = {one.command.name for one in routes()}
    assert served | set(REASONS) == _commands()
    assert not served & set(REASONS)


def test_no_two_routes_are_the_same():
    asked = [(one.method, one.path.replace(":path", "")) for one in routes()]
    assert len(asked) == len(set(asked))


def test_a_get_is_a_command_that_changes_nothing():
    # What both reads and changes has another route for the change.
    both = {"agent caps", "agent liveness", "channel mode", "channel members", "artifact fetch"}
    for one in routes():
        if one.method == "GET" and one.command.name not in both:
            assert one.command.reads, one.path


def test_no_field_names_a_file_of_this_machine_or_is_for_a_terminal():
    for route in routes():
        for one in route.fields:
            assert one.name not in ("file", "out", "key_file", "cwd", "sidecar", "input"), (
                route.path
            )
            assert one.name not in ("watch", "follow", "wait", "yes", "run"), route.path


def test_the_reasons_name_commands_that_exist():
    assert set(REASONS) <= set(ROWS)
