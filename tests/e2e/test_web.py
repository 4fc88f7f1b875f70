"""The pages in a real browser: with and without scripts, by keyboard, live, in both themes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Council
from tests.e2e.conftest import InstalledClients
from tests.forks import Forks
from tests.web.browser.driving import Browser, Page, browser_program
from tests.web.serving import Served, serving

pytestmark = pytest.mark.e2e

SIZES = (360, 1280)
THEMES = ("light", "dark")
POSITIONS = ("We should buy one.", "We should wait a year.", "We should borrow one.")


@pytest.fixture(scope="module")
def chromium(clients: InstalledClients) -> Iterator[Browser]:
    """The browser that all tests here share."""
    clients.need("playwright")
    clients.need("axe")
    if not browser_program():
        pytest.skip("no Chromium on this machine")
    found = Browser(clients.where / "node_modules")
    yield found
    found.end()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, forks: Forks | None) -> Council:
    """A workspace with something of everything."""
    folder = tmp_path_factory.mktemp("web")
    for name in ("home", "workspace"):
        (folder / name).mkdir()
    council = Council(folder / "workspace", folder / "home", forks)

    def do(*words: str) -> None:
        done = council(*words)
        assert done.code == 0, (words, done.err)

    do("init", "--agents", "owl,gecko,fox")
    do("agent", "edit", "owl", "--name", "Owl", "--emoji", "🦉", "--role", "Skeptic")
    do("agent", "edit", "gecko", "--emoji", "🦎", "--model", "opus", "--account", "222222222222")
    for mode in ("chat", "report", "work"):
        do("channel", "create", mode, f"a-{mode}", "--participants", "owl,gecko,fox")
    do("channel", "post", "a-chat", "It **will** rain.\n\n- today\n- tomorrow", "--as", "marie")
    guide = council.root / "g.md"
    guide.write_text("## Topic\nRain\n## Goals\nTo know\n## Completion criteria\nAgreed\n")
    do(
        *("discussion", "create", "rain", "--as", "owl", "--guide", str(guide)),
        *("--participants", "gecko,fox"),
    )
    do("convene", "Shall we build it?", "--agents", "owl,gecko", "--people", "anna")
    do("respond", "--as", "owl", "We **should**, and here is why: it rains.")
    do(
        *("convene", "Shall we buy a barometer?", "--name", "weighty"),
        *("--procedure", "deliberation", "--agents", "owl,gecko,fox", "--order", "fixed"),
        *("--max-rounds", "3"),
    )
    for tour in range(2):
        for number, agent in enumerate(("owl", "gecko", "fox")):
            others = [
                one for one in ("owl", "gecko", "fox")[: 3 if tour else number] if one != agent
            ]
            stances = [word for one in others for word in ("--stance", f"{one}=disagree:Too dear.")]
            do(
                *("respond", "--name", "weighty", "--as", agent, "--position", POSITIONS[number]),
                *("--confidence", str(number + 2), *stances),
                f"Reasons of {agent} in round {tour + 1}, which are long enough to be read.",
            )
    do(
        *("convene", "Who is it?", "--name", "masked", "--procedure", "deliberation"),
        *("--agents", "owl,gecko,fox", "--anonymous"),
    )
    do("convene", "Shall it snow?", "--name", "snowy", "--agents", "owl,gecko")
    do("cancel", "snowy")
    do("artifact", "publish", str(guide), "--as", "owl")
    do("agent", "join", "W1", "--as", "fox", "--caps", "web_search")
    do("msg", "send", "--user", "Latest news on rain", "--caps", "web_search")
    return council


@pytest.fixture(scope="module")
def served(house: Council) -> Iterator[Served]:
    """A server in that workspace."""
    with serving(house, house.home) as found:
        yield found


@pytest.fixture(scope="module")
def cookie(served: Served) -> str:
    """What the printed link gave."""
    return served.cookie()


def places(served: Served) -> list[str]:
    """Return the address of a page of every kind."""
    minutes = next((served.council.root / "conseils").glob("*.md")).name
    told = served.council("task", "list", "--json").json()["tasks"]
    tasks = [f"/tasks/{one['context']}/{one['task']}" for one in told]
    return [
        *("/", "/new", "/agents", "/agents?edit=owl", "/rooms", "/rooms/a-chat", "/rooms/rain"),
        *("/dirigent", "/dirigent?edit=222222222222", "/events", "/tasks", "/artifacts"),
        *("/metrics", "/minutes", f"/minutes/{minutes}", "/councils/active"),
        *("/councils/weighty", "/councils/masked", "/councils/weighty/at/3"),
        *("/ask/cancel?name=active", "/rooms/nowhere", *tasks[:1]),
    ]


@pytest.mark.parametrize("scheme", THEMES)
@pytest.mark.parametrize("width", SIZES)
def test_axe_finds_nothing_on_any_page(
    chromium: Browser, served: Served, cookie: str, width: int, scheme: str
) -> None:
    found = []
    page = chromium.open(served.url, cookie, width=width, scheme=scheme)
    for place in places(served):
        status = page.goto(place)
        assert status == (404 if place == "/rooms/nowhere" else 200), place
        found += [f"{place}: {one}" for one in page.axe()]
        found += [f"{place}: {one}" for one in page.noise() if "404" not in one]
        if page.run("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{place}: wider than {width} px")
    page.close()
    assert found == [], "\n".join(found)


@pytest.mark.req("DL-072", "DG-133", "DG-136")
def test_a_council_is_convened_answered_steered_and_stopped_without_scripts(
    chromium: Browser, served: Served, cookie: str
) -> None:
    page = chromium.open(served.url, cookie, scripts=False, width=360)
    page.goto("/")
    page.click("a.button.main")
    page.fill("#convene-topic", "Shall we plant a tree?")
    for agent in ("owl", "gecko"):  # none is ticked at first
        page.check(f'input[name="agents"][value="{agent}"]')
    page.fill("#convene-people", "anna")
    page.click("summary")
    page.fill("#convene-name", "tree")
    page.click('button[name="show"]')
    assert "At most" in page.text("#plan-title + dl")
    assert page.run("document.querySelector('#convene-topic').value") == "Shall we plant a tree?"
    page.click("#convene button.main")
    assert page.where() == "/councils/tree"
    assert "The council is open." in page.text("[data-notice]")

    answer = "An oak.\n\nIt outlives us."
    page.click("#answer-anna-card summary")
    page.fill("#answer-anna-text", answer)
    page.click("#answer-anna button.main")
    assert page.where() == "/councils/tree", page.text()
    shown = served.council("show", "tree", "--json").json()
    said = [one["agent"] for one in shown["contributions"]]
    assert said == ["anna"] or shown["participants"]["anna"]["status"] != "WAITING"

    page.goto("/councils/tree")
    page.fill('form[action="/do/inject"] textarea', "Mind the roots.")
    page.click('form[action="/do/inject"] button[type="submit"], form[action="/do/inject"] button')
    shown = served.council("show", "tree", "--json").json()
    assert [one["text"] for one in shown["guidance"]] == ["Mind the roots."]

    page.goto("/councils/tree")
    page.click('form[action="/do/stop"] button, form[action="/ask/stop"] button')
    if page.where().startswith("/ask/"):
        page.click("form button.bad")
    assert served.council("show", "tree", "--json").json()["currentPhase"] != "COLLECT"

    page.goto("/dirigent")
    page.choose("#mode-a-report", "none")
    page.click('tr[data-channel="a-report"] button')
    assert served.council("turn", "status", "a-report", "--json").json()["mode"] == "none"
    assert page.noise() == []
    page.close()


def test_a_council_is_steered_by_keyboard_alone(
    chromium: Browser, served: Served, cookie: str
) -> None:
    served.council("convene", "By keys?", "--name", "keys", "--agents", "owl,gecko")
    page = chromium.open(served.url, cookie)
    page.goto("/")
    page.press("Tab")
    assert page.run("document.activeElement.className") == "skip"
    page.press("Enter")
    _to(page, "a", "By keys?")
    page.press("Enter")
    page.wait("location.pathname === '/councils/keys'")
    _to(page, "textarea", "", within='form[action="/do/inject"]')
    page.type("Use fewer words.")
    _to(page, "button", "", within='form[action="/do/inject"]')
    page.press("Enter")
    page.wait("document.querySelector('[data-notice]')")
    shown = served.council("show", "keys", "--json").json()
    assert [one["text"] for one in shown["guidance"]] == ["Use fewer words."]
    assert page.noise() == []
    page.close()


def _to(page: Page, tag: str, words: str, within: str = "body", most: int = 150) -> None:
    """Press Tab until what is wanted has the focus, which must be seen."""
    is_there = (
        f"document.activeElement.matches({(within + ' ' + tag)!r}) && "
        f"document.activeElement.textContent.includes({words!r})"
    )
    for _ in range(most):
        page.press("Tab")
        if page.run(is_there):
            assert page.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"no {tag} {words!r} is reached by Tab")


@pytest.mark.req("DL-071")
@pytest.mark.parametrize("way", ["respond", "editor", "heartbeat"])
def test_a_page_shows_within_a_second_what_others_do(
    chromium: Browser, served: Served, cookie: str, way: str
) -> None:
    council, name = served.council, f"live-{way}"
    made = council(
        *("convene", "Live?", "--name", name, "--agents", "owl,gecko", "--order", "fixed"),
        *("--procedure", "deliberation", "--timeout", "3s" if way == "heartbeat" else "1h"),
    )
    assert made.code == 0, made.err
    page = chromium.open(served.url, cookie)
    page.goto(f"/councils/{name}")
    page.run("new Promise(done => setTimeout(done, 600))")  # until its stream is open
    page.run("window.stays = 1")
    new = {"respond": "A word that is new.", "editor": "Livelier?", "heartbeat": "passed over"}[way]
    assert new not in page.text()
    if way == "respond":
        words = ("--position", "Yes.", "--confidence", "3", new)
        done = council("respond", "--name", name, "--as", "owl", *words)
    elif way == "editor":
        path = council.root / f"memory/shared/council-{name}-conversation.md"
        path.write_text(path.read_text().replace("Live?", new))
    else:
        page.run("new Promise(done => setTimeout(done, 3000))")
        done = council("heartbeat")
    ended = time.time()
    assert way == "editor" or done.code == 0, done.err
    try:
        changed = page.wait(f"document.querySelector('main').textContent.includes({new!r})")
    except AssertionError:
        raise AssertionError(page.text()) from None
    assert changed - ended < 1.0
    if way != "editor":  # whose turn it is now may answer, and no other
        assert not page.count("#answer-owl-card")
        assert page.count("#answer-gecko-card") == 1
    assert page.run("window.stays") == 1  # it was not loaded again
    assert page.noise() == []
    page.close()


def _say(council: Council, room: str, words: str) -> None:
    posted = council("channel", "post", room, words, "--as", "marie")
    assert posted.code == 0, posted.err


def test_what_is_typed_chosen_and_open_stays_as_a_page_follows(
    chromium: Browser, served: Served, cookie: str
) -> None:
    council = served.council
    page = chromium.open(served.url, cookie)
    page.goto("/rooms/a-chat")
    page.run("new Promise(done => setTimeout(done, 600))")
    page.fill("#post-text", "half a tho")
    page.run("document.querySelector('#post-text').setSelectionRange(2, 4)")
    _say(council, "a-chat", "Someone else was faster.")
    page.wait("document.querySelector('#messages').innerText.includes('faster')")
    state = "(one => [one.value, one.selectionStart, document.activeElement === one].join())"
    assert page.run(f"{state}(document.querySelector('#post-text'))") == "half a tho,2,true"
    page.goto("/rooms")
    page.goto("/rooms/a-chat")
    assert page.run("document.querySelector('#post-text').value") == "half a tho"  # the draft
    page.fill("#post-text", "A whole thought.")
    page.click("#post button.main")
    page.wait("document.querySelector('[data-notice]')")
    assert page.run("document.querySelector('#post-text').value") == ""
    page.wait("location.search === ''")  # the notice is not shown again
    page.close()


def test_who_reads_further_up_is_told_of_what_is_new_below(
    chromium: Browser, served: Served, cookie: str
) -> None:
    council = served.council
    for number in range(25):
        _say(council, "a-work", f"Word {number}.")
    page = chromium.open(served.url, cookie, height=500)
    page.goto("/rooms/a-work")
    page.run("new Promise(done => setTimeout(done, 600))")
    page.run("scrollTo(0, 300)")
    _say(council, "a-work", "The newest word.")
    page.wait("document.querySelector('#news a')")
    assert page.run("scrollY") == 300
    assert page.text("#news") == "1 new below"
    page.click("#news a")
    page.wait("location.hash.startsWith('#message-')")
    page.close()


def test_a_lost_connection_is_said_and_found_again(
    chromium: Browser, council: Council, tmp_path: Path
) -> None:
    council("init", "--agents", "owl,gecko")
    council("channel", "create", "chat", "a-chat", "--participants", "owl,gecko")
    with serving(council, tmp_path) as served:
        page = chromium.open(served.url, served.cookie())
        page.goto("/rooms/a-chat")
        page.run("new Promise(done => setTimeout(done, 600))")
        served.kill()
        page.wait("document.querySelector('#connection').textContent")
        assert "lost" in page.text("#connection")
        _say(council, "a-chat", "Said while it was away.")
        served.start()
        page.wait("document.querySelector('#messages').innerText.includes('while it was away')", 30)
        page.close()


@pytest.mark.req("DL-073")
def test_what_takes_long_of_a_long_council_is_not_fetched_with_each_update(
    chromium: Browser, served: Served, cookie: str
) -> None:
    council = served.council
    words = ("--procedure", "deliberation", "--name", "long", "--agents", "owl,gecko")
    assert council("convene", "How long?", *words).code == 0
    for number in range(61):
        assert council("inject", "--name", "long", f"word {number}.").code == 0
    page = chromium.open(served.url, cookie)
    assert page.goto("/councils/long") == 200
    page.wait("!document.querySelector('#pictures').hidden")
    for number in range(61, 64):
        assert council("inject", "--name", "long", f"word {number}.").code == 0
        page.wait(f"document.querySelector('#transcript').textContent.includes('word {number}.')")
    asked = "performance.getEntriesByType('resource').map((one) => one.name)"
    assert page.run(f"{asked}.filter((one) => one.includes('figures=1')).length") == 1
    assert page.run("!document.querySelector('#pictures').hidden")
    assert page.count("#later") == 0
    page.close()


def _is_quiet(page: Page) -> list[str]:
    """Return what a page says that it must not, and whether a text of others ran."""
    ran = page.run("String(window.boomed || '')")
    return page.noise() + ([f"ran: {ran}"] if ran else [])


def test_no_text_of_others_runs_loads_or_draws_over_the_page(
    chromium: Browser, council: Council, tmp_path: Path
) -> None:
    from tests.web.hostile import hostile_texts

    texts = [one.encode("utf-8", "replace").decode() for one in hostile_texts()]
    council("init", "--agents", "owl,gecko")
    council("channel", "create", "chat", "bad", "--participants", "owl,gecko")
    kept = 0
    for number, text in enumerate(texts):
        topic = re.sub(r"[\s\0]+", " ", text)[:300]
        body = text.replace("\0", "")[:2000] or "x"
        if number % 10 == 0:
            council("agent", "edit", "owl", "--name", topic[:100], "--role", topic[:100])
            council("agent", "edit", "gecko", "--emoji", topic[:3], "--model", topic[:100])
            made = council(
                *("convene", topic, "--name", f"bad-{number}", "--agents", "owl,gecko"),
                *("--brief", body),
            )
            if made.code == 0:
                council("inject", body, "--name", f"bad-{number}")
                council("respond", "--name", f"bad-{number}", "--as", "owl", body)
                council("respond", "--name", f"bad-{number}", "--as", "gecko", body)
        for author in (topic[:60] or "x", "marie"):  # where it can be no name, as another
            posted = council("channel", "post", "bad", "-", "--as", author, stdin=text)
            if posted.code == 0:
                kept += 1
                break
    assert kept > 280
    names = [one["name"] for one in council("list", "--json").json()]
    assert len(names) > 10
    found = []
    with serving(council, tmp_path) as served:
        page = chromium.open(served.url, served.cookie())
        pages = ["/", "/new", "/agents", "/agents?edit=owl", "/rooms", "/events", "/dirigent"]
        pages += [f"/rooms/bad?before={at}" for at in range(30, kept + 31, 30)]
        pages += [f"/councils/{name}" for name in names]
        for place in pages:
            assert page.goto(place) == 200, place
            found += [f"{place}: {one}" for one in _is_quiet(page)]
            if page.count("footer.bottom a[hreflang]") != 1 or page.count("main") != 1:
                found.append(f"{place}: its frame is broken")
        page.close()
    assert found == []
