"""The revisions that a page offers can be seen, also those of a council that is over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.conftest import Council
from tests.web.serving import Served, serving
from tests.web.test_forms import words_of

PEOPLE = ("ann", "bob")


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a workspace in which one council is over, and another is under way."""
    folder = tmp_path_factory.mktemp("replay")
    for name in ("home", "workspace"):
        (folder / name).mkdir()
    council = Council(folder / "workspace", folder / "home")
    assert council("init", "--agents", "owl").code == 0
    for name in ("lunch", "supper"):
        people = ",".join(PEOPLE)
        asked = ("convene", f"{name}?", "--name", name, "--agents", people, "--people", people)
        assert council(*asked).code == 0
        for tour in range(3):
            for who in PEOPLE:
                said = f"{who} says word-{tour}-{who}."
                assert council("respond", "--as", who, "--name", name, said).code == 0
    ended = council("synthesize", "--as", "ann", "--name", "lunch", "## Decision\n\nSoup.")
    assert ended.code == 0, ended.err
    with serving(council, folder) as served:
        yield served


def offered(served: Served, name: str) -> list[int]:
    """Return the revisions to which the page of a council leads."""
    page = served.get(f"/councils/{name}/at").text
    return sorted({int(one) for one in re.findall(r'/at/(\d+)"', page)})


def stood(page: str) -> str:
    """Return what a page says a council was like."""
    said = words_of(page)
    return said[said.index("As it stood") : said.index("Revisions", said.index("As it stood"))]


@pytest.mark.req("FW-012.1")
@pytest.mark.parametrize("name", ["lunch", "supper"])
def test_every_revision_that_is_offered_is_shown_as_it_stood(over: Served, name: str) -> None:
    revisions = offered(over, name)
    assert len(revisions) >= 8
    for rev in revisions:
        for lang in ("en", "fr"):
            reply = over.get(f"/councils/{name}/at/{rev}", Accept_Language=lang)
            assert reply.status == 200, reply.text
            assert not re.search("pruned|élagué", reply.text)
            assert 'id="stood-title"' in reply.text
            assert re.search(r'<details class="round"', reply.text)


@pytest.mark.req("FW-012.2")
def test_an_ended_council_is_replayed_contribution_by_contribution(over: Served) -> None:
    rev, seen = offered(over, "lunch")[0], []
    page = over.get(f"/councils/lunch/at/{rev}").text
    while following := re.search(r'href="/councils/lunch/at/(\d+)">next contribution', page):
        assert int(following[1]) > rev
        rev = int(following[1])
        page = over.get(f"/councils/lunch/at/{rev}").text
        seen.append(set(re.findall(r"word-\d-\w+", stood(page))))
    assert len(seen) == 3 * len(PEOPLE) + 1
    assert all(before <= after for before, after in pairwise(seen))
    # What is said in the blind round is readable when that closes.
    assert [len(one) for one in seen] == [0, 2, 3, 4, 5, 6, 6]
    assert "Soup." in stood(page)
    assert "Soup." not in stood(over.get(f"/councils/lunch/at/{rev - 1}").text)
    assert "next contribution" not in page


@pytest.mark.req("FW-012.1")
def test_a_revision_in_the_middle_shows_the_phase_that_was_under_way(over: Served) -> None:
    told = json.loads(over.council("history", "lunch", "--json").out)
    for one in told:
        said = stood(over.get(f"/councils/lunch/at/{one['rev']}").text)
        if one["phase"] == "CHALLENGE":
            assert "challenging round 2" in said


@pytest.mark.req("FW-012.2")
def test_each_line_of_the_replay_names_who_spoke_in_which_round(over: Served) -> None:
    page = over.get("/councils/lunch/at").text
    part = page[page.index("7 contributions") :]
    said = words_of(part[: part.index("</details>")])
    for number, who in enumerate(("Ann", "Bob") * 3, 1):
        assert f"{number}. {who} , round {(number + 1) // 2}" in said


@pytest.mark.req("FW-012.1")
def test_the_slider_leads_only_to_what_can_be_seen(over: Served) -> None:
    revisions = offered(over, "lunch")
    for rev in range(1, revisions[-1] + 3):
        reply = over.get(f"/councils/lunch/at?rev={rev}")
        assert reply.status == 200
        shown = re.search(r'name="rev" min="\d+" max="\d+" value="(\d+)"', reply.text)
        assert shown and int(shown[1]) in revisions
    assert over.get(f"/councils/lunch/at/{revisions[-1] + 1}").status == 404


@pytest.mark.req("FW-012.1")
def test_after_gc_the_same_revisions_are_offered_and_shown(council: Council, tmp_path) -> None:
    assert council("init", "--agents", "owl").code == 0
    people = ("--agents", "ann,bob", "--people", "ann,bob")
    assert council("convene", "Tea?", "--name", "tea", *people).code == 0
    for who in PEOPLE:
        assert council("respond", "--as", who, "--name", "tea", f"{who}: word-{who}").code == 0
    with serving(council, tmp_path) as served:
        before = offered(served, "tea")
        assert council("gc").code == 0
        assert council("archive", "tea").code == 0
        assert council("gc").code == 0
        after = offered(served, "tea")
        assert set(before) <= set(after)
        for rev in after:
            reply = served.get(f"/councils/tea/at/{rev}")
            assert reply.status == 200 and 'id="stood-title"' in reply.text
