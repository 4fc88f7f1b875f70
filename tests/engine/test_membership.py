"""Making an engine, joining it, asking how it stands, and leaving it."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import psycopg
import pytest

from council.operations.engine.living import lives_here
from council.store.engine.sessions import is_linked
from tests.cli.commands import wait_until
from tests.engine.conftest import Roles
from tests.engine.links import Linked, control_of
from tests.engine.machines import Machine
from tests.engine.pairs import spoil
from tests.engine.servers import Server
from tests.forks import Forks

pytestmark = pytest.mark.engine

KEY = Path("memory/shared/.council/key")


@pytest.fixture
def north(folder: Path, database: str, forks: Forks | None) -> Machine:
    return Machine(folder / "north", "north", database, forks=forks)


@pytest.fixture
def south(folder: Path, database: str, forks: Forks | None) -> Machine:
    return Machine(folder / "south", "south", database, forks=forks)


begin = Machine.init


def nowhere(url: str) -> str:
    """Return an address at which nobody listens."""
    return re.sub(r":\d+/", ":9/", url)


@pytest.mark.req("EN-002")
def test_a_machine_that_joins_has_the_council_and_its_key(north: Machine, south: Machine):
    north.do("convene", "Where do we build?", "--people", "henry,jules")
    north.do("respond", "--as", "henry", "STATUS: AGREED\nBy the river.")
    begin(north)
    south.join()

    for one in (north, south):
        one.do("engine", "pull")
    shown = [one.do("show").out for one in (north, south)]
    assert shown[0] == shown[1]
    keys = [(one.root / KEY).read_bytes() for one in (north, south)]
    assert keys[0] == keys[1] and keys[0].strip()
    assert (south.root / KEY).stat().st_mode & 0o777 == 0o600
    south.do("respond", "--as", "jules", "STATUS: AGREED\nBy the river, then.")
    north.do("engine", "pull")
    for one in (north, south):
        assert {"By the river.", "By the river, then."} <= set(one.do("show").out.splitlines())


@pytest.mark.req("EN-002")
def test_what_is_no_engine_and_what_is_one_already_is_said(north: Machine, south: Machine):
    early = south("engine", "join", south.url)
    assert early.code == 5 and "council engine init" in early.err
    begin(north)
    again = north("engine", "init", north.url)
    assert again.code == 4 and "council engine leave" in again.err
    second = south("engine", "init", south.url)
    assert second.code == 4 and "council engine join" in second.err
    assert not (south.root / "council.toml").exists()


@pytest.mark.req("EN-002")
def test_a_machine_name_is_of_one_workspace(north: Machine, south: Machine):
    begin(north)
    taken = south("engine", "join", south.url, "--machine", "north")
    assert taken.code == 4 and "--machine NAME" in taken.err
    south.join()

    north.do("engine", "leave")
    north.join()
    north.do("engine", "leave")
    south.do("engine", "leave")
    south.do("engine", "join", south.url, "--machine", "north")


@pytest.mark.req("EN-002")
def test_what_has_the_settings_of_a_machine_is_not_that_machine(north: Machine, folder: Path):
    begin(north)
    clone = Machine(folder / "clone", "north", north.url)
    shutil.copy(north.root / "council.toml", clone.root)

    shown = clone("engine", "status")

    assert shown.code == 0 and "another workspace as machine 'north'" in shown.err
    assert "another workspace" not in north.do("engine", "status").err
    settings = clone.root / "council.toml"
    settings.write_text(settings.read_text().replace('machine = "north"', 'machine = "south"'))
    assert "another workspace" not in clone.do("engine", "status").err


@pytest.mark.req("EN-002")
def test_a_machine_that_was_begun_anew_in_the_same_place_is_another(north: Machine):
    begin(north)
    shutil.rmtree(north.root / "memory/shared/.council")
    settings = (north.root / "council.toml").read_text()
    (north.root / "council.toml").unlink()
    assert north("engine", "join", north.url, "--machine", "north").code == 4

    (north.root / "council.toml").write_text(settings)
    assert "council engine rebuild" in north("engine", "status").err
    north.do("engine", "rebuild")
    assert north.do("engine", "status").err == ""


@pytest.mark.req("EN-002")
@pytest.mark.parametrize(
    "kept", ["postgresql://me:secret-word@{}", "postgresql://{}?password=secret-word"]
)
def test_a_password_in_the_url_is_refused_and_written_nowhere(north: Machine, kept: str):
    place = north.url.partition("@")[2]
    for verb in ("init", "join"):
        refused = north("engine", verb, kept.format(place))
        assert refused.code == 3 and "PGPASSWORD" in refused.err
        assert "secret-word" not in refused.out + refused.err
    assert north.holding("secret-word") == []


@pytest.mark.req("EN-002")
def test_a_role_that_is_not_there_leaves_the_database_as_it_was(north: Machine, roles: Roles):
    missing = north("engine", "init", roles.owner, "--role", "nightly")
    assert missing.code == 5 and "nightly" in missing.err
    with psycopg.connect(roles.owner) as connection:
        assert connection.execute("SELECT to_regclass('council.revision')").fetchone() == (None,)
    north.do("engine", "init", roles.owner, "--role", "daily")


@pytest.mark.req("EN-002")
def test_a_daily_role_takes_part(north: Machine, south: Machine, roles: Roles):
    north.do("convene", "Where do we build?", "--people", "henry,jules")
    north.do("engine", "init", roles.owner, "--machine", "north", "--role", "daily")
    south.do("engine", "join", roles.daily, "--machine", "south")
    south.do("respond", "--as", "henry", "STATUS: AGREED\nBy the river.")
    north.do("engine", "pull")
    assert "answer from ⚓ Jules" in north.do("show").out


@pytest.mark.req("EN-002", "EN-005")
def test_status_says_who_is_there_and_that_a_database_is_away(
    north: Machine, south: Machine, server: Server
):
    begin(north)
    south.join()
    standing = json.loads(south.do("engine", "status", "--json").out)
    standing = standing.get("data", standing)
    assert [name for name, _ in standing["machines"]] == ["north", "south"]
    assert (standing["reached"], standing["linked"], standing["behind"]) == (True, False, 0)

    with server.connect() as admin:
        name = south.url.rpartition("/")[2]
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        away = south("engine", "status", "--json")
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert away.code == 7
    assert "not currently accepting connections" in away.out


@pytest.mark.req("EN-002")
def test_a_machine_that_works_is_seen(north: Machine, south: Machine):
    begin(north)
    south.join()
    assert spoil(north.url, "UPDATE machine SET seen = seen - interval '1 day'") == 2

    north.do("engine", "pull")

    standing = json.loads(south.do("engine", "status", "--json").out)
    (_, of_north), (_, of_south) = standing.get("data", standing)["machines"]
    assert of_north < 3600 < of_south


@pytest.mark.req("EN-002")
def test_one_who_leaves_goes_on_alone_with_what_it_has(north: Machine, south: Machine):
    north.do("convene", "Where do we build?", "--people", "henry,jules")
    begin(north)
    south.join()
    south.do("engine", "pull")
    south.configure('\n# He answers by hand.\n[agents.henry]\ndriver = "manual"\n')
    south.do("engine", "leave")

    settings = (south.root / "council.toml").read_text()
    assert "[engine]" not in settings
    assert "# He answers by hand.\n[agents.henry]" in settings
    before = north.do("show").out
    south.do("respond", "--as", "henry", "STATUS: AGREED\nAlone.")
    north.do("engine", "pull")
    assert north.do("show").out == before != south.do("show").out
    assert south("engine", "status").code == 5


@pytest.mark.req("EN-002")
def test_one_whose_settings_cannot_be_changed_does_not_leave(north: Machine, south: Machine):
    begin(north)
    south.join()
    settings = north.root / "council.toml"
    table = tomllib.loads(settings.read_text())["engine"]
    inline = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
    settings.write_text(f"engine = {{ {inline} }}\n")

    refused = north("engine", "leave")

    assert refused.code == 5 and "by hand" in refused.err
    names = [name for name, _ in json.loads(south.do("engine", "status", "--json").out)["machines"]]
    assert names == ["north", "south"]


@pytest.mark.req("EN-002", "EN-006")
def test_the_agents_of_one_who_has_left_are_asked_by_hand_again(north: Machine, south: Machine):
    north.configure('[agents.henry]\nargv = ["/bin/true"]\n')
    begin(north)
    south.join()
    south.do("engine", "pull")
    assert not lives_here(south.place, "henry")
    said = south.do("engine", "status").out
    assert re.search(r"^replica: up to date, brought \d+s ago$", said, re.M)
    assert re.search(r"^  north: seen \d+s ago; can run henry$", said, re.M)
    assert re.search(r"^  south: seen \d+s ago; can run no agent$", said, re.M)

    north.do("engine", "leave")

    south.do("engine", "pull")
    assert lives_here(south.place, "henry")
    assert "north" not in south.do("engine", "status").out


@pytest.mark.req("EN-002", "EN-003")
def test_one_who_watches_while_the_workspace_leaves_links_it_no_more(
    north: Machine, south: Machine
):
    north.do("convene", "Where?", "--people", "henry,jules")
    begin(north)
    south.join()
    control = str(control_of(north))
    watching = Linked(north, "watch", "--advance")
    try:
        wait_until(lambda: is_linked(control))
        north.do("engine", "leave")
        wait_until(lambda: not is_linked(control))
        north.do("respond", "--as", "henry", "By the river.")
        south.do("respond", "--as", "jules", "On the hill.")
        north.do("convene", "Until when?", "--name", "later", "--people", "henry,jules")
        wait_until(lambda: "Until when?" in north.do("status").out)
    finally:
        watching.end()

    assert "answer from ⚓ Jules;" in north.do("show").out
    assert not (north.root / KEY.parent / "conflicts").exists()


@pytest.mark.req("EN-002", "EN-005")
def test_status_says_in_one_line_why_a_database_is_away_and_what_waits_for_it(
    north: Machine, server: Server
):
    north.do("convene", "Where do we build?", "--people", "henry,jules")
    begin(north)
    settings = north.root / "council.toml"
    there = settings.read_text()
    settings.write_text(there.replace(f'url = "{north.url}"', f'url = "{nowhere(north.url)}"'))
    assert north("respond", "--as", "henry", "By the river.").code == 7

    away = north("engine", "status")
    examined = north("doctor")

    assert away.code == 7 and away.out.count(nowhere(north.url)) == 1
    assert "\n  Connection refused\n  → try again; does PostgreSQL run there" in away.out
    assert "kept: 1 to be sent when it is reached\n" in away.out
    assert "up to date" not in away.out and "behind" not in away.out
    assert examined.code == 3 and "✗  engine" in examined.out
    left = north("engine", "leave")
    assert left.code == 7 and left.err.count("is not reached") == 1


@pytest.mark.req("EN-002", "OP-011")
def test_doctor_says_that_the_engine_is_away_also_where_it_was_reached_just_now(
    north: Machine, server: Server
):
    begin(north)
    north.do("engine", "pull")
    with server.connect() as admin:
        name = north.url.rpartition("/")[2]
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        examined = north("doctor")
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert examined.code == 3 and "✗  engine" in examined.out


@pytest.mark.req("EN-002")
def test_a_machine_that_has_left_is_none_of_the_engine_any_more(north: Machine, south: Machine):
    begin(north)
    south.join()
    assert "south: seen" in north.do("engine", "status").out
    south.do("engine", "leave")
    assert "south: seen" not in north.do("engine", "status").out
    assert "1 machine has joined" in north("doctor").out


@pytest.mark.req("EN-002", "EN-008")
def test_after_a_database_was_filled_from_here_nothing_is_left_to_compare(
    north: Machine, server: Server
):
    north.do("convene", "Where do we build?", "--people", "henry,jules")
    begin(north)
    settings = north.root / "council.toml"
    settings.write_text(settings.read_text().replace('schema = "council"', 'schema = "second"'))

    assert "→ where the council is: council engine init URL" in north("engine", "status").out
    north.do("engine", "rebuild", "--database")

    shown = north.do("engine", "status").out
    assert "replica: up to date" in shown and "north: seen" in shown


@pytest.mark.req("EN-002")
def test_what_is_given_on_other_machines_is_said_when_an_engine_is_made(
    north: Machine, south: Machine
):
    made = north.do("engine", "init", north.url, "--schema", "second")
    said = made.out.strip().rpartition("on each machine more: council ")[2]
    assert said == f"engine join {north.url} --schema second"
    south.do(*said.split(), "--machine", "south")
