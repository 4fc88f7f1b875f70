"""The pages without a browser: what is on them, what forms do, what text of others cannot do."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from council.archive import minutes
from council.councils import service, views
from council.councils.hearing import Stated
from council.councils.opening import Opening
from council.rooms import service as rooms
from council.setup import agents, identities
from council.tasks import service as tasks
from council.web import pages as markdown
from tests.web.conftest import HOST, Served

WINDOW = {"Sec-Fetch-Dest": "document"}
VOID = {"meta", "link", "input", "br", "hr", "img"}
EVIL = '<script>alert(1)</script><b onclick="x">\u202e\x1b[31m ![i](http://e/i.png)'
EVIL += " [j](javascript:x)"
PATHS = """/ /new /rooms/hall /dirigent /agents /minutes /councils/talk /councils/go
/councils/plain /councils/plain?as=ben /councils/over"""


class Page(HTMLParser):
    """What the tests look at; reading it fails where elements are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.text, self._open = "", []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), attrs
        self._open += [tag] if tag not in VOID else []

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        self.text += data

    def every(self, tag: str) -> list[dict]:
        return [attrs for name, attrs in self.elements if name == tag]


def said(position: str, stances: str, why: str) -> str:
    head = f"## Position\n{position}\n\n## Responses\n{stances}\n\n"
    return f"{head}## Reasoning\n{why}\n\n## Confidence\n4\n"


class Browser:
    """A signed-in browser."""

    def __init__(self, served) -> None:
        self.client = served.client(Accept="text/html", Origin=HOST)
        entry = self.client.get(f"/?link={served.keys.link}")
        assert entry.status_code == 303

    def get(self, path: str, status: int = 200) -> Page:
        got = self.client.get(path)
        assert got.status_code == status, got.text[:2000]
        return Page(got.text)

    def send(self, page: str, action: str, **fields: object):
        shown = self.get(page)
        assert action in [one["action"] for one in shown.every("form")], action
        got = self.client.post(action, data=fields)
        if got.status_code == 303:
            return self.get(got.headers["location"])
        return got


@pytest.fixture
def served(filled, tmp_path):
    shutil.copytree(filled, tmp_path / "ws", symlinks=True)
    return Served(str(tmp_path / "ws"))


@pytest.fixture
def browser(served):
    return Browser(served)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A workspace with some of everything, with names and words that attack the page."""
    root = tmp_path_factory.mktemp("filled") / "ws"
    app = Served(str(root)).app
    agents.add(app, "ada", name=f"Ada {EVIL}", role=EVIL)
    identities.register(app, "ada", "1234", "Ada")
    talk = Opening(topic=f"Tea? {EVIL}", name="talk", procedure="deliberation", brief=EVIL)
    service.convene(app, talk.copy(config={"order": "parallel"}))
    ways = {"ada": "Tea", "bob": "Coffee", "eve": f"Milk {EVIL}"}
    for agent, way in ways.items():
        service.respond(app, "talk", agent, said(way, "", EVIL), Stated())
    text = said("Tea", "- ada: agree: it is hot\n- eve: partial", "Hot.")
    service.respond(app, "talk", "bob", text, Stated())
    service.say(app, "talk", EVIL, "", "anna")
    plain = {"agents": ["ada", "bob"], "people": ["ben"]}
    service.convene(app, Opening(topic="Where?", name="plain", **plain))
    service.respond(app, "plain", "bob", "a sealed secret", Stated())
    service.convene(app, Opening(topic=EVIL, name="over"))
    service.respond(app, "over", "bob", EVIL, Stated())
    service.steer(app, "over", "stop", now=True)
    approved = {"sign_off": "boss", "phases": ["COLLECT"], "synthesizer": "ada"}
    service.convene(app, Opening(topic="Go?", name="go", agents=["ada", "bob"], config=approved))
    for agent in ("ada", "bob", "ada"):
        text = f"## Recommendation\n{agent} goes {len(service.find(app, 'go').entries)}"
        service.respond(app, "go", agent, text, Stated())
    rooms.create(app, "chat", "hall", "anna", ["ada", "bob"])
    rooms.post(app, "hall", EVIL, "anna")
    tasks.join(app, "ada", "worker", ["look"], 4, "")
    tasks.request(app, EVIL, ["look"], "", "", "", {})
    return root


def test_all_pages_are_whole_without_markup_or_secrets_of_others(served, browser) -> None:
    over = minutes.find(served.app.root, "over")["path"].rpartition("/")[2]
    for path in [*PATHS.split(), f"/minutes/{over}"]:
        page = browser.get(path)
        assert [one["src"] for one in page.every("script")] == ["/static/live.js"], path
        assert len(page.every("h1")) == 1, path
        ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
        assert len(ids) == len(set(ids)), path
        for tag, attrs in page.elements:
            assert tag not in ("img", "iframe", "style", "object"), path
            assert not [key for key in attrs if key == "style" or key[:2] == "on"], (path, attrs)
            for key in ("for", "aria-labelledby"):
                assert attrs.get(key) in (None, *ids), (path, attrs)
        links = [one.get("href", "") for one in page.every("a")]
        assert all(one[:1] in "/#?" or one[:7] in ("http://", "https:/") for one in links), path
        assert all(one["method"] == "get" or "action" in one for one in page.every("form")), path
        assert not [one for one in ("\u202e", "\x1b", "a sealed secret") if one in page.text], path


def test_a_council_shows_who_holds_what_and_why_it_changed(served, browser) -> None:
    page = browser.get("/councils/talk")
    tally = views.consensus(service.find(served.app, "talk"))[0]
    assert f"{len(tally['options'][0]['approve'])} of 3 approve option A, 2 needed" in page.text
    assert "changed in Round 2 with Ada" in page.text and "“it is hot" not in page.text
    assert "it is hot" in page.text and "Answer as" in page.text
    assert [one.get("aria-current") for one in page.every("li")].count("step") == 1


def test_the_decision_comes_first_and_people_are_asked_first(served, browser) -> None:
    plain = browser.get("/councils/plain").text
    assert "Bob answered. Answers stay sealed" in plain and "I agree" not in plain
    assert "not approved yet" in browser.get("/councils/go").text
    text = browser.get("/councils/over").text
    assert -1 < text.index("No decision") < text.index("Where each one ended")
    assert text.index("Where each one ended") < text.index("Transcript") and "Steer" not in text
    home = browser.get("/").text
    for asked in ("ben is asked: Where?", "boss has to approve: Go?"):
        assert -1 < home.index(asked) < home.index("Open councils")


FORMS = [  # page, action, fields, what the page says then
    ("/councils/plain", "/councils/plain/answers", {"as": "ben", "text": "Outside."}, "Recorded"),
    ("/councils/plain", "/councils/plain/inject", {"message": "Hurry up"}, "Hurry up"),
    ("/councils/plain", "/councils/plain/pause", {}, "Resume"),
    ("/councils/plain", "/councils/plain/resume", {"more": "6h"}, "6h"),
    ("/councils/go", "/councils/go/sign", {"as": "boss", "approve": "1"}, "Ended"),
    ("/councils/talk", "/councils/talk/stop", {}, "Vote"),
    ("/councils/talk", "/councils/talk/cancel", {"reason": "late"}, "cancelled"),
    ("/new", "/councils", {"topic": "Mine?", "agents": ["ada", "bob"], "name": "n"}, "Mine?"),
    ("/new", "/councils", {"topic": "By default?", "agents": ["ada", "bob"]}, "active"),
    ("/rooms/hall", "/rooms/hall/messages", {"text": "**Good** day"}, "Good day"),
    ("/rooms/hall", "/rooms/hall/mode", {"mode": "report"}, "report"),
    ("/dirigent", "/identities", {"agent": "bob", "account": "77", "name": "B"}, "77"),
    ("/agents", "/agents/tell", {"to": "bob", "message": "Look!", "how": "message"}, "Look!"),
    ("/agents", "/agents/tell", {"to": "bob", "message": "x", "how": "call"}, "answers by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("page", "action", "fields", "words"), FORMS)
def test_forms_do_what_commands_do(served, browser, page, action, fields, words) -> None:
    assert words in browser.send(page, action, **fields).text


def test_accounts_are_scanned_again_where_there_is_a_source(served, browser) -> None:
    assert "Re-scan" not in browser.get("/dirigent").text
    source = {"columns": ["discord-id"], "agentScope": {"eve": {"discord-id": "4321"}}}
    (Path(served.app.root) / "ego.json").write_text(json.dumps(source))
    with open(f"{served.app.root}/council.toml", "a") as file:
        file.write('[paths]\nidentity_source = "ego.json"\n')
    assert "Re-scan padded-cell" in browser.get("/dirigent").text
    assert "4321" in browser.send("/dirigent", "/identities/scan").text


def test_a_ballot_is_understood(served, browser) -> None:
    fields = {"as": "ada", "choice": "A", "confidence": "5", "text": "Because."}
    fields |= {"stances.bob": ["agree", ""], "stances.eve": ["disagree", "too cold"]}
    page = browser.send("/councils/talk?as=ada", "/councils/talk/answers", **fields)
    entry = service.find(served.app, "talk").entries[-1]
    assert (entry.agent, entry.heard.choice, entry.heard.confidence) == ("ada", "A", 5)
    assert {peer: one.word for peer, one in entry.heard.stances.items()} == {
        "bob": "agree", "eve": "disagree",
    }  # fmt: skip
    assert "too cold" in page.text


def test_what_is_refused_is_said_and_nothing_typed_is_lost(served, browser) -> None:
    fields = {"as": "bob", "text": "another <answer>"}
    got = browser.send("/councils/plain?as=ben", "/councils/plain/answers", **fields)
    assert got.status_code == 409 and "has answered" in Page(got.text).text
    got = browser.send("/new", "/councils", topic="Again?", name="plain", agents=["ada", "bob"])
    assert got.status_code == 409 and 'value="Again?"' in got.text
    got = browser.send("/new", "/councils", topic="Soon?", name="x", agents=["ada"], timeout="soon")
    assert got.status_code == 400 and "soon" in Page(got.text).text


def test_a_window_gets_the_same_page_or_why_there_is_none(served, browser) -> None:
    journal = Path(f"{served.app.state_folder}/conversations/talk/journal.jsonl")
    for more in ("", "rubbish\n{}\n"):
        journal.write_text(journal.read_text() + more)
        window, whole = (browser.client.get("/councils/talk", headers=one) for one in (WINDOW, {}))
        assert "content-length" not in window.headers and window.text == whole.text
        assert ("is damaged" in window.text) is bool(more)


def test_errors_are_pages_and_strangers_are_told_to_open_the_link(served, browser) -> None:
    for path in ("/nothing", "/councils/none", "/rooms/none", "/minutes/none"):
        assert browser.get(path, 404).every("h1")
        assert browser.client.get(path, headers=WINDOW).status_code == 404
    stranger = served.client(Accept="text/html")
    got = stranger.get("/")
    assert got.status_code == 401 and "open the link" in Page(got.text).text
    got = stranger.get(f"{HOST}/static/style.css")
    assert (got.status_code, got.headers["cache-control"]) == (200, "max-age=300")


def test_a_long_council_is_folded_and_can_be_read_whole(served, browser) -> None:
    config = {"order": "parallel", "max_rounds": 16}
    service.convene(served.app, Opening(topic="Long?", procedure="deliberation", config=config))
    for tour in range(14):
        for agent in ("ada", "bob", "eve"):
            others = "".join(
                f"- {one}: disagree\n" for one in ("ada", "bob", "eve") if one != agent
            )
            why = f"{agent} has reason number {tour} " + " ".join(f"w{tour}x{n}" for n in range(20))
            text = said(f"Way {tour} of {agent}", others * bool(tour), why)
            service.respond(served.app, "active", agent, text, Stated())
    part, whole = browser.get("/councils/active"), browser.get("/councils/active?all=1")
    assert "reason number 13" in part.text and "reason number 0" not in part.text
    assert all(f"reason number {tour}" in whole.text for tour in range(14))
    # Of 42 options, those that somebody holds are shown and offered.
    choices = [one["value"] for one in part.every("input") if one.get("name") == "choice"]
    assert len(choices) == 4 and choices[-1] == "new" and "39 more that nobody holds" in part.text


_TAGS = """p br strong em s del code pre a ul ol li blockquote h4 h5 h6 hr
table thead tbody tr th td div"""
_ATTRS = ["href", "rel", "title", "class", "start", "tabindex"]
ODD = ["<b>", "[a](", "](", "javascript:", "![", "`", "|", "\n", "&#", "x3c;", ">", "# ", "<!--"]


@example(["[a](", ")"])
@given(st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=8)), max_size=30))
def test_markdown_makes_no_markup_but_its_own(parts) -> None:
    page = Page(str(markdown.html("".join(parts))))
    for tag, attrs in page.elements:
        assert tag in _TAGS.split() and set(attrs) <= {*_ATTRS}
        assert attrs.get("href", "http://").lower().startswith(("http://", "https://", "mailto:"))


def test_markdown_that_takes_long_is_shown_as_it_is() -> None:
    for text in ("![" * 20_000, "x" * (markdown.LONGEST + 1), "> " * 30_000):
        assert str(markdown.html(text)).startswith("<pre>")
