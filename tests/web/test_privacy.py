"""Every address of the server is asked while a council hides something: none may say it.

The walk takes each GET of the description and each page, with every field it has. What is sent
before a council begins is the measure: afterwards no answer may name a participant more often.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from council.web.pages import PAGES
from tests.cli.commands import wait_until
from tests.conftest import Council
from tests.web.serving import API, Served, serving

SAID = "Zanzibar because of the Quokkas."
NAMES = (
    *("failid", "Failname"),
    *("strixid", "lacertaid", "Strix", "Lacerta", "🦉", "🦎"),
    *("seerrole", "climberrole", "modelone", "modeltwo"),
)
AGENTS = """
[agents.strixid]
name = "Strix"
emoji = "🦉"
role = "seerrole"
model = "modelone"
driver = "manual"
[agents.lacertaid]
name = "Lacerta"
emoji = "🦎"
role = "climberrole"
model = "modeltwo"
driver = "manual"
[agents.failid]
name = "Failname"
argv = ["sh", "-c", "sleep 6; exit 1"]
"""


@pytest.fixture
def quiet(council: Council, tmp_path: Path) -> Iterator[Served]:
    """A server in a workspace with two agents, where no council was convened yet."""
    assert council("init").code == 0
    with (council.root / "council.toml").open("a") as settings:
        settings.write(AGENTS)
    with serving(council, tmp_path) as found:
        yield found


def addresses(served: Served, name: str, known: str) -> Iterator[str]:
    """Yield all addresses that can be read, of a council with that name and id."""
    described = served.get("/openapi.json").json()["paths"]
    values = {"name": name, "which": name, "wanted": name, "id": known, "rev": "3"}
    values |= {"agent": "strixid", "who": "strixid", "target": known, "artifact": "none"}
    pages = [line.split(None, 1)[0] for line in PAGES.strip().split("\n")]
    rows = [(one, {}) for one in (*pages, "/minutes/{which}/file")]
    rows += [(path, told["get"]) for path, told in described.items() if "get" in told]
    for path, told in rows:
        filled = re.sub(r"\{(\w+)(:path)?\}", lambda one: quote(values.get(one[1], name), ""), path)
        if filled.endswith("/events") and path != "/events":
            continue  # the streams have tests of their own
        yield filled
        for one in told.get("parameters", ()):
            if one["in"] == "query":
                for value in _values(one, values):
                    yield f"{filled}?{one['name']}={quote(value, '')}"
    for path in ("/", f"/councils/{name}", f"/councils/{name}/at/3", "/events", "/dirigent"):
        yield f"{path}?lang=fr"
    yield f"/events?about={name}"
    for agent in ("strixid", "lacertaid"):
        yield f"/events?about={agent}"
    yield f"/councils/{name}?figures=1"
    yield f"/councils/{name}?round=1&blind=1&threshold=1"
    yield f"{API}/councils/{name}/diff?since=1"
    yield f"{API}/events/story?what={known}"


def _values(one: dict[str, object], values: dict[str, str]) -> list[str]:
    schema = json.dumps(one.get("schema"))
    listed = re.search(r'"enum": (\[[^]]*\])', schema)
    if listed:
        return [str(value) for value in json.loads(listed[1]) if value is not None]
    if "boolean" in schema:
        return ["true"]
    if "integer" in schema or "number" in schema:
        return ["1", "3"]
    return [values["name"], "strixid"]


def walked(served: Served, name: str, known: str) -> dict[str, bytes]:
    """Return every byte that each address answers with, its headers included."""
    found = {}
    for path in addresses(served, name, known):
        reply = served.get(path)
        assert reply.status < 500, (path, reply)
        found[path] = repr(reply.headers).encode() + reply.body
    assert len(found) > 150
    return found


def convened(council: Council, agents: str, *words: str) -> str:
    """Convene a deliberation of the two agents; return its id."""
    told = council(
        *("convene", "Shall we build it?", "--name", "masks", "--agents", agents),
        *("--procedure", "deliberation", "--order", "fixed", *words),
    )
    assert told.code == 0, told.err
    return str(council("show", "--name", "masks", "--json").json()["conversationId"])


def counted(sent: bytes, path: str) -> Counter[str]:
    """Return how often each name of a participant is said in an answer."""
    text = sent.decode("utf-8", "replace")
    text = re.sub(r"\\u[0-9a-f]{4}(\\u[0-9a-f]{4})?", lambda one: json.loads(f'"{one[0]}"'), text)
    for one in re.findall(r"[?&/=](strixid|lacertaid)", path):  # what was asked is said again
        text = text.replace(one, "")
    return Counter({name: text.count(name) for name in NAMES})


@pytest.mark.long
@pytest.mark.req("DL-071", "DL-100")
def test_no_address_says_who_is_who_in_an_anonymous_council(quiet: Served) -> None:
    council = quiet.council
    before = walked(quiet, "masks", "none")
    known = convened(council, "strixid,lacertaid,failid", "--anonymous", "--open")
    said = "@lacertaid may object, says Strix. @human, is that so?"
    for agent, stances in (("strixid", ()), ("lacertaid", ("--stance", "strixid=agree"))):
        told = council(
            *("respond", "--as", agent, "--name", "masks", "--position", SAID),
            *("--confidence", "4", *stances, said),
        )
        assert told.code == 0, told.err
    council("heartbeat")
    wait_until(lambda: "failid" in council("status", "--problems").out)
    council("inject", "--name", "masks", "--target", "strixid", "Why?")
    after = walked(quiet, "masks", known)
    stands = quiet.get(f"{API}/councils/masks").json()
    assert stands["config"]["anonymous"] is True
    assert list(stands["participants"]) == ["member-1", "member-2", "member-3"]
    problems = quiet.get(f"{API}/problems").json()["problems"]
    assert [one["where"] for one in problems if one["what"] not in ("no-clock", "old-heartbeat")]
    assert "not in order" not in str(problems)
    leaks = {}
    for path, sent in after.items():
        if path.endswith("/context?as=strixid"):
            assert b"Lacerta" not in sent and b"lacertaid" not in sent
            continue  # who reads it as strixid is told of itself
        ever = counted(before.get(path.replace(known, "none"), b""), path)
        if more := counted(sent, path) - ever:
            leaks[path] = dict(more)
    assert not leaks, "\n".join(f"{path}  {names}" for path, names in leaks.items())


@pytest.mark.long
@pytest.mark.req("DL-071", "XC-101")
def test_no_address_says_a_word_of_what_is_sealed_nor_its_length(quiet: Served) -> None:
    council = quiet.council
    known = convened(council, "strixid,lacertaid", "--sealed")
    text = f"POSITION: {SAID}\nCONFIDENCE: 4\n\n" + "y" * 7862
    told = council("respond", "--as", "strixid", "--name", "masks", text)
    assert told.code == 0, told.err
    lengths = {len(text), len(text) + 1, len(text.encode()) + 1}
    secret = re.compile(
        f"Zanzibar|Quokka|yyyy|(?<![0-9a-f])({'|'.join(map(str, lengths))})(?![0-9a-f])"
    )
    for path, sent in walked(quiet, "masks", known).items():
        assert not secret.search(sent.decode("utf-8", "replace")), path
