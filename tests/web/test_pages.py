"""The pages around the council, as a browser without scripts gets them from a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from council.operations.rooms.discord import URL
from council.web.frame import words
from council.web.pages import ROWS
from tests.conftest import Council
from tests.drivers.discord_server import BOT, GENERAL, GUILD, TOKEN, VIEW, discord_server
from tests.forks import Forks
from tests.web.serving import API, Reply, Served, serving

ACCOUNT, OTHER = "111111111111111111", "222222222222222222"


class Browser:
    """One who came by the printed link: a cookie, and the word that its forms hold."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.cookie = served.cookie()

    def get(self, path: str, **headers: str | None) -> Reply:
        """Return a page."""
        return self.served.get(path, Authorization=None, Cookie=self.cookie, **headers)

    def page(self, path: str, **headers: str | None) -> str:
        """Return the HTML of a page that must be there."""
        reply = self.get(path, **headers)
        assert reply.status == 200, reply.text
        return reply.text

    def submit(self, path: str, **fields: str) -> Reply:
        """Post a form, with the word that every form holds."""
        found = re.search(r'name="form_token" value="([^"]*)"', self.page("/"))
        assert found
        return self.served.submit(path, self.cookie, **{"form_token": found[1], **fields})

    def done(self, path: str, **fields: str) -> str:
        """Post a form that must be carried out, and return the page on which one is then."""
        reply = self.submit(path, **fields)
        assert reply.status == 303, reply.text
        return self.page(reply.headers["location"])


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, forks: Forks | None) -> Council:
    """A workspace with rooms of every mode, identities and a council under way."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("home", "workspace"):
        (folder / name).mkdir()
    council = Council(folder / "workspace", folder / "home", forks)
    assert council("init", "--agents", "owl,gecko,fox").code == 0
    assert council("agent", "edit", "owl", "--name", "Owl", "--account", ACCOUNT).code == 0
    assert council("agent", "edit", "gecko", "--account", OTHER).code == 0
    for mode in ("chat", "report", "work"):
        made = council("channel", "create", mode, f"a-{mode}", "--participants", "owl,gecko,fox")
        assert made.code == 0, made.err
    with (council.root / "council.toml").open("a") as settings:
        settings.write(f'\n[paths]\nego = "{folder}/ego.json"\n')
    guide = council.root / "g.md"
    guide.write_text("## Topic\nRain\n## Goals\nTo know\n## Completion criteria\nAgreed\n")
    opened = council(
        *("discussion", "create", "rain", "--as", "owl", "--guide", str(guide)),
        *("--participants", "gecko,fox"),
    )
    assert opened.code == 0, opened.err
    assert council("convene", "Shall we build it?", "--agents", "owl,gecko").code == 0
    return council


@pytest.fixture(scope="module")
def browser(house: Council) -> Iterator[Browser]:
    """Someone at the pages of that workspace, which all tests here share."""
    with serving(house, house.home) as served:
        yield Browser(served)


PLACES = [
    *("/", "/new", "/minutes", "/agents", "/rooms", "/rooms/a-chat", "/rooms/rain", "/dirigent"),
    *("/events", "/events?about=owl", "/tasks", "/artifacts", "/metrics", "/councils/active"),
]


def test_every_page_is_there_in_both_languages_without_a_style_or_script_of_its_own(
    browser: Browser,
) -> None:
    for place in PLACES:
        for lang in ("en", "fr"):
            text = browser.page(place, Accept_Language=lang)
            assert f'<html lang="{lang}">' in text
            assert not re.search(r"<[^>]+ style=|<style|<script>|javascript:| on[a-z]+=", text)
            assert len(re.findall("<h1", text)) == 1, place


@pytest.mark.req("DG-131", "DG-132")
def test_the_control_page_needs_the_token(browser: Browser) -> None:
    served = browser.served
    assert served.get("/dirigent", Authorization=None).status == 401
    assert served.get("/dirigent", Authorization="Bearer guess").status == 401
    assert served.get("/dirigent").status == 200


@pytest.mark.req("DG-016", "DG-133")
def test_identities_are_added_edited_and_deleted_in_place(browser: Browser) -> None:
    def entries() -> set[tuple[str, str, str]]:
        rows = re.findall(r'<tr id="identity-.*?</tr>', browser.page("/dirigent"), re.DOTALL)
        cells = [re.findall(r"<td>(.*?)</td>", one, re.DOTALL)[:3] for one in rows]
        return {tuple(re.sub("<.*?>", "", one).strip() for one in row) for row in cells}  # type: ignore[misc]

    stand = {(ACCOUNT, "owl", "Owl"), (OTHER, "gecko", "gecko")}
    assert entries() == stand
    then = {"then": "/dirigent", "from": "/dirigent"}
    browser.done("/do/agent/edit", agent="fox", account="333333333333333333", name="Fox", **then)
    assert entries() == stand | {("333333333333333333", "fox", "Fox")}
    form = browser.page(f"/dirigent?edit={OTHER}")
    assert 'value="gecko"' in form and "Save" in form
    browser.done("/do/agent/edit", agent="gecko", account=OTHER, name="Lizard", **then)
    assert (OTHER, "gecko", "Lizard") in entries()
    asked = browser.page(f"/ask/agent/remove?agent=gecko&account={OTHER}&then=/dirigent")
    assert OTHER in asked and "/do/agent/remove" in asked
    assert (OTHER, "gecko", "Lizard") in entries()  # it was only asked
    browser.done("/do/agent/remove", agent="gecko", account=OTHER, **then)
    assert (OTHER, "gecko", "Lizard") not in entries()
    known = json.loads((browser.served.council("agent", "list", "--json")).out)
    listed = {(one["discordUserId"], one["agentId"], one["agentName"]) for one in known}
    assert {one for one in listed if one[0]} == entries()


@pytest.mark.req("DG-022", "DG-134")
def test_scanning_again_is_offered_only_where_there_is_a_source(
    browser: Browser,
) -> None:
    ego = browser.served.council.root.parent / "ego.json"
    assert "/do/agent/scan" not in browser.page("/dirigent")
    scope = {"crow": {"discord-id": "444444444444444444"}}
    ego.write_text(json.dumps({"columns": ["discord-id"], "agentScope": scope}))
    assert "/do/agent/scan" in browser.page("/dirigent")
    assert "444444444444444444" in browser.done("/do/agent/scan", then="/dirigent")
    ego.write_text(json.dumps({"columns": ["other"], "agentScope": scope}))
    assert "/do/agent/scan" not in browser.page("/dirigent")
    taken = browser.served.council("agent", "remove", "crow", "--account", "444444444444444444")
    assert taken.code == 0, taken.err


def _rows_of(text: str) -> dict[str, dict[str, str]]:
    """Return what the control page says of each channel."""
    found = {}
    for name, row in re.findall(r'<tr data-channel="(.*?)">(.*?)</tr>', text, re.DOTALL):
        chosen = re.search(r'<option value="(\w+)" selected', row)
        found[unescape(name)] = {
            "mode": (re.search(r'data-mode="(\w+)"', row) or ["", "none"])[1],
            "choices": ",".join(re.findall(r'<option value="(\w+)"', row)),
            "chosen": chosen[1] if chosen else "",
            "state": (re.search(r'data-state="(\w*)"', row) or ["", ""])[1],
            "speaker": (re.search(r'data-speaker="(\w*)"', row) or ["", ""])[1],
        }
    return found


@pytest.mark.req("DG-136", "DG-137")
def test_each_channel_shows_mode_choice_turns_and_speaker_as_the_terminal_does(
    browser: Browser,
) -> None:
    shown = _rows_of(browser.page("/dirigent"))
    council = browser.served.council
    listed = json.loads(council("channel", "list", "--json").out)["channels"]
    assert {one["channelId"] for one in listed} == set(shown) == {
        "a-chat", "a-report", "a-work", "rain",
    }  # fmt: skip
    for one in listed:
        row = shown[one["channelId"]]
        turn = json.loads(council("turn", "status", one["channelId"], "--json").out)
        assert row["mode"] == one["mode"] == turn["mode"]
        assert row["state"] == one["turnState"] == turn["turnState"]
        assert row["speaker"] == (one["currentSpeaker"] or "") == (turn["currentSpeaker"] or "")
        is_locked = one["mode"] in ("work", "discussion")
        assert row["choices"] == ("" if is_locked else "none,chat,report")
        assert row["chosen"] == ("" if is_locked else one["mode"])
    assert shown["a-chat"]["speaker"] == "owl"


@pytest.mark.req("DG-136")
def test_a_mode_is_chosen_on_the_page_and_a_locked_one_is_refused(browser: Browser) -> None:
    where = {"from": "/dirigent", "then": "/dirigent"}
    browser.done("/do/channel/mode", channel="a-chat", mode="report", **where)
    assert _rows_of(browser.page("/dirigent"))["a-chat"]["mode"] == "report"
    browser.done("/do/channel/mode", channel="a-chat", mode="chat", **where)
    refused = browser.submit("/do/channel/mode", channel="rain", mode="chat", **where)
    assert refused.status in (403, 409) and 'role="alert"' in refused.text
    assert _rows_of(browser.page("/dirigent"))["rain"]["mode"] == "discussion"


def test_a_room_shows_what_was_said_and_takes_a_word(browser: Browser) -> None:
    text = browser.done(
        "/do/channel/post",
        **{"channel": "a-chat", "text": "It **will** rain <b>soon</b>.", "as": "anna"},
        **{"from": "/rooms/a-chat", "then": "/rooms/a-chat"},
    )
    assert "Posted." in text
    assert "It <strong>will</strong> rain &lt;b&gt;soon&lt;/b&gt;." in text
    assert "anna" in text


def test_older_messages_stand_on_pages_of_their_own(browser: Browser) -> None:
    council = browser.served.council
    for number in range(35):
        assert council("channel", "post", "a-report", f"word {number}", "--as", "anna").code == 0
    newest = browser.page("/rooms/a-report")
    assert "word 34" in newest and "word 4<" not in newest
    older = re.search(r'href="(/rooms/a-report\?before=\d+)"', newest)
    assert older
    before = browser.page(older[1])
    assert "word 0<" in before and "word 4<" in before and "word 5<" not in before


def test_a_room_that_is_not_there_is_a_page_that_says_so(browser: Browser) -> None:
    reply = browser.get("/rooms/nowhere")
    assert reply.status == 404 and "nowhere" in reply.text and "<main" in reply.text
    assert browser.get("/no/such/page").status == 404


def test_a_refused_form_comes_back_with_all_that_was_typed(browser: Browser) -> None:
    typed = {"topic": "A “question” & <more>", "brief": "Line 1\nLine 2", "agents": "owl"}
    reply = browser.submit("/do/convene", form="convene", **{"from": "/new"}, **typed)
    assert reply.status >= 400
    assert 'role="alert"' in reply.text and "at least two agents" in reply.text
    assert re.findall(r'name="agents" value="(\w+)" checked', reply.text) == ["owl"]
    assert 'value="A “question” &amp; &lt;more&gt;"' in reply.text
    assert "Line 1\nLine 2</textarea>" in reply.text


@pytest.mark.req("CL-002")
def test_a_council_is_planned_then_convened_on_a_page(browser: Browser) -> None:
    asked = {"topic": "Shall it rain?", "name": "rainy", "agents": "owl", "max_runs": "9"}
    where = {"from": "/new", "then": "/councils/{name}", "form": "convene", "people": "anna"}
    plan = browser.submit("/do/convene", show="dry_run", **asked, **where)
    assert plan.status == 200 and "rainy" in plan.text and "9" in plan.text
    council = browser.served.council
    assert "rainy" not in council("list").out
    roles = {"role.owl": "Skeptic"}
    page = browser.done("/do/convene", **asked, **where, **roles)
    assert "Shall it rain?" in page and "Skeptic" in page
    shown = json.loads(council("show", "rainy", "--json").out)
    assert set(shown["participants"]) == {"owl", "anna"}
    assert shown["participants"]["owl"]["role"] == "Skeptic"


def test_a_refusal_names_the_field_of_the_page(browser: Browser) -> None:
    def refused(**more: str) -> str:
        asked = {"topic": "Alone?", "name": "alone", "agents": "owl", "procedure": "deliberation"}
        reply = browser.submit(
            "/do/convene", **{**asked, "form": "convene", "from": "/new", **more}
        )
        assert reply.status in (400, 422), reply.text
        return reply.text[reply.text.index('id="fault"') :].split("</span>")[0]

    assert "name them: “Agents”" in refused()
    assert "“Must agree” 9 is not from 2 to" in refused(agents="owl,gecko", threshold="9")
    assert "“Most rounds”: " in refused(max_rounds="many")


def test_what_needs_a_person_stands_on_the_home_page(browser: Browser) -> None:
    text = browser.page("/")
    needs = text[text.index('id="needs"') : text.index('id="open"')]
    assert "/councils/active" in needs and "answer by hand" in needs and "Owl" in needs
    is_open = text[text.index('id="open"') :]
    assert "answer by hand" in is_open and "is at work" not in is_open
    assert "Shall we build it?" in text[text.index('id="open"') :]


def test_the_first_page_of_an_empty_workspace_says_what_to_do(
    council: Council, tmp_path: Path
) -> None:
    assert council("init").code == 0
    with serving(council, tmp_path) as served:
        text = Browser(served).page("/")
    assert "What to do first" in text and "/agents" in text


def test_minutes_are_found_by_their_words(browser: Browser) -> None:
    council = browser.served.council
    convened = council("convene", "Shall it snow?", "--name", "snowy", "--agents", "owl,gecko")
    assert convened.code == 0 and council("cancel", "snowy").code == 0
    assert "Shall it snow?" in browser.page("/minutes?search=snow")
    assert "Shall it snow?" in browser.page("/")
    assert "Shall it snow?" not in browser.page("/minutes?search=unheard-of")


def test_events_are_told_newest_first_and_of_one_thing_alone(browser: Browser) -> None:
    text = browser.page("/events")
    story = text[text.index('id="story"') : text.index("</section>")]
    times = re.findall(r'<time datetime="([^"]+)"', story)
    assert times == sorted(times, reverse=True) and len(times) > 5
    told = browser.page("/events?about=a-report")
    assert "a-report" in told and "Shall we build it?" not in told
    assert browser.get("/events?about=unheard-of").status == 404


def test_nothing_of_an_anonymous_council_says_who_is_who(browser: Browser) -> None:
    council = browser.served.council
    convened = council(
        *("convene", "Who is it?", "--name", "masked", "--procedure", "deliberation"),
        *("--agents", "owl,gecko", "--anonymous", "--order", "fixed"),
    )
    assert convened.code == 0, convened.err
    home = browser.page("/")
    needs, card = home[home.index('id="needs"') :].split('id="open"', 1)
    asked = next(one for one in needs.split("<li ") if "Who is it?" in one)
    assert not {"owl", "gecko"} & set(re.findall(r"\w+", asked.lower()))
    card = card[card.index("Who is it?") :]
    assert "1 member" in card[: card.index("</article>")]
    told = browser.page("/events?about=masked")
    story = told[told.index('id="story"') :]
    assert "owl" not in story and "gecko" not in story
    assert "Who is it?" not in browser.page("/events?about=owl")


def test_a_notice_is_shown_only_where_we_sealed_it(browser: Browser) -> None:
    reply = browser.submit("/do/heartbeat", then="/rooms")
    where = reply.headers["location"]
    said = parse_qs(urlsplit(where).query)
    assert said["notice"][0] in browser.page(where)
    forged = where.replace(said["seal"][0], "0" * 32)
    assert "data-notice" not in browser.page(forged)
    assert "data-notice" not in browser.page("/?notice=Pay+here&seal=")


@pytest.mark.parametrize("then", ["//evil.test/", "/\\evil.test", "https://evil.test", "evil"])
def test_a_form_leads_to_no_other_place(browser: Browser, then: str) -> None:
    reply = browser.submit("/do/heartbeat", then=then)
    assert reply.status == 303 and reply.headers["location"].startswith("/?notice=")


@pytest.mark.parametrize("what", ["init", "serve", "status", "agent", "nothing", "../dirigent"])
def test_a_form_does_only_what_has_a_route_that_changes_something(
    browser: Browser, what: str
) -> None:
    assert browser.submit(f"/do/{what}").status in (400, 404)


def test_a_form_gives_no_file_of_this_machine(browser: Browser) -> None:
    secret = browser.served.council.root / "secret.txt"
    secret.write_text("hidden words")
    fields = {"channel": "a-chat", "as": "anna", "file": str(secret)}
    assert browser.submit("/do/channel/post", **fields).status == 404
    assert "hidden words" not in browser.page("/rooms/a-chat")


def test_a_form_without_its_word_changes_nothing(browser: Browser) -> None:
    fields = {"form_token": "0" * 64, "channel": "a-chat", "mode": "report"}
    assert browser.served.submit("/do/channel/mode", browser.cookie, **fields).status == 403
    assert _rows_of(browser.page("/dirigent"))["a-chat"]["mode"] == "chat"


def test_a_language_that_was_chosen_stays(browser: Browser) -> None:
    reply = browser.get("/?lang=fr", Accept_Language="en")
    assert '<html lang="fr">' in reply.text
    kept = reply.headers["set-cookie"].partition(";")[0]
    browser.cookie = f"{browser.cookie}; {kept}"
    assert '<html lang="fr">' in browser.page("/rooms", Accept_Language="en")
    assert '<html lang="en">' in browser.page("/rooms?lang=en")
    assert '<html lang="fr">' in browser.page("/rooms?lang=xx", Accept_Language="de,en;q=0.5")
    browser.cookie = browser.cookie.partition(";")[0]
    assert '<html lang="en">' in browser.page("/rooms", Accept_Language="de,en;q=0.5")


def test_every_word_of_a_template_exists_in_both_languages() -> None:
    folder = Path(__file__).parents[2] / "council/web/templates"
    for path in folder.rglob("*.html"):
        for key in re.findall(r'\bt\("([\w-]+)"[,)]', path.read_text()):
            for lang in ("en", "fr"):
                assert words(lang)(key, n=2) and words(lang)(key, n=1), f"{path.name}: {key}"


def test_every_page_of_the_table_is_tried_here() -> None:
    tried = {"/tasks/{target:path}", "/minutes/{which}"}  # by the tests of what they show
    for path, _, _ in ROWS:
        pattern = re.sub(r"\{.*?\}", "[^/]+", path)
        is_council = path.startswith("/councils/")
        assert (
            path in tried
            or is_council
            or any(re.fullmatch(pattern, one.partition("?")[0]) for one in PLACES)
        ), path


@pytest.mark.req("DG-135")
def test_of_discord_only_private_channels_of_servers_that_the_bot_may_administer_are_listed(
    council: Council, tmp_path: Path
) -> None:
    with discord_server() as discord:
        hidden = {"id": str(GUILD), "type": 0, "allow": "0", "deny": str(VIEW)}
        hall = discord.add_channel(301, "the-hall", permission_overwrites=[hidden])
        env = {"DISCORD_TOKEN": TOKEN, URL: discord.url}
        assert council("init", "--agents", "owl,gecko").code == 0
        made = council("channel", "create", "chat", "tied", "--participants", "owl,gecko")
        assert made.code == 0
        tied = council("channel", "tie", "tied", "--discord", str(GENERAL), env=env)
        assert tied.code == 0, tied.err
        with serving(council, tmp_path, env) as served:
            browser = Browser(served)
            assert "the-hall" not in browser.page("/dirigent")  # nothing is asked by itself
            shown = browser.page("/dirigent?discord=1")
            rows = _rows_of(shown)
            assert str(hall) in rows and rows[str(hall)]["mode"] == "none"
            assert rows[str(hall)]["choices"] == "" and "general" not in shown
            discord.members[BOT] = []
            assert "the-hall" not in browser.page("/dirigent?discord=1")


def test_a_workspace_that_is_gone_is_said_and_served_again_when_it_is_back(
    opened: Council, tmp_path: Path
) -> None:
    with serving(opened, tmp_path) as served:
        token = f"Bearer {served.token}"
        away = opened.root.rename(tmp_path / "away")
        for path in ("/", "/councils/active", f"{API}/status", f"{API}/debates"):
            reply = served.get(path, Authorization=token)
            assert reply.status == 404 and "is not there any more" in reply.text, reply
        away.rename(opened.root)
        assert served.get(f"{API}/status").status == 200
