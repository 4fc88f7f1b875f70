"""How a machine takes part in an engine, and what it says where it cannot."""

import json
import stat
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from council.kernel import postgres, times
from tests.machines.workspaces import Machine
from tests.runs.processes import until

pytestmark = pytest.mark.slow


def convene(machine: Machine) -> None:
    words = ("convene", "Which kettle?", "--open", "--timeout", "9h")
    machine.run(*words, "--people", "ann,bob", "--agents", "ann,bob", code=0)


def said(machine: Machine) -> list[str]:
    done = machine.run("show", "active", "--json", code=0)
    return [entry["text"] for entry in json.loads(done.stdout)["contributions"]]


def test_an_engine_is_joined_once_and_left(machines, server):
    north, south = machines
    north.run("engine", "leave", code=0)
    url = server.url(server.database(), north.net.port)
    for words, code in (
        (("engine", "leave"), 5),
        (("engine", "status"), 5),
        (("engine", "join", url), 5),
        (("engine", "init", "nonsense"), 2),
        (("engine", "init", "mysql://me:SeCret@x/y"), 3),
        (("engine", "init", "postgresql://me:SeCret@127.0.0.1:1/y"), 7),
    ):
        done = north.run(*words, code=code)
        assert "SeCret" not in done.stdout + done.stderr and done.stderr.count("\n") == 1
    server.run("CREATE ROLE guest LOGIN")
    guest = url.replace("council:", "guest:")
    assert "grant the role" in north.run("engine", "init", guest, code=6).stderr
    convene(north)
    north.run("engine", "init", url, code=0)
    assert "council engine status" in north.run("engine", "init", url, code=4).stderr
    south.run("engine", "leave", code=0)
    assert "council engine join" in south.run("engine", "init", url, code=4).stderr
    convene(south)
    refused = south.run("engine", "join", url, code=4)
    assert "conversations/active" in refused.stderr and south.run("status", code=0)
    [path] = north.has(b"SeCret")
    assert str(path) == f"{north.state}/engine" and stat.S_IMODE(path.stat().st_mode) == 0o600
    shown = north.run("engine", "status", "--json", code=0).stdout
    assert '"ok":true' in shown and "SeCret" not in shown
    south.run("cancel", code=0)  # what is over stays here, and what is open is the engine's
    assert south.run("engine", "join", url).returncode == 4


def test_an_answer_is_kept_while_the_database_is_away_and_counts_once(machines):
    north, _ = machines
    convene(north)
    text = "I prefer the small one."
    north.net.close()
    refused = north.run("respond", "--as", "ann", text, code=7)
    kept = refused.stderr.rpartition("the text is in ")[2].strip().rstrip(")")
    with open(kept) as file:
        assert text in file.read()
    assert "old" in north.run("status", code=0).stderr
    for words in (("context", "--as", "ann"), ("say", "x"), ("heartbeat",), ("show", "other")):
        assert north.run(*words).returncode == 7, words
    assert north.run("engine", "status").returncode == 3


def test_an_answer_whose_acknowledgement_is_lost_counts_once(machines):
    north, south = machines
    convene(north)
    north.net.last = b"COMMIT"  # it reaches the server, and the reply reaches nobody
    first = north.run("respond", "--as", "ann", "Once.")
    north.net.last = b""
    assert first.returncode in (0, 7), first
    north.run("respond", "--as", "ann", "Once.", code=0)
    assert said(south) == ["Once."]


def test_a_server_that_is_silent_is_given_up(machines):
    """Another session holds the lock of writers, as a writer does that waits for a standby."""
    north, south = machines
    convene(north)
    with psycopg.connect(north.url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (postgres._KEY,))
        assert north.run("respond", "--as", "ann", "Slowly.").returncode == 7
        assert "Which kettle?" in south.run("status", code=0).stdout
    north.run("respond", "--as", "ann", "Slowly.", code=0)
    assert said(south) == ["Slowly."]


def test_a_run_of_a_machine_that_died_is_run_elsewhere(machines, tmp_path):
    north, south = machines
    words = ("--agents", "eve", "--people", "ann", "--timeout", "9h")
    script = north.root / "eve.sh"
    script.write_text(script.read_text().replace("sleep 1", "exec sleep 1000"))
    north.run("convene", "Which kettle?", *words, code=0)
    until((tmp_path / "runs").exists)
    north.die()
    row = south.run("heartbeat", "--json", code=0).stdout
    assert '"woken":[],' in row and '"running":1,' in row, row  # its lease is not over
    found = []
    for minutes in (5, 6):
        late = times.text(datetime.now(UTC) + timedelta(minutes=minutes))
        found.append(south.run("heartbeat", "--now", late, "--json", code=0).stdout)
    assert '"woken":["eve"],' in found[1], found


def test_encodings_versions_and_other_databases(machines, server, tmp_path):
    north, south = machines
    ascii_only = server.database("ENCODING SQL_ASCII TEMPLATE template0 LOCALE 'C'")
    for machine, verb in ((north, "init"), (south, "join")):
        machine.run("engine", "leave", code=0)
        machine.run("engine", verb, server.url(ascii_only, machine.net.port), code=0)
    convene(north)
    north.run("respond", "--as", "ann", "Été: ☕", code=0)
    assert said(south) == ["Été: ☕"]
    server.run("INSERT INTO council.version VALUES (99)", ascii_only)
    refused = south.run("respond", "--as", "bob", "x", code=4)
    assert "newer version" in refused.stderr
    server.run("DELETE FROM council.version WHERE number = 99", ascii_only)
    server.run("DELETE FROM council.log WHERE seq > 1", ascii_only)  # as an older backup has it
    refused = south.run("respond", "--as", "bob", "x", code=4)
    assert "lacks" in refused.stderr
    assert south.run("engine", "leave", code=0) and said(south) == ["Été: ☕"]


def test_what_is_forgotten_is_gone_everywhere(machines):
    """Also where a machine was away in between, and from the database."""
    north, south = machines
    convene(north)
    north.run("respond", "--as", "ann", "A sekretword.", code=0)
    assert said(south) == ["A sekretword."]
    south.run("artifact", "publish", f"{south.root}/eve.sh", code=0)
    north.run("respond", "--as", "bob", "Another sekretword.", code=0)
    north.run("cancel", code=0)
    [ident] = north.closed()
    assert all(machine.has(b"sekretword") for machine in machines)
    north.run("forget", ident, "--yes", code=0)
    assert south.run("status", code=0) and south.run("heartbeat", code=0)
    for machine in machines:
        assert machine.closed() == machine.has(b"sekretword") == []
    with psycopg.connect(north.url) as connection:
        for table in ("log", "files"):
            query = f"SELECT place FROM council.{table} WHERE position(%s in data) > 0"
            assert connection.execute(query, (b"sekretword",)).fetchall() == []


def test_rooms_are_on_all_machines(machines):
    north, south = machines
    north.run("channel", "create", "chat", "kitchen", "--participants", "ann,bob", code=0)
    south.run("channel", "post", "kitchen", "Tea?", "--as", "bob", code=0)
    north.run("channel", "post", "kitchen", "Yes.", "--as", "ann", code=0)
    assert "Tea?" in north.run("show", "kitchen", code=0).stdout
    south.run("heartbeat", code=0)
    pages = [machine.root / "memory/shared/channels/kitchen.md" for machine in machines]
    assert "Yes." in pages[1].read_text() and pages[0].read_text() == pages[1].read_text()
