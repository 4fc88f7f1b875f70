"""Minutes as a page and as one file, and a council as it stood at each of its revisions."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.conftest import Council
from tests.web.hostile import hostile_texts
from tests.web.serving import Served, serving
from tests.web.test_council_page import Debating, card, words


@pytest.fixture
def served(council: Council, tmp_path: Path) -> Iterator[Served]:
    assert council("init").code == 0
    with serving(council, tmp_path) as found:
        yield found


def decided(served: Served, *options: str) -> Debating:
    """Return a deliberation that is over: two agreed, one did not, and a synthesis was written."""
    told = Debating(served, "--sealed", "--max-rounds", "2", "--threshold", "2", *options)
    for agent in ("owl", "gecko", "nova"):
        told.say(agent, f"{agent} alone.", "a")
    for agent, stances in (
        ("gecko", {"nova": "disagree"}),
        ("nova", {"gecko": "partial"}),
        ("owl", {"gecko": "agree", "nova": "disagree"}),
    ):
        told.say(
            agent,
            "Buy it.",
            "b",
            *(f"--stance={one}={how}:why {agent}" for one, how in stances.items()),
        )
    for agent, stances in (
        ("owl", {"gecko": "agree", "nova": "disagree"}),
        ("gecko", {"owl": "agree", "nova": "disagree"}),
        ("nova", {"owl": "disagree", "gecko": "partial"}),
    ):
        final = ["--position", "Buy it.", "--confidence", "4"]
        final += [f"--stance={one}={how}" for one, how in stances.items()]
        assert told.council("vote", "--name", "tea", "--as", agent, *final).code == 0
    done = told.council("synthesize", "--name", "tea", "--as", "owl", "We **buy** it.")
    assert done.code == 0, done.err
    return told


def minutes_of(told: Debating) -> str:
    (found,) = told.json("list", "--archived", "--json")
    return Path(found["path"]).name


@pytest.mark.req("DL-097", "DL-098", "DL-104", "DL-027")
def test_minutes_are_a_page_that_says_all_that_the_file_says(served: Served) -> None:
    told = decided(served)
    name = minutes_of(told)
    html = told.page(f"/minutes/{name}")
    shown = words(html)
    lines = (told.council.root / "conseils" / name).read_text().split("\n---\n", 1)[1]
    for line in lines.split("\n"):
        if line.startswith("## "):
            assert line[3:] in shown
    for one in ("Soft consensus", "Dissent", "Blind first round", "Hangs on", "Who went where"):
        assert one in shown, one
    assert "<strong>buy</strong>" in html
    assert 'class="chart meter' in html and 'class="chart flow' in html
    assert "<!--council" not in html and "council-entry" not in html
    headings = [int(one) for one in re.findall(r"<h([1-6])\b", html)]
    assert headings.count(1) == 1
    assert len(re.findall(r'href="#s-\d+"', html)) == len(re.findall(r'id="s-\d+"', html)) > 5


@pytest.mark.req("DL-093")
def test_minutes_are_rated_on_their_page(served: Served) -> None:
    told = decided(served)
    name = minutes_of(told)
    asked = told.page(f"/minutes/{name}")
    token = re.search(r'name="form_token" value="([^"]+)"', asked)
    assert token is not None
    fields = {"form_token": token[1], "which": name, "stars": "4", "then": f"/minutes/{name}"}
    assert served.submit("/do/rate", told.cookie, **fields).status == 303
    assert "rated 4 of 5 by 1" in words(told.page(f"/minutes/{name}"))


def test_one_file_of_minutes_loads_nothing_and_runs_nothing(served: Served) -> None:
    told = decided(served, "--brief", "<script>alert(1)</script> ![x](https://example.org/x.png)")
    name = minutes_of(told)
    printed = told.council("show", name.removesuffix(".md"), "--format", "html")
    assert printed.code == 0, printed.err
    sent = served.get(f"/minutes/{name}/file", Authorization=None, Cookie=told.cookie)
    assert sent.status == 200
    assert sent.headers["content-disposition"].startswith("attachment")
    assert sent.text.strip() == printed.out.strip()
    (style,) = re.findall(r"<style>(.*?)</style>", printed.out, re.S)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', printed.out)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ") and f"'sha256-{digest}'" in policy
    tags = re.findall(r"<[a-z][^<>]*>", printed.out)
    assert not [one for one in tags if re.match(r"<(script|img|link|iframe|form|object)\b", one)]
    assert not [one for one in tags if re.search(r"\b(src|style|action|on\w+)\s*=", one)]
    assert "url(" not in style and "@import" not in style
    assert "Soft consensus" in words(printed.out) and "<strong>buy</strong>" in printed.out


def test_an_open_council_is_one_file_that_says_that_it_is_open(served: Served) -> None:
    told = Debating(served)
    told.say("owl", "Buy it.", hostile_texts()[0])
    printed = told.council("show", "tea", "--format", "html")
    assert printed.code == 0
    assert "<h1" in printed.out and "Still open" in words(printed.out)
    wrong = told.council("show", "tea", "--format", "pdf")
    assert wrong.code == 2 and "choose md, json, debate-session or html" in wrong.err


# --- Revisions


@pytest.mark.req("C0-078")
def test_each_revision_is_shown_as_it_stood_with_what_changed_and_who_did_it(
    served: Served,
) -> None:
    told = Debating(served)
    told.say("owl", "Buy a kettle.", "The queue.")
    told.say("gecko", "Buy none.", "The costs.", "--stance", "owl=disagree")
    told.council("inject", "--name", "tea", "Mind the water.")
    history = told.json("history", "tea", "--json")
    for one in history:
        html = told.page(f"/councils/tea/at/{one['rev']}")
        whole = words(html)
        said = whole.split("As it stood")[1]
        # A heartbeat that an answer started may add one meanwhile.
        shown = re.search(f"revision {one['rev']} of ([0-9]+)", whole)
        assert shown is not None and int(shown[1]) >= history[-1]["rev"]
        assert f"by {one['actor']}" in whole
        past = [event for each in history if each["rev"] <= one["rev"] for event in each["events"]]
        spoke = {one["agentId"] for one in past if one["type"] == "contribution.recorded"}
        assert ("Buy a kettle." in said) == ("owl" in spoke)
        assert ("Buy none." in said) == ("gecko" in spoke)
    answer = next(one for one in history if one["actor"] == "gecko")
    changed = told.page(f"/councils/tea/at/{answer['rev']}")
    added = re.findall(r'<div class="line line-in".*?</div>', changed, re.S)
    assert any("Buy none." in one for one in added)
    taken = re.findall(r'<div class="line line-out".*?</div>', changed, re.S)
    assert any("WAITING" in one for one in taken) and any("RESPONDED" in one for one in added)
    assert not re.search(r'action="/do/', changed.split('class="diff')[-1])


def test_the_slider_leads_to_its_revision_without_a_script(served: Served) -> None:
    told = Debating(served)
    told.say("owl", "Buy a kettle.", "The queue.")
    html = told.page("/councils/tea/at?rev=2")
    last = int(found[1]) if (found := re.search(r'min="1" max="([0-9]+)"', html)) else 0
    assert 3 <= last <= told.json("history", "tea", "--json")[-1]["rev"]
    assert "revision 2 of" in words(html)
    assert f'type="range" name="rev" min="1" max="{last}" value="2"' in html
    assert 'rel="prev" href="/councils/tea/at/1"' in html
    assert 'rel="next" href="/councils/tea/at/3"' in html
    missing = served.get("/councils/tea/at/99", Authorization=None, Cookie=told.cookie)
    assert missing.status == 404 and "they go from 1 to" in missing.text


def test_revisions_outlive_their_council(served: Served) -> None:
    told = decided(served)
    (found,) = told.json("list", "--archived", "--json")
    html = told.page(f"/councils/{found['conversation']}")
    assert "over" in words(html) and 'action="/do/' not in card(html, "transcript")
    past = told.page(f"/councils/{found['conversation']}/at/3")
    assert "revision 3 of" in words(past)


@pytest.mark.req("DL-100")
def test_no_revision_of_an_anonymous_council_shows_in_its_changes_who_is_who(
    served: Served,
) -> None:
    told = Debating(served, "--anonymous")
    told.say("owl", "Strix buys it.", "I, owl, said so.")
    answer = next(one for one in told.json("history", "tea", "--json") if one["actor"] == "owl")
    html = told.page(f"/councils/tea/at/{answer['rev']}")
    body = html[html.index("<main") :]
    assert not re.search(r"\b(owl|Strix|Lacerta|gecko|Stella|nova)\b", body)
    assert re.search(r'line-in".*?member-\d buys it', body, re.S)
