"""What pages say and where they lead: links instead of commands, each thing once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from council.core.reporting.sentences import elided, filled
from council.store.texts import texts
from council.web.advice import advised
from council.web.frame import words
from tests.conftest import Council
from tests.web.serving import Served, serving
from tests.web.test_forms import words_of
from tests.web.test_pages import Browser

PEOPLE = ("ann", "bob")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Someone at the pages of a workspace where two people deliberate."""
    folder = tmp_path_factory.mktemp("words")
    for name in ("home", "workspace"):
        (folder / name).mkdir()
    council = Council(folder / "workspace", folder / "home")
    assert council("init", "--agents", "owl,gecko").code == 0
    _convene(council, "lunch")
    blocked = "Yes.\n\nBLOCKING: nobody has time"
    assert council("respond", "--as", "ann", "--name", "lunch", blocked).code == 0
    assert council("respond", "--as", "bob", "--name", "lunch", "Yes").code == 0
    with serving(council, folder) as served:
        yield Browser(served)


def _convene(council: Council, name: str) -> None:
    asked = ("convene", f"{name}?", "--name", name, "--agents", "ann,bob", "--people", "ann,bob")
    assert council(*asked).code == 0


@pytest.mark.req("FW-011")
def test_what_needs_a_person_is_a_link_to_where_it_is_done(browser: Browser) -> None:
    home = browser.page("/")
    needs = home[home.index('id="needs"') : home.index('id="open"')]
    links = re.findall(r'<a href="([^"]*)">', needs)
    assert "/councils/lunch#answers" in links
    assert 'id="answers"' in browser.page("/councils/lunch")
    cards = home[home.index('id="open"') :]
    assert re.search(r'<article class="card linked".*?<a href="/councils/lunch">', cards, re.DOTALL)


def test_the_home_page_searches_the_minutes(browser: Browser) -> None:
    form = re.search(
        r'<form method="get" action="([^"]*)" role="search".*?</form>', browser.page("/"), re.DOTALL
    )
    assert form and 'name="search"' in form[0]
    assert form[1] == "/minutes"
    assert browser.get("/minutes?search=rain").status == 200


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_no_way_out_on_a_page_names_a_command_that_a_page_does(lang: str) -> None:
    done_here = re.compile(
        r"council (heartbeat|metrics|resume --all|events story|say|respond --as|turn end|msg answer"
        r"|agent edit|extend)\b"
    )
    values = {
        "name": "hall",
        "agent": "owl",
        "task": "S1/T1",
        "run": "r",
        "log": "x.log",
        "reply": 'council respond --as owl --name hall "…"',
    }
    found = 0
    for code, said in texts("causes").items():
        way = filled(said[2 if lang == "en" else -1], values).replace("‹", "[").replace("›", "]")
        shown = advised(way, words(lang))
        if done_here.search(way):
            found += 1
            plain = re.sub("<a .*?</a>", "", str(shown))
            assert not done_here.search(plain), (code, plain)
    assert found > 15


def test_a_person_is_told_what_the_phase_asks_and_answers_with_a_status(browser: Browser) -> None:
    page = words_of(browser.page("/councils/lunch"))
    assert "This phase asks you to criticize the other answers" in page
    assert "Status has answered agrees leaves for good" in page
    french = words_of(browser.page("/councils/lunch?lang=fr"))
    browser.get("/?lang=en")
    assert "Cette phase vous demande de critiquer" in french


def test_a_blocker_is_shown_once_with_the_text_that_raises_it(browser: Browser) -> None:
    page = browser.page("/councils/lunch")
    said = page[page.index('id="transcript"') : page.index('id="answers"')]
    assert said.count("nobody has time") == 1
    assert "raises a blocker" in said


def test_one_word_is_one_word(browser: Browser) -> None:
    page = words_of(browser.page("/councils/lunch"))
    assert "1 word " in page and "1 words" not in page


@pytest.mark.parametrize(
    ("path", "says", "never"),
    [
        ("/ask/pause?all=1&from=/", "No run is started in this workspace", "The whole workspace"),
        ("/ask/cancel?name=lunch&from=/", "ends without a synthesis", "rev"),
        ("/ask/archive?name=lunch&from=/", "Its minutes are written", "rev"),
        ("/ask/agent/remove?agent=owl&folder=1&from=/", "its folder is moved aside", "folder : 1"),
        ("/ask/task/cancel?target=S1/T1&from=/", "ends without an answer", "from"),
    ],
)
def test_a_page_that_asks_first_says_what_it_will_do(
    browser: Browser, path: str, says: str, never: str
) -> None:
    main = browser.page(path).split("<main")[1].split("</main>")[0]
    assert says in words_of(main)
    assert never not in re.findall("<dt>(.*?)</dt>", main)
    assert "<dd><bdi>1</bdi>" not in main


def test_every_question_that_is_asked_first_says_what_it_will_do() -> None:
    keys = [key.removeprefix("ask-") for key in texts("web") if key.startswith("ask-")]
    assert len(keys) >= 6
    assert [f"asked-{one}" for one in keys if f"asked-{one}" not in texts("web")] == []


def test_a_council_that_is_over_takes_no_word_and_the_refusal_is_beside_it(
    served: Served,
) -> None:
    council = served.council
    browser = Browser(served)
    page = browser.page("/councils/active")
    assert 'id="guidance"' in page and 'id="guidance-now" data-live' in page
    assert council("cancel", "active").code == 0
    after = browser.page("/councils/active")
    assert 'id="guidance"' not in after and 'id="guidance-now" data-live' in after
    reply = browser.submit(
        "/do/inject",
        **{"name": "active", "message": "Mind the budget.", "form": "inject"},
        **{"from": "/councils/active"},
    )
    assert reply.status in (404, 409)
    typed = reply.text[reply.text.index('id="typed"') :]
    typed = typed[: typed.index("</section>")]
    assert 'id="fault"' in typed and "Mind the budget." in typed
    assert reply.text.index('href="#fault"') < reply.text.index("<h1")
    assert not any(command in typed for command in ("council list", "council status"))


def test_figures_are_written_as_people_write_them(browser: Browser) -> None:
    assert words("en").number(175536) == "175,536"
    assert words("fr").number(175536) == "175\u202f536"
    assert (words("en").number(1.8), words("fr").number(1.44)) == ("1.8", "1,44")
    assert words("fr").number(3.0) == "3"
    assert (words("en").money(0.5), words("fr").money(1234.5)) == ("$0.50", "1\u202f234,50\xa0$")


def test_french_elides_before_a_vowel_and_only_there() -> None:
    assert filled("la position de {who}", {"who": "Ada"}) == "la position d'Ada"
    assert filled("la position de {who}", {"who": "Bob"}) == "la position de Bob"
    assert filled("parce que {reason}", {"reason": "on a fini"}) == "parce qu'on a fini"
    assert filled("made {name} anew", {"name": "a"}) == "made a anew"
    assert elided("de {who}", {}) == "de {who}"


def test_french_says_vous_on_pages_and_in_pictures() -> None:
    tutoie = re.compile(r"\b(tu|toi|ton|ta|tes|Montre|Réponds|Donne)\b")
    for table in ("web", "charts", "causes", "explanations", "events"):
        for key, said in texts(table).items():
            for one in said[1::2]:
                assert not tutoie.search(one), (table, key, one)


def test_days_are_written_as_people_write_them() -> None:
    assert words("en").dated("2026-11-26") == "26 Nov 2026"
    assert words("fr").dated("2026-08-01") == "1er août 2026"
    assert words("fr").dated("someday") == "someday"


def test_minutes_and_lists_of_them_say_outcomes_in_words(served: Served) -> None:
    assert served.council("cancel", "active").code == 0
    browser = Browser(served)
    shown = words_of(browser.page("/minutes"))
    (file,) = re.findall(r'href="/minutes/([^"]+)"', browser.page("/minutes"))
    french = words_of(browser.page(f"/minutes/{file}?lang=fr"))
    assert " cancelled" in shown and " annulé" in french
    assert not re.search(r"\d{4}-\d\d-\d\d ·", shown + french)
