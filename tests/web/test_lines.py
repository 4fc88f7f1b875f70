"""Every list of every page says of each line what it is about, and rounds count as everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.conftest import Council
from tests.web.everything import furnish
from tests.web.serving import API, Served, serving

FIXED = (
    *("/", "/new", "/minutes", "/agents", "/rooms", "/dirigent", "/events", "/tasks"),
    *("/artifacts", "/metrics", "/rooms/a-chat", "/rooms/rain", "/events?about=owl"),
)


class Lists(HTMLParser):
    """Gathers the lines of each list, table or row of boxes of a page, as text."""

    _LISTS = frozenset(("ul", "ol", "tbody", "select"))
    _LINES = frozenset(("li", "tr", "option"))
    _EMPTY = frozenset(("input", "br", "hr", "meta", "link", "img"))

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lists: list[list[str]] = []
        self._open: list[list[str]] = []
        self._lines: list[str | None] = []
        self._scripts = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a list or one of its lines."""
        del attrs
        if tag in self._LISTS:
            self._open.append([])
        elif tag in self._LINES and self._open:
            self._lines.append("")
        elif tag in ("style", "script", "svg"):
            self._scripts += 1

    def handle_endtag(self, tag: str) -> None:
        """End a list or one of its lines."""
        if tag in self._LISTS and self._open:
            self.lists.append(self._open.pop())
        elif tag in self._LINES and self._open and self._lines:
            line = " ".join((self._lines.pop() or "").split())
            if line:
                self._open[-1].append(line)
        elif tag in ("style", "script", "svg"):
            self._scripts -= 1

    def handle_data(self, data: str) -> None:
        """Add what is said to all lines around."""
        if not self._scripts:
            self._lines = [(one or "") + data + " " for one in self._lines]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a workspace with everything in it."""
    folder = tmp_path_factory.mktemp("lines")
    for name in ("home", "workspace"):
        (folder / name).mkdir()
    council = Council(folder / "workspace", folder / "home")
    furnish(council)
    with serving(council, folder) as served:
        yield served
    (council.root / "go").touch()


def pages_of(served: Served) -> Iterator[str]:
    """Yield the addresses of all pages that there are."""
    yield from FIXED
    status = served.get(f"{API}/status").json()
    names = [one["name"] for one in status["conversations"]]
    minutes = [Path(one["path"]).name for one in served.get(f"{API}/minutes").json()]
    for name in (*names, "spring"):
        yield f"/councils/{name}"
        shown = served.get(f"/councils/{name}/at").text
        for rev in sorted(set(re.findall(r'/at/(\d+)"', shown)), key=int):
            yield f"/councils/{name}/at/{rev}"
    for name in minutes:
        yield f"/minutes/{name}"
    for one in served.get(f"{API}/tasks").json()["tasks"]:
        yield f"/tasks/{one['context']}/{one['task']}"


@pytest.mark.long
@pytest.mark.req("FW-011")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_no_two_lines_of_a_list_on_any_page_are_equal(house: Served, lang: str) -> None:
    pages, faults = 0, []
    for path in pages_of(house):
        reply = house.get(path, Accept_Language=lang)
        assert reply.status == 200, (path, reply.text)
        pages += 1
        for lines in Lists(reply.text).lists:
            twice = {one for one in lines if lines.count(one) > 1}
            faults += [f"{path}: {one}" for one in sorted(twice)]
    assert not faults, "\n".join(faults)
    assert pages > 40


@pytest.mark.long
@pytest.mark.req("FW-011")
def test_every_page_counts_rounds_as_status_does(house: Served) -> None:
    counted = dict(
        re.findall(r"(\w+) · [A-Z]+ · (round \d+(?: of \d+)?)", house.council("status").out)
    )
    assert len(counted) >= 4 and "round 2" in counted.values()
    home = house.get("/").text
    for name, said in counted.items():
        card = re.search(rf"<bdi>{name}</bdi> · .*?</p>", home, re.DOTALL)
        page = house.get(f"/councils/{name}").text
        rev = json.loads(house.council("show", name, "--json").out)["rev"]
        then = house.get(f"/councils/{name}/at/{rev}").text
        for text in (card and card[0], page, then):
            assert text and set(re.findall(r"round \d+(?: of \d+)?(?= *[·<\n])", text)) >= {said}


@pytest.mark.req("FW-011")
def test_each_line_of_what_happens_next_names_its_agent(council: Council, tmp_path: Path) -> None:
    agents = ("ada", "bea", "cyd", "dan")
    assert council("init", "--agents", ",".join(agents)).code == 0
    with (council.root / "council.toml").open("r+") as settings:
        text = settings.read()
        waits = '\nargv = ["sleep", "600"]\n'
        settings.seek(0)
        settings.write(
            "max_runs = 1\n" + text + "".join(f"\n[agents.{one}]{waits}" for one in agents)
        )
    assert council("convene", "Lunch?", "--name", "lunch").code == 0
    with serving(council, tmp_path) as served:
        for lang, heading in (("en", "What happens next"), ("fr", "Ce qui vient ensuite")):
            page = served.get("/councils/lunch", Accept_Language=lang).text
            part = page[page.index(heading) : page.index("</section>", page.index(heading))]
            lines = Lists(part).lists[0]
            assert len(lines) == len(set(lines)) >= 4
            assert (
                sum(
                    any(one in line for one in ("Bea", "Cyd", "Dan", "bea", "cyd", "dan"))
                    for line in lines
                )
                >= 3
            )
            for rev in range(1, 6):
                shown = served.get(f"/councils/lunch/at/{rev}", Accept_Language=lang).text
                for each in Lists(shown).lists:
                    assert len(each) == len(set(each)), each
    assert council("cancel", "lunch").code == 0
    assert council("halt").code == 0
