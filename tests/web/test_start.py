"""`council serve` from its first line to its end, and the page of `ask`."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from council.store.paths import Workspace
from council.store.settings import CACHE_FILE
from tests.operations.halls import Hall
from tests.operations.tables import until
from tests.web.raw import request, rest, status_of
from tests.web.serving import Served, serving

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)(/\S*)\?link=\S+")
LINES = 4  # what is printed below the link


def page_of(council) -> str | None:
    return json.loads(council("status", "--json").out)["page"]


def told(council, kind: str) -> list[dict]:
    return [one["data"] for one in Hall(council.root).events(kind)]


@pytest.mark.req("DL-066")
def test_it_says_at_once_where_it_is_and_how_to_get_in(opened):
    began = time.monotonic()
    process = opened.start("serve", "--port", "0")
    try:
        found = LINK.fullmatch(process.stdout.readline().decode().strip())
        lines = [process.stdout.readline().decode().rstrip() for _ in range(LINES)]
        served = Served(opened, Path("/dev/null"))
        served.port = int(found[1])
        page = served.get("/", Authorization=f"Bearer {served.token}")
        assert page.status == 200 and time.monotonic() - began < 6  # alone it is under 2 s
        assert "once, within 15 minutes" in lines[0] and "council serve --link" in lines[1]
        assert "memory/shared/.council/web-token" in lines[2] and "Ctrl-C" in lines[3]
        assert all(len(one) <= 80 for one in (found[0], *lines))
        token = Path(Workspace(str(opened.root)).web_token)
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        assert served.token not in found[0] + "".join(lines)
        listens = Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]
        (at,) = [
            one.split()[1]
            for one in listens
            if one.split()[3] == "0A" and f":{served.port:04X} " in one
        ]
        assert at == f"0100007F:{served.port:04X}"  # this machine alone
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr.read() == process.stdout.read() == b""
        process.stderr.close()
        process.stdout.close()


@pytest.mark.req("DG-005", "DL-066")
def test_a_second_start_gives_a_fresh_link_of_the_one_that_runs(served):
    council = served.council
    assert page_of(council) == served.url
    assert f"page: {served.url}" in council("status").out
    assert f"served at {served.url} by process {served.process.pid}" in council("doctor").out

    again, only = council("serve"), council("serve", "--link")
    assert (again.code, only.code, again.err, only.err) == (0, 0, "", "")
    assert "runs already" in again.out and len(only.out.splitlines()) == 1
    for one in (again, only):
        path = LINK.match(one.out)[0].removeprefix(served.url)
        assert served.get(path, Authorization=None).status == 303
    assert len(told(council, "service.started")) == 1
    assert served.end() == 0
    assert told(council, "service.started") == told(council, "service.stopped")
    assert page_of(council) is None
    gone = council("serve", "--link")
    assert gone.code == 5 and "council serve" in gone.err and len(gone.err.splitlines()) == 1


@pytest.mark.long
@pytest.mark.req("DG-005")
def test_of_many_that_start_at_once_one_serves(opened):
    many = [opened.start("serve", "--port", "0") for _ in range(4)]
    try:
        links = [LINK.match(one.stdout.readline().decode()) for one in many]
        assert len({one[1] for one in links}) == 1
        assert len(told(opened, "service.started")) == 1
    finally:
        for one in many:
            one.terminate()
            one.communicate()
    assert len(told(opened, "service.stopped")) == 1


@pytest.mark.req("DL-066")
def test_a_link_is_void_after_a_restart_and_a_session_is_not(served):
    cookie, link = served.cookie(), served.council("serve", "--link").out
    served.restart()  # killed: what it left behind hinders nothing
    path = LINK.match(link)[0].removeprefix(served.url)
    assert served.get(path, Authorization=None).status == 401
    assert served.get("/", Authorization=None, Cookie=cookie).status == 200
    assert served.get(served.link, Authorization=None).status == 303


def test_a_port_that_is_taken_and_a_token_that_is_none_are_said_in_a_line(opened):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = opened("serve", "--port", port)
        (opened.root / "council.toml").write_text(f"[serve]\nport = {port}\n")
        by_settings = opened("serve")
    for one in (refused, by_settings):
        assert (one.code, one.out) == (2, "")
        assert one.err.startswith(f"council: cannot listen on port {port}: ")
        assert len(one.err.splitlines()) == 1 and "Errno" not in one.err
    token = Path(Workspace(str(opened.root)).web_token)
    token.write_text("short")
    short = opened("serve", "--port", "0")
    assert (short.code, len(short.err.splitlines())) == (2, 1) and "web-token" in short.err
    assert told(opened, "service.started") == told(opened, "service.stopped")
    (opened.root / "council.toml").write_text('[serve]\nport = 70000\norigins = ["https://a/b"]\n')
    (opened.root / CACHE_FILE).unlink()  # else the last settings that could be read hold
    wrong = opened("serve")
    assert (wrong.code, len(wrong.err.splitlines())) == (3, 1)
    assert "serve.port" in wrong.err and "serve.origins" in wrong.err


@pytest.mark.req("DL-066")
@pytest.mark.parametrize(
    ("host", "name", "warns"), [("::1", "[::1]", False), ("0.0.0.0", "127.0.0.1", True)]
)
def test_it_listens_where_it_is_told_and_warns_where_others_may_come(opened, host, name, warns):
    process = opened.start("serve", "--host", host, "--port", "0")
    try:
        line = process.stdout.readline().decode()
        at = re.match(rf"http://{re.escape(name)}:(\d+)/\?link=", line)
        served = Served(opened, Path("/dev/null"))
        served.port = int(at[1])
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        given = f"Authorization: Bearer {served.token}"
        for said, status in ((name, 200), ("council.example.org", 403)):
            with socket.socket(family) as asks:
                asks.connect((name.strip("[]"), served.port))
                asks.sendall(request("GET / HTTP/1.1", served.port, given, host=said))
                assert status_of(rest(asks)) == status
        assert page_of(opened) == f"http://{name}:{at[1]}"
    finally:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    lines = told.decode().splitlines()
    assert len(lines) == warns
    assert all("nothing is encrypted" in one and "token" in one for one in lines)


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid", "a b", "x" * 300])
def test_an_address_that_is_not_of_this_machine_is_said_in_a_line(opened, host):
    told = opened("serve", "--host", host, "--port", "0")
    assert (told.code, told.out, len(told.err.splitlines())) == (2, "", 1)
    assert host in told.err and "--host 127.0.0.1" in told.err


def test_a_token_that_others_may_read_is_a_problem_that_doctor_mends(served):
    token = Path(Workspace(str(served.council.root)).web_token)
    token.chmod(0o644)
    assert "page token" in served.council("status", "--problems").out
    served.council("doctor", "--repair")
    assert stat.S_IMODE(token.stat().st_mode) == 0o600


def test_a_run_starts_no_server(opened):
    inside = {"COUNCIL_TASK_ID": "x/1/owl/1", "COUNCIL_AGENT": "owl"}
    assert opened("serve", "--port", "0", env=inside).code == 6
    assert not Path(Workspace(str(opened.root)).web_token).exists()


def test_without_its_packages_one_line_says_how_to_install_them(opened):
    hidden = """if 1:
        import importlib.util, sys
        found = importlib.util.find_spec
        absent = ("fastapi", "nh3")
        importlib.util.find_spec = lambda name, *more: (
            None if name in absent else found(name, *more)
        )
        from council.__main__ import main
        sys.exit(main())
        """
    for words in (["serve"], ["ask", "Tea?", "--agents", "owl,gecko", "--page"], ["doctor"]):
        done = subprocess.run(
            [sys.executable, "-c", hidden, *words],
            capture_output=True,
            cwd=opened.root,
            env=opened.env(),
            text=True,
            timeout=60,
            check=False,
        )
        assert re.search(r"pip install .*\[web\]", done.stdout + done.stderr)
        assert "Traceback" not in done.stderr
        if words != ["doctor"]:
            assert (done.returncode, len(done.stderr.splitlines())) == (5, 1)


@pytest.mark.req("DL-066", "DG-005")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_two_seconds_with_many_streams_open(served, number):
    readers = [served.read() for _ in range(40)]
    assert all(one.status == 200 for one in readers)
    half = socket.create_connection(("127.0.0.1", served.port))
    half.sendall(b"POST / HTTP/1.1\r\n")
    worker = served.worker()
    served.process.send_signal(number)
    began = time.monotonic()
    assert served.process.wait(30) == 0
    assert time.monotonic() - began < 8  # alone it is half a second
    half.close()
    for one in readers:
        one.rest()
    assert served.log.read_text() == ""
    assert not Path(f"/proc/{worker}").exists()
    assert len(told(served.council, "service.stopped")) == 1


@pytest.mark.req("DG-017")
def test_at_its_start_the_identity_source_is_taken_over(opened, tmp_path):
    source = tmp_path / "ego.json"
    scope = {"owl": {"discord-id": "123456789012345678"}}
    source.write_text(json.dumps({"columns": ["discord-id"], "agentScope": scope}))
    (opened.root / "council.toml").write_text(f'[paths]\nego = "{source}"\n')
    with serving(opened, tmp_path):
        (owl,) = [
            one for one in json.loads(opened("agent", "list", "--json").out) if one["accounts"]
        ]
        assert owl["agentId"] == "owl"


@pytest.mark.req("DG-005", "C0-022")
def test_it_advances_only_if_asked_and_no_longer_than_it_lives(opened):
    served = opened.start("serve", "--port", "0", "--advance")
    try:
        assert LINK.match(served.stdout.readline().decode())
        until(lambda: len(told(opened, "service.started")) == 2, "the clock has begun")
        page, clock = sorted(told(opened, "service.started"), key=lambda one: "service" not in one)
        assert page == {"process": served.pid, "service": "page"}
        served.kill()  # by the machine: nobody is left to end the clock
        until(lambda: told(opened, "service.stopped") == [clock], "the clock has ended")
    finally:
        served.kill()
        served.communicate()


# --- The page of `ask`


def asked(council, *words, browser: Path, **env: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start `ask --page` with two people; return the process and the link it says."""
    path = browser / "opens"
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {browser}/opened\n')
    path.chmod(0o755)
    process = council.start(
        "ask", "Tea?", "--people", "ann,bob", "--page", *(words or ("--name", "tea")),
        env={"BROWSER": f"{path} %s", **env},
    )  # fmt: skip
    while line := process.stderr.readline().decode():
        if found := LINK.search(line):
            return process, found[0]
    raise AssertionError(process.communicate())


@pytest.mark.req("DL-072")
def test_ask_shows_the_council_on_a_page_that_ends_with_it(council, tmp_path):
    assert council("init", "--agents", "owl").code == 0
    process, link = asked(council, browser=tmp_path, DISPLAY=":99")
    served = Served(council, tmp_path / "log")
    served.port = int(LINK.match(link)[1])
    until((tmp_path / "opened").exists, "a browser was opened")
    until(lambda: (tmp_path / "opened").read_text().endswith("\n"), "it has its address")
    address = (tmp_path / "opened").read_text().strip()
    note = Path(address.removeprefix("file://"))
    # The link stands in no list of processes, and in a file for its user alone.
    assert address.startswith("file://") and link in note.read_text()
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    reply = served.get(link.removeprefix(served.url), Authorization=None)
    assert (reply.status, reply.headers["location"]) == (303, "/councils/tea")
    assert page_of(council) == served.url

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert page_of(council) is None and not note.exists()


@pytest.mark.req("DL-072")
def test_a_page_without_a_display_opens_no_browser_and_one_that_ran_runs_on(served, tmp_path):
    council = served.council
    process, link = asked(council, browser=tmp_path)
    assert link.startswith(f"{served.url}/councils/tea?")
    process.kill()
    process.communicate()
    quiet, _ = asked(council, "--json", "--name", "quiet", browser=tmp_path, DISPLAY=":9")
    quiet.kill()
    quiet.communicate()
    assert not (tmp_path / "opened").exists()
    assert page_of(council) == served.url


@pytest.mark.long
def test_the_page_of_a_command_that_is_killed_ends_too(council, tmp_path):
    assert council("init", "--agents", "owl").code == 0
    process, _ = asked(council, browser=tmp_path)
    process.kill()
    process.communicate()
    until(lambda: page_of(council) is None, "the server has ended")
