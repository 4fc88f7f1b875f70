"""The page of a council shows what the command line shows, and steers as it does."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.conversations.anonymity import as_shown
from council.core.conversations.due import due_agents
from council.core.conversations.procedures import Rules
from council.operations.conversations.judging import standing
from council.operations.conversations.recalling import Recalled
from council.operations.place import Place, open_place
from council.store.paths import Workspace
from council.store.statefile import statefile
from council.web.readings.council import page_of
from council.web.readings.transcript import MOST_TURNS
from tests.core.debates import Debate
from tests.web.councils import random_debate
from tests.web.hostile import hostile_texts
from tests.web.serving import Served, begun_again

NAMES = {"owl": "Strix", "gecko": "Lacerta", "nova": "Stella"}


def words(html: str) -> str:
    """Return the words of a page as a reader has them, without tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def card(html: str, name: str) -> str:
    """Return one part of a page, by the id that it has, up to the next part."""
    return re.split(r'<(?:section|details class="card)', html[html.index(f'id="{name}"') :])[0]


class Debating:
    """A deliberation of agents who answer by hand, and the server that shows it."""

    def __init__(self, served: Served, *options: str, agents: str = "owl,gecko,nova") -> None:
        self.served = served
        self.council = served.council
        self.cookie = served.cookie()
        for agent in agents.split(","):
            name = NAMES[agent]
            assert self.council("agent", "add", agent, "--name", name, "--emoji", "🦉").code == 0
        asked = ("convene", "Kettle?", "--name", "tea", "--procedure", "deliberation")
        assert self.council(*asked, "--agents", agents, *options).code == 0

    def say(self, agent: str, position: str, text: str, *more: str) -> None:
        told = ("--position", position, "--confidence", "4", *more)
        done = self.council("respond", "--name", "tea", "--as", agent, *told, text)
        assert done.code == 0, done.err

    def page(self, path: str = "/councils/tea", lang: str = "en") -> str:
        reply = self.served.get(path, Authorization=None, Cookie=self.cookie, Accept_Language=lang)
        assert reply.status == 200, reply
        return reply.text

    def submit(self, path: str, **fields: str) -> Any:
        token = re.search(r'name="form_token" value="([^"]+)"', self.page())
        assert token is not None
        told = {"form_token": token[1], "from": "/councils/tea", "name": "tea", **fields}
        return self.served.submit(path, self.cookie, **told)

    def json(self, *words: str) -> Any:
        return self.council(*words).json()

    def rev(self) -> str:
        return str(self.json("show", "tea", "--json")["rev"])


@pytest.fixture
def served(empty: Served) -> Iterator[Served]:
    with begun_again(empty) as found:
        yield found


@pytest.mark.req("DL-072", "DL-073")
def test_a_page_shows_who_takes_part_and_what_each_said(served: Served) -> None:
    told = Debating(served)
    told.council("agent", "edit", "owl", "--role", "Historian")
    told.say("owl", "Buy a kettle.", "The queue is **long**.")
    told.say("gecko", "No.", '@owl said: "The queue is long." And @owl said: "Tea is always bad."',
             "--stance", "owl=disagree:it costs")  # fmt: skip
    html = told.page()
    shown = words(html)
    for one in ("Strix", "Lacerta", "Stella", "🦉", "Buy a kettle.", "confidence 4 of 5"):
        assert one in shown
    assert "<strong>long</strong>" in html
    assert "✗ disagrees Lacerta" not in shown
    assert "✗ disagrees Strix – it costs" in shown
    assert "≈ nearly said: The queue is long." in shown
    assert "✗ never said: Tea is always bad." in shown
    assert "○ claimed" in shown
    assert "waits for 🦉 Stella" in shown
    assert "to answer by hand" in words(card(html, "agents"))


def test_both_pages_say_the_last_verdict_with_its_round(served: Served) -> None:
    told = Debating(served)
    assert "nothing judged yet" in words(card(told.page(), "head"))
    told.say("owl", "Buy a kettle.", "Tea.")
    told.say("gecko", "No.", "It costs.", "--stance", "owl=disagree")
    assert "nothing judged yet" in words(card(told.page(), "head"))
    told.say("nova", "Tea.", "It is.", "--stance", "owl=disagree", "--stance", "gecko=disagree")
    said = "no consensus round 1 · 1 of 3 agree; 2 are needed"
    assert said in words(card(told.page(), "head"))
    assert said in words(card(told.page("/"), "open"))


@pytest.mark.req("DL-097", "C0-048")
def test_no_page_holds_anything_of_a_sealed_answer(served: Served) -> None:
    told = Debating(served, "--sealed")
    told.say("owl", "POSITION-OF-OWL", "REASONING-OF-OWL " * 20)
    told.say("gecko", "POSITION-OF-GECKO", "short")
    for path in (
        "/",
        "/councils/tea",
        "/councils/tea/at",
        "/councils/tea/at/2",
        "/councils/tea/at/3",
    ):
        html = told.page(path)
        assert "-OF-OWL" not in html and "-OF-GECKO" not in html, path
    html = told.page()
    assert words(html).count("has answered; sealed until the round closes") == 2
    sealed = re.findall(r'<p class="turn sealed">.*?</p>', html)
    assert len({one.replace("Strix", "").replace("Lacerta", "") for one in sealed}) == 1
    told.say("nova", "Open it.", "Now.")
    html = told.page()
    assert "POSITION-OF-OWL" in html and "POSITION-OF-GECKO" in html


@pytest.mark.req("DL-100")
def test_an_anonymous_council_shows_pseudonyms_on_each_page_until_it_is_over(
    served: Served,
) -> None:
    told = Debating(served, "--anonymous", "--max-rounds", "1")
    for agent in ("owl", "gecko", "nova"):
        peers = told.json("context", "--as", agent, "--name", "tea", "--json")["turns"]
        stances = [f"--stance={one['agent']}=agree:yes" for one in peers]
        name = NAMES[agent]
        told.say(agent, f"{name} says yes.", f"I, {name}, am {agent}.", *stances)
    told.council("inject", "--name", "tea", "Mind the costs.")
    last = told.json("history", "tea", "--json")[-1]["rev"]
    paths = [
        "/councils/tea",
        "/councils/tea/at",
        *(f"/councils/tea/at/{n}" for n in range(1, last)),
    ]
    for path in paths:
        html = told.page(path)
        body = html[html.index("<main") :]
        for one in (*NAMES, *NAMES.values()):
            assert not re.search(rf"\b{one}\b", body), (path, one)
    assert "member-1" in told.page() and "member-3" in told.page()
    told.council("archive", "tea")
    over = words(told.page("/councils/tea"))
    assert "Strix says yes." in over and "member-" not in over


def test_one_who_takes_part_in_an_anonymous_council_gets_its_form_by_its_name(
    served: Served,
) -> None:
    told = Debating(served, "--anonymous")
    told.say("owl", "Yes.", "Because.")
    html = told.page()
    assert "answer-gecko" not in html
    assert "at work for" not in words(card(html, "agents"))  # they answer by hand
    html = told.page("/councils/tea?as=gecko")
    shown = told.json("context", "--as", "gecko", "--name", "tea", "--json")
    (turn,) = shown["turns"]
    assert f'name="stance.{turn["agent"]}"' in html
    fields = {"as": "gecko", "position": "Yes.", "confidence": "3", "rev": told.rev()}
    done = told.submit("/do/respond", **{**fields, f"stance.{turn['agent']}": "agree"})
    assert done.status == 303, done
    session = told.json("show", "tea", "--json")["contributions"]
    assert session[-1]["responses"] == [{"agentId": "owl", "stance": "agree", "comment": ""}]


@pytest.mark.req("DL-075")
def test_guidance_is_put_in_from_the_page_and_who_acknowledged_it_is_shown(served: Served) -> None:
    told = Debating(served)
    done = told.submit("/do/inject", message="Mind the costs.", to="owl", rev=told.rev())
    assert done.status == 303
    assert done.headers["location"].startswith("/councils/tea")
    (given,) = told.json("show", "tea", "--json")["guidance"]
    assert (given["text"], given["target"]) == ("Mind the costs.", "owl")
    shown = words(told.page(done.headers["location"]))
    assert "Your guidance is added" in shown
    assert "Mind the costs." in shown and "not yet by Lacerta, Stella, Strix" in shown
    told.say("owl", "Yes.", "Cheap.", "--stance", "human=agree:I do")
    assert "acknowledged by Strix" in words(told.page())
    assert "Your guidance is added" not in told.page()


@pytest.mark.req("DL-100")
def test_what_is_refused_in_an_anonymous_council_tells_no_names(served: Served) -> None:
    told = Debating(served, "--anonymous")
    before = told.rev()
    told.say("owl", "Strix buys it.", "I, owl, said so.")
    refused = told.submit("/do/inject", message="Typed.", rev=before, form="inject")
    assert refused.status == 412 and "Typed." in refused.text
    assert not re.search(r"\b(owl|Strix|Lacerta|Stella)\b", refused.text)


@pytest.mark.req("OP-008")
def test_words_for_an_earlier_revision_are_not_lost_and_the_change_is_shown(served: Served) -> None:
    told = Debating(served)
    before = told.rev()
    told.say("owl", "Buy a kettle.", "The queue.")
    refused = told.submit("/do/inject", message="Typed long ago.", rev=before, form="inject")
    assert refused.status == 412
    assert "Typed long ago." in refused.text
    assert "Buy a kettle." in words(refused.text)
    again = re.search(r'id="inject".*?name="rev" value="(\d+)"', refused.text, re.S)
    assert again is not None and again[1] == told.rev()
    assert told.json("show", "tea", "--json")["guidance"] == []
    done = told.submit("/do/inject", message="Typed long ago.", rev=again[1], form="inject")
    assert done.status == 303


def test_a_person_sees_what_would_be_understood_and_then_answers(served: Served) -> None:
    told = Debating(served, "--people", "owl,gecko,nova")
    told.say("owl", "Buy a kettle.", "The queue.")
    fields = {
        "as": "gecko",
        "form": "answer-gecko",
        "position": "Buy two.",
        "stance.owl": "partial",
        "confidence": "2",
        "text": "One breaks.\nThe other does not.",
    }
    tried = told.submit("/do/respond", **fields, show="check")
    assert tried.status == 200
    shown = words(tried.text)
    assert "This would be understood; nothing is recorded yet." in shown
    assert "≈ partly agrees owl" in shown
    for typed in ("Buy two.", "One breaks.\nThe other does not.", '<option value="2" selected>'):
        assert typed in tried.text
    assert len(told.json("show", "tea", "--json")["contributions"]) == 1
    assert told.submit("/do/respond", **fields).status == 303
    said = told.json("show", "tea", "--json")["contributions"][-1]
    assert (said["agent"], said["position"], said["confidence"]) == ("gecko", "Buy two.", 2)
    assert said["responses"][0]["stance"] == "partial"


def test_what_was_typed_into_a_refused_answer_stands_in_its_form(served: Served) -> None:
    told = Debating(served)
    refused = told.submit(
        "/do/respond", **{"as": "gecko", "form": "answer-gecko", "text": "Out of turn, yes."}
    )
    assert refused.status >= 400
    assert "Out of turn, yes." in refused.text


def test_a_council_is_paused_extended_stopped_and_cancelled_from_its_page(served: Served) -> None:
    told = Debating(served)

    def state() -> Any:
        return told.json("status", "tea", "--json")["conversations"][0]

    until = state()["timeoutAt"]
    assert told.submit("/do/extend", duration="1h", rev=told.rev()).status == 303
    assert state()["timeoutAt"] > until
    assert told.submit("/do/pause", rev=told.rev()).status == 303
    assert state()["paused"]
    assert "Go on" in words(told.page()) and "paused" in words(told.page())
    assert told.submit("/do/resume", rev=told.rev()).status == 303
    assert told.submit("/do/stop", rev=told.rev()).status == 303
    assert state()["currentPhase"] != "DELIBERATE"
    asked = told.page("/ask/cancel?name=tea&from=/councils/tea")
    assert "Cancel this council?" in words(asked)
    assert state()["name"] == "tea"
    done = told.submit("/do/cancel", then="/councils/{conversationId}")
    assert done.status == 303
    shown = words(told.page(done.headers["location"]))
    assert "cancelled" in shown and "End the rounds" not in shown
    assert told.json("status", "--json")["conversations"] == []


@pytest.mark.req("DL-104")
def test_what_if_on_the_page_is_what_if_of_the_command_line(served: Served) -> None:
    told = Debating(served, "--threshold", "2", "--max-rounds", "1")
    told.say("owl", "Yes.", "a")
    told.say("gecko", "Yes.", "b", "--stance", "owl=agree")
    told.say("nova", "No.", "c", "--stance", "owl=disagree", "--stance", "gecko=agree")
    for query, options in (
        ("without.nova=1", ["--without", "nova"]),
        ("threshold=3", ["--threshold", "3"]),
        ("flips=1&without.owl=1", ["--without-flips", "--without", "owl"]),
        ("blind=1", ["--blind"]),
    ):
        found = told.json("what-if", "tea", *options, "--json")
        shown = words(card(told.page(f"/councils/tea?{query}"), "what-if"))
        changed = found["changed"]
        assert (
            f"{changed['agree']} of {len(changed['towards'])} agree; {changed['threshold']} are"
            in shown
        )
        assert ("another verdict" in shown) == found["differs"]
        kind = "no" if changed["type"] == "none" else changed["type"]
        assert f"{kind} consensus" in shown
    assert "exclude each other" in words(told.page("/councils/tea?blind=1&flips=1"))


@pytest.mark.req("XC-012")
def test_a_page_is_in_the_language_of_its_reader(served: Served) -> None:
    told = Debating(served)
    told.say("owl", "Oui.", "a")
    french = told.page(lang="fr-FR,fr;q=0.9")
    assert '<html lang="fr">' in french
    for one in ("Qui participe", "Ce qui s’est dit", "confiance 4 sur 5", "attend"):
        assert one in words(french)


# --- Of the reading itself, in this process


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return open_place(str(tmp_path_factory.mktemp("place")), "", {})


def of(place: Place, debate: Debate, **given: Any) -> dict[str, Any]:
    """Return what the page shows of a conversation that is over, or as it stood."""
    found = Recalled(state=debate.state, path="conseils/x.md", archived=False)
    return page_of(place, found, {"at": 1, "lang": "en", **given})


@pytest.mark.req("DL-074", "DG-137")
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_the_meter_of_a_page_equals_show_consensus(place: Place, seed: int) -> None:
    meter_equals(place, seed)


@pytest.mark.long
@pytest.mark.req("DL-074", "DG-137")
def test_the_meter_of_a_page_equals_show_consensus_of_two_hundred_councils(place: Place) -> None:
    for seed in range(200):
        meter_equals(place, seed)


def meter_equals(place: Place, seed: int) -> None:
    debate = random_debate(seed)
    page, stands = of(place, debate), standing(debate.state).to_record()
    assert page["verdict"] == stands
    counted = re.findall(r'class="count (\w+)" data-count="(\d+)"', page["pictures"]["meter"])
    kinds = ("agree", "partial", "disagree", "absent", "threshold")
    assert dict(counted) == {kind: str(stands[kind]) for kind in kinds}


@pytest.mark.req("DL-074", "DL-100")
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_pseudonyms_change_no_number_of_a_verdict_and_name_no_one(place: Place, seed: int) -> None:
    debate = random_debate(seed)
    state = debate.state
    state.finished_at = None
    state.rules = (state.rules or Rules()).copy(anonymous=True)
    real, page = standing(state).to_record(), of(place, debate)
    for key in ("type", "reached", "agree", "partial", "disagree", "absent", "threshold"):
        assert page["verdict"][key] == real[key], key
    told = repr({key: one for key, one in page.items() if key not in ("topic", "brief")})
    for one in state.participants.values():
        assert not re.search(rf"\b({one.id}|{one.name}|model-of-{one.id})\b", told)
    listed = [one["id"] for one in page["agents"]]
    assert listed == sorted(listed) and listed[0] == "member-1"
    assert not set(state.participants) & set(as_shown(state, "").participants)


@pytest.mark.req("DL-097", "DL-098", "DL-102")
def test_a_page_shows_both_tallies_each_change_of_mind_and_confidence(place: Place) -> None:
    debate = Debate("ann", "bob", "cid", sealed=True, rules=Rules(max_rounds=3, stability=False))
    for agent in ("ann", "bob", "cid"):
        debate.turn(agent, f"{agent} alone.", 2)
    debate.turn("bob", "Together.", 3, ann="disagree", cid="agree")
    debate.turn("cid", "Together.", 4, ann="disagree", bob="agree")
    debate.turn("ann", "Together.", 5, "I was wrong.", bob="agree", cid="agree")
    pictures = of(place, debate)["pictures"]
    tallies = words(pictures["tallies"])
    for one in ("Blind first round", "ann alone.", "bob alone.", "cid alone.", "Together."):
        assert one in tallies
    assert "changed" in words(pictures["flow"])
    assert {"2", "3", "4", "5"} <= set(words(pictures["confidence"]).split())


def test_a_long_council_shows_its_newest_turns_and_leads_to_the_others(place: Place) -> None:
    debate = long_debate(agents=4, rounds=30)
    page = of(place, debate)
    shown = [one["tour"] for one in page["rounds"] if one["entries"] is not None]
    assert sum(len(one["entries"]) for one in page["rounds"] if one["entries"]) <= MOST_TURNS
    assert shown == list(range(shown[0], page["rounds"][-1]["tour"] + 1))
    assert 3 not in shown
    asked = of(place, debate, round="3")["rounds"]
    assert len(next(one for one in asked if one["tour"] == 3)["entries"]) == 4
    assert all(one["spoke"] for one in page["rounds"][:-1])


def long_debate(agents: int, rounds: int) -> Debate:
    """Return a deliberation in which nobody changes a position, and all speak in each round."""
    names = [f"agent{number}" for number in range(agents)]
    rules = Rules(max_rounds=rounds, stability=False, alike=1.0)
    debate = Debate(*names, rules=rules)
    while debate.state.phase == "DELIBERATE":
        (agent,) = due_agents(debate.state)
        tour = debate.state.tour
        spoke = [one.agent for one in debate.state.entries if one.tour == tour]
        stances: dict[str, Any] = dict.fromkeys(spoke, "disagree" if tour % 2 else "partial")
        debate.turn(agent, f"{agent} in {tour}.", 3, f"Because {agent} {tour}.", **stances)
    return debate


@pytest.mark.req("SC-004")
def test_hostile_texts_in_every_field_make_no_tag_of_theirs(served: Served) -> None:
    told = Debating(served, "--brief", "<script>alert(1)</script>\n\n" + hostile_texts()[0])
    hostile = [one.replace("\0", "") for one in hostile_texts() if one.isprintable()][::12]
    done = told.council(
        "respond", "--name", "tea", "--as", "owl", "--position", "x", "-",
        stdin="\n\n".join(hostile).encode("utf-8", "replace"),
    )  # fmt: skip
    assert done.code == 0, done.err
    told.council("inject", "--name", "tea", "<img src=x onerror=alert(1)> " + hostile[0])
    for path in ("/councils/tea", "/councils/tea/at"):
        html = told.page(path)
        assert re.findall(r"<script[^>]*>", html) == ['<script src="/static/live.js" defer>']
        tags = re.findall(r"<[a-z][^<>]*>", html)
        assert not [one for one in tags if re.search(r"\son\w+\s*=|\sstyle\s*=|javascript:", one)]
        assert not [one for one in tags if re.match(r"<(img|iframe|object|embed|base)\b", one)]


@pytest.mark.long
def test_a_thousand_turns_are_shown_as_fast_as_ten(served: Served) -> None:
    told = Debating(served)
    sizes = {"ten": 2, "thousand": 200}
    for name, rounds in sizes.items():
        state = long_debate(agents=5, rounds=rounds).state
        state.name, state.conversation_id = name, f"1f0e7c1a-5e0e-4c1e-9a44-3f0d3c6a{rounds:04}"
        state.timeout_at += timedelta(days=9000)
        path = Path(Workspace(str(told.council.root)).conversation_file(name))
        path.write_text(statefile.render(state))
        assert told.council("pause", name).code == 0
    rounds_of_both = [{name: timed(told, name) for name in sizes} for _ in range(12)]
    took = {name: min(one[name] for one in rounds_of_both) for name in sizes}
    assert took["thousand"] <= 2 * took["ten"], took


def timed(told: Debating, name: str) -> float:
    began = time.perf_counter()
    told.page(f"/councils/{name}")
    return time.perf_counter() - began
