"""What forms and HTTP calls start: what they say, and nobody else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from council.commands.options import ROWS, command
from council.web.forms import given_arguments
from council.web.routes import Route, routes
from tests.conftest import Council
from tests.web.serving import API, Served, serving
from tests.web.test_pages import Browser

FORM = {"from": "/new", "then": "/councils/{name}", "form": "convene", "topic": "Lunch?"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Someone at the pages of a workspace with three agents."""
    folder = tmp_path_factory.mktemp("forms")
    for name in ("home", "workspace"):
        (folder / name).mkdir()
    council = Council(folder / "workspace", folder / "home")
    assert council("init", "--agents", "owl,gecko,fox").code == 0
    with serving(council, folder) as served:
        yield Browser(served)


def words_of(page: str) -> str:
    """Return what a page says."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", page)).split())


def plan(browser: Browser, **fields: str) -> str:
    """Return what the plan of a council says that a form asks for."""
    reply = browser.submit("/do/convene", **FORM, show="dry_run", **fields)
    assert reply.status == 200, reply.text
    said = words_of(reply.text)
    return said[said.index("The plan") : said.index("Nothing was started")]


@pytest.mark.req("FW-011")
@pytest.mark.parametrize("procedure", ["council", "deliberation"])
def test_a_form_that_names_people_only_starts_nobody_else(browser: Browser, procedure: str) -> None:
    said = plan(browser, people="ann,bob", procedure=procedure)
    assert "ann, bob" in said
    assert not re.search("owl|gecko|fox", said)


@pytest.mark.req("FW-011")
def test_a_box_says_people_only_whatever_is_ticked(browser: Browser) -> None:
    assert 'name="none" value="agents"' in browser.page("/new")
    said = plan(browser, people="ann,bob", agents="owl", none="agents")
    assert "ann, bob" in said and "owl" not in said


@pytest.mark.req("FW-011")
@pytest.mark.parametrize("procedure", ["council", "deliberation"])
@pytest.mark.parametrize(
    ("lang", "line"), [("en", "Choose at least two"), ("fr", "Choisissez au moins deux")]
)
def test_a_form_that_names_nobody_is_refused_at_its_field(
    browser: Browser, procedure: str, lang: str, line: str
) -> None:
    browser.get(f"/?lang={lang}")
    shown = browser.page(f"/new?lang={lang}")
    word = re.search(r'name="form_token" value="([^"]*)"', shown)
    assert word
    cookie = f"{browser.cookie}; council-lang={lang}"
    fields = {**FORM, "form_token": word[1], "procedure": procedure}
    reply = browser.served.submit("/do/convene", cookie, **fields)
    assert reply.status == 400
    field = re.search(r"<fieldset[^>]*>(?:(?!</fieldset>).)*</fieldset>", reply.text, re.DOTALL)
    assert field and 'aria-describedby="fault"' in field[0] and line in field[0]
    assert reply.text.count(line) == 1
    assert not json.loads(browser.served.council("status", "--json").out)["conversations"]


@pytest.mark.req("FW-011")
def test_no_box_is_ticked_unasked_and_each_says_what_it_starts(
    tmp_path: Path, council: Council
) -> None:
    assert council("init", "--agents", "ada,bea,ann").code == 0
    with (council.root / "council.toml").open("a") as settings:
        settings.write('\n[agents.ada]\npreset = "claude"\n[agents.bea]\nargv = ["/x/prog", "1"]\n')
    with serving(council, tmp_path) as served:
        browser = Browser(served)
        boxes = re.findall(
            r'<label><input type="checkbox" name="agents".*?</label>',
            browser.page("/new"),
            re.DOTALL,
        )
        all_of_them = browser.page("/new?all=1")
    assert not [one for one in boxes if " checked" in one]
    assert all_of_them.count(" checked") == 3
    said = dict(
        zip(
            ("ada", "ann", "bea"),
            sorted(map(words_of, boxes), key=lambda one: one[2:]),
            strict=True,
        )
    )
    assert "starts claude" in said["ada"] and "starts prog" in said["bea"]
    assert "starts nothing" in said["ann"]


@pytest.mark.req("FW-011")
def test_a_council_of_a_form_has_the_ceiling_of_ask(browser: Browser) -> None:
    page = browser.page("/new")
    for name, usual in (("max_runs", "40"), ("max_tokens", "1000000"), ("max_cost", "5")):
        assert re.search(f'name="{name}" type="[a-z]+" value="{usual}"', page)
    for given in ({}, {"max_runs": "", "max_tokens": "", "max_cost": " "}):
        said = plan(browser, agents="owl,gecko", **given)
        assert "40 runs, 1,000,000 tokens or $5.00" in said
    said = plan(browser, agents="owl,gecko", max_runs="9", max_cost="0.5")
    assert "9 runs, 1,000,000 tokens or $0.50" in said


@pytest.mark.req("FW-011")
def test_the_usual_ceiling_of_a_form_is_that_of_the_settings(
    tmp_path: Path, council: Council
) -> None:
    assert council("init", "--agents", "owl,gecko").code == 0
    with (council.root / "council.toml").open("a") as settings:
        settings.write("\n[limits]\nmax_runs_per_council = 7\n")
    with serving(council, tmp_path) as served:
        browser = Browser(served)
        assert 'type="number" value="7"' in browser.page("/new")
        assert "7 runs, 1,000,000 tokens" in plan(browser, agents="owl,gecko")


@pytest.mark.req("FW-011")
def test_a_call_without_agents_means_all_and_one_with_an_empty_list_nobody(
    browser: Browser,
) -> None:
    served: Served = browser.served
    call = {"topic": "Lunch?", "dry_run": True}
    told = served.post(f"{API}/councils", call).json()
    assert set(told["participants"]) == {"owl", "gecko", "fox"}
    told = served.post(f"{API}/councils", {**call, "agents": [], "people": ["ann", "bob"]}).json()
    assert set(told["participants"]) == {"ann", "bob"}
    for empty in ({"agents": []}, {"agents": ""}, {"agents": [], "procedure": "deliberation"}):
        refused = served.post(f"{API}/councils", {**call, **empty})
        assert refused.status == 400 and refused.json()["code"] == "nobody-named"
    refused = served.post(f"{API}/debates", {"topic": "Lunch?", "config": {"agents": []}})
    assert refused.status == 400 and refused.json()["code"] == "nobody-named"


@pytest.mark.req("FW-011")
def test_a_command_line_with_an_empty_list_means_nobody(council: Council) -> None:
    assert council("init", "--agents", "owl,gecko").code == 0
    refused = council("convene", "Lunch?", "--agents", "")
    assert refused.code == 2 and "name nobody" in refused.err
    made = council("convene", "Lunch?", "--agents", "", "--people", "ann,bob", "--json")
    assert set(json.loads(made.out)["participants"]) == {"ann", "bob"}


FORMS = [
    one
    for one in routes()
    if one.changes and any(each.means_all_without for each in (*one.within, *one.fields))
]


@pytest.mark.req("FW-011")
@pytest.mark.parametrize("route", FORMS, ids=[one.name for one in FORMS])
def test_no_list_of_any_form_means_everyone_by_what_is_left_out(route: Route) -> None:
    options = (*route.within, *route.fields)
    required = {"group": ["G1"], "topic": ["Lunch?"]}
    arguments, _ = given_arguments(route, required, "", 1000)
    for one in options:
        if one.means_all_without:
            assert arguments[one.name] in ("", []), one.name


@pytest.mark.req("FW-011")
def test_every_list_that_means_everyone_where_it_is_left_out_says_so_in_the_table() -> None:
    everyone = {
        (name, one.name)
        for name in ROWS
        if not name.startswith("engine")
        for one in _options(name)
        if one.means_all_without
    }
    named = {
        (name, one.name)
        for name in ROWS
        for one in _options(name)
        if (one.many or "," in one.metavar) and re.search(r"\ball\b[^,;]*\.$", one.help)
    }
    # Phases are no participants: a form has a field for them, and says that blank means all.
    assert named - {pair for pair in named if pair[1] == "phases"} == everyone
    assert everyone >= {("convene", "agents"), ("agent group remove", "members")}


def _options(name: str) -> list[Any]:
    try:
        return command(name).options
    except (KeyError, IndexError):  # a group
        return []


@pytest.mark.req("FW-011")
def test_a_form_that_takes_nobody_out_of_a_group_leaves_it_as_it_is(browser: Browser) -> None:
    council = browser.served.council
    for agent in ("owl", "gecko"):
        assert council("agent", "join", "--as", agent, "--role", "worker").code == 0
    assert council("agent", "group", "add", "G1", "W1", "W2").code == 0
    reply = browser.submit("/do/agent/group/remove", group="G1")
    assert reply.status == 400
    assert "W1 W2" in council("agent", "group", "list").out
