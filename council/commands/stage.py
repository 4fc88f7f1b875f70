"""What `ask`, `convene --run` and the demo show: who is thinking, what was said, the verdict.

A stage is given states of one conversation and prints what is new in each: in
colour and with a line that lives on a terminal, plain lines otherwise.

Source: C0-082, OP-003, OP-004, `cli.md` sections 1 and 2 (`ask`, `convene --run`, `demo`).
"""

from __future__ import annotations

import shlex
import sys
from datetime import datetime, timedelta
from typing import Any

from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.text import Text

from council.commands.drawing import markdown_text
from council.commands.leaving import Leaving, left, say_last
from council.commands.output import Output
from council.commands.screens import PlainConsole
from council.core.conversations.account import TIMEOUT, display_label, display_name, one_line
from council.core.conversations.activity import (
    CAPPED,
    HALTED,
    IN_TROUBLE,
    KEPT_BACK,
    PAUSED,
    RESTING,
    Activity,
)
from council.core.conversations.conversation import Conversation, Entry, EntryKind, has_answered
from council.core.conversations.due import due_agents
from council.core.conversations.procedures import SYNTHESIZE
from council.core.conversations.quotations import MISSING, Checker, Quotation
from council.core.deliberation.deliberation import form_of, turn_of
from council.core.plain_text import excerpt, first_paragraph, plain_line
from council.core.reading import LANGUAGES
from council.core.reasons import Reason
from council.operations.activity import Activities, activity_words
from council.operations.conversations.follow import Ended, follow, minutes_of
from council.operations.place import Place
from council.operations.reporting.explain_words import say
from council.store.reason_words import reason_words
from council.store.texts import texts, words_of

_EXCERPT_CHARS = 220
_QUOTED_CHARS = 100
_MOST_QUOTED = 3
_ASCRIBED_CHARS = 70  # such as a name, marks and "said"
_INDENT = 5


class Stage:
    """Shows one conversation as it goes on; with `quiet` it only keeps count.

    Args:
        quiet: Print nothing.
        beside: Print to standard error, which leaves standard output to the verdict.
    """

    def __init__(self, *, quiet: bool, beside: bool = False) -> None:
        self.is_watched = (sys.stderr if beside else sys.stdout).isatty() and not quiet
        self.phases: list[dict[str, Any]] = []
        self._console = PlainConsole(
            quiet=quiet, highlight=False, soft_wrap=not self.is_watched, stderr=beside
        )
        # No refresh thread: `ask` forks, and a fork must not copy a held lock.
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._spinner = Spinner("dots")
        self.words = words_of("en", "minutes", "deliberation", "ask")
        self._told: set[str] = set()

    def __enter__(self) -> Stage:
        if self.is_watched:
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self.is_watched:
            self._live.update("", refresh=True)
            self._live.stop()

    def speak(self, lang: str) -> None:
        """Choose the language."""
        self.words = words_of(lang, "minutes", "deliberation", "ask")

    def note(self, line: str, *, whole: bool = True) -> None:
        """Show a line, `whole` in one piece, so that it can be copied."""
        self._console.print(Text(plain_line(line)), soft_wrap=whole or not self.is_watched)

    def tick(self, state: Conversation, doing: dict[str, Activity], now: datetime) -> None:
        """Let the line that lives say what each does whose answer is due, and until when at most.

        What keeps runs from being started, and why a run failed, is also said in a line of its
        own, once.
        """
        asked = [doing[agent] for agent in due_agents(state) if agent in doing]
        for one in asked:
            kept = one.code in KEPT_BACK and one.code != PAUSED
            if kept and self.is_news(f"{state.tour}/{one.code}/{one.reason}"):
                self._show_kept_back(state, one.code, asked)
            if one.code in IN_TROUBLE and self.is_news(f"{one.code} {one.task}"):
                trouble = plain_line(self._words_of(state, [one]))
                self._console.print(Text.assemble(("  ! ", "yellow"), trouble))
        if not self.is_watched:
            return
        since = state.rounds[-1].turn_at or state.rounds[-1].started_at
        clock = f"{_clock(now - since)}/{_clock(state.timeout_at - since)}"
        line = Text.assemble((clock, "dim"), f" {self._words_of(state, asked)}")
        line.no_wrap, line.overflow = True, "ellipsis"
        self._spinner.update(text=line)
        self._live.update(self._spinner, refresh=True)

    def command(self, *words: str) -> None:
        """Show a command as it could be typed."""
        lines = [Text.assemble(("$ ", "green"), (words[0], "bold"))]
        at = 2 + len(words[0])
        for word in words[1:]:
            shown = shlex.quote(word) if any(sign in word for sign in "'\"$`\\") else word
            shown = f'"{word}"' if shown == word and (" " in word or not word) else shown
            if word.startswith("--") and at + len(shown) > 50:
                lines[-1].append(" \\")
                lines.append(Text("   "))
                at = 3
            lines[-1].append(f" {shown}")
            at += len(shown) + 1
        for line in lines:
            self._console.print(line, soft_wrap=True)

    def said(self, output: str) -> None:
        """Show what a command printed."""
        for line in output.strip().splitlines():
            self._console.print(Text(f"  {line}", style="dim"))

    def show(self, state: Conversation) -> None:
        """Show what is new in `state`; rounds that went by between two reads, too."""
        quotations = Checker(state)
        for played in state.rounds:
            if played.tour > len(self.phases):
                self._open_phase(played.phase, played.tour)
            phase = self.phases[played.tour - 1]
            if played.tour == state.tour:
                self._show_sealed(state, phase)
            for entry in state.entries:
                if entry.tour != played.tour or entry.kind is not EntryKind.CONTRIBUTION:
                    continue
                phase["answers"][entry.agent] = entry.status or "RESPONDED"
                if self.is_news(f"text {entry.id}"):
                    if not self._show_answer(state, entry.agent, played.tour, entry.status):
                        label = display_label(state, entry.agent)
                        self._console.print(Text(f"   {label}", style="bold"))
                    self._show_entry(state, entry, quotations)
            if played.phase != SYNTHESIZE:
                for agent, reason in played.absent.items():
                    self._show_absent(state, agent, played.tour, reason)

    def _open_phase(self, phase: str, tour: int) -> None:
        self.phases.append({"phase": phase, "tour": tour, "answers": {}})
        about = self.words.get(phase, "")
        if tour > 1 or not self._console.stderr:
            self._console.print()
        self._console.print(
            Text.assemble(
                (phase, "bold cyan"),
                f"  {self.words['round']} {tour}",
                (f" · {about}", "dim"),
            )
        )

    def _show_sealed(self, state: Conversation, phase: dict[str, Any]) -> None:
        for one in state.participants.values():
            if one.sealed and has_answered(one):
                phase["answers"][one.id] = str(one.status)
                self._show_answer(state, one.id, state.tour, "sealed")

    def _show_answer(self, state: Conversation, agent: str, tour: int, how: str) -> bool:
        if not self.is_news(f"{tour}/{agent}"):
            return False
        said = self.words[f"answered.{how.lower() or 'responded'}"]
        label = display_label(state, agent)
        self._console.print(Text.assemble(("  ✓ ", "green"), (f"{label} ", "bold"), said))
        return True

    def _show_absent(self, state: Conversation, agent: str, tour: int, reason: Reason) -> None:
        if self.is_news(f"absent {tour}/{agent}"):
            why = plain_line(one_line(reason_words(reason, state.lang)))
            why = self.words["timeout"] if reason.code == TIMEOUT else why
            said = f"{self.words['absent']} ({excerpt(why, _QUOTED_CHARS)})"
            label = display_label(state, agent)
            self._console.print(Text.assemble(("  ✗ ", "red"), (f"{label} ", "bold"), said))

    def _show_entry(self, state: Conversation, entry: Entry, quotations: Checker) -> None:
        checked = quotations.in_entry(entry)
        # What was never said is what a reader must see.
        checked.sort(key=lambda one: one.found != MISSING)
        for quotation in checked[:_MOST_QUOTED]:
            missing = quotation.found == MISSING
            mark = self.words["missing" if missing else "found"]
            said = self.words["quoted"].format(excerpt(one_line(quotation.text), _QUOTED_CHARS))
            line = f"@{quotation.of} {said}" if quotation.of else said
            self._print_inside(
                Text.assemble((line, "italic"), (f" {mark}", "red" if missing else "green"))
            )
        if form_of(state, entry.phase) == "text":
            self._print_inside(Text(excerpt(_own_words(entry.text, checked), _EXCERPT_CHARS)))
        else:
            self._show_turn(state, entry)
        for issue in entry.blocking:
            self._print_inside(Text(f"BLOCKING: {plain_line(issue)}", style="bold red"))

    def _show_turn(self, state: Conversation, entry: Entry) -> None:
        turn = turn_of(state, entry)
        said = turn.position or first_paragraph(entry.text)
        self._print_inside(Text(excerpt(plain_line(said), _EXCERPT_CHARS)))
        for one in turn.responses:
            if not one.stance:
                continue
            who = display_name(state, one.agent)
            line = Text(self.words[f"stance.{one.stance}"].format(who=who), style="italic")
            if one.comment:
                line.append(
                    f": {excerpt(plain_line(one.comment), _QUOTED_CHARS)}", style="not italic"
                )
            self._print_inside(line)

    def _print_inside(self, text: Text) -> None:
        if self.is_watched:
            self._console.print(Padding(text, (0, 0, 0, _INDENT)))
        else:
            self._console.print(Text(" " * _INDENT).append_text(text))

    def _words_of(self, state: Conversation, asked: list[Activity]) -> str:
        """Return what each does, those who do the same together."""
        alike: dict[str, list[str]] = {}
        for one in asked:
            words = activity_words(one, state.lang)
            alike.setdefault(words, []).append(display_name(state, one.agent))
        return " · ".join(f"{', '.join(who)}: {words}" for words, who in alike.items())

    def _show_kept_back(self, state: Conversation, code: str, asked: list[Activity]) -> None:
        """Show why no run of some is started, and what to do about it."""
        alike = [one for one in asked if one.code == code]
        line = self._words_of(state, alike)
        self._console.print(Text.assemble(("  ! ", "yellow"), plain_line(line)))
        self._console.print(Text(f"    → {say(_FIXES[code], state.lang, _values(alike[0]))}"))

    def is_news(self, fact: str) -> bool:
        """Return true the first time it is asked about a fact."""
        if fact in self._told:
            return False
        self._told.add(fact)
        return True


# The way out of what keeps a run back: that of the cause which `status` names.
_FIXES = {HALTED: "fix-halted", CAPPED: "fix-cap", RESTING: "fix-rests"}


def _values(one: Activity) -> dict[str, Any]:
    return {"agent": one.agent, "reason": one.reason, **one.reason.values}


def _own_words(text: str, quoted: list[Quotation]) -> str:
    """Return the first paragraph in which the author says more than what is shown as quoted."""
    said = first_paragraph(text)
    if any(one.text in said and len(said) - len(one.text) <= _ASCRIBED_CHARS for one in quoted):
        said = first_paragraph(text[text.find(said) + len(said) :]) or said
    return plain_line(said)


def _clock(span: timedelta) -> str:
    minutes, seconds = divmod(max(int(span.total_seconds()), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def verdict(minutes: str, path: str, lang: str) -> str:
    """Return the head of the minutes: title, decision, dissent, next step, and where they lie."""
    words = words_of(lang, "ask")
    body = minutes.split("\n---\n", 1)[-1]
    blocks = body.split("\n## ")
    title = next((line for line in blocks[0].splitlines() if line.startswith("# ")), "")
    chosen = [title]
    for wanted in words["parts"].split(", "):
        chosen += [f"## {one.strip()}" for one in blocks[1:] if one.startswith(wanted)][:1]
    shown = markdown_text("\n\n".join(chosen)).rstrip()
    return f"\n{shown}\n\n{words['minutes']}\n{path}\n"


def watch_to_the_end(
    place: Place, state: Conversation, leaving: Leaving, *, quiet: bool, first: str = ""
) -> Output:
    """Show what is said until the minutes are written, then the verdict.

    Progress goes to standard error, so that standard output holds the verdict alone. Whoever
    leaves before the end pauses the conversation.

    Args:
        place: The workspace.
        state: The conversation.
        leaving: Knows whether the user has asked to leave; it was entered before this began.
        quiet: Show nothing but the end.
        first: What is shown before anything else, "" for nothing.
    """
    stage = Stage(quiet=quiet, beside=True)
    lang = state.lang if state.lang in LANGUAGES else "en"
    stage.speak(lang)
    try:
        with stage:
            _show_to_the_end(place, state, stage, leaving, first)
    except KeyboardInterrupt:
        pass  # it was asked twice
    except OSError as error:
        leaving.note_failed_output(error)
    line, is_paused = "", False
    if leaving.number:
        line, is_paused = left(place, state, leaving, words_of(lang, "ask"))
    if line:
        say_last(line)
        record = {**state.as_json("name conversation_id"), "paused": is_paused, "message": line}
        return Output(record=record, code=leaving.code)
    ended = minutes_of(place, state.conversation_id)
    first = first_minute(ended, decision_last=sys.stdout.isatty())
    text = f"{markdown_text(first).rstrip()}\n\n{ended.line}"
    return Output(record=_record(state, ended), text=text, code=ended.code)


def _show_to_the_end(
    place: Place, state: Conversation, stage: Stage, leaving: Leaving, first: str
) -> None:
    """Show what is said until the conversation is over, or the user has asked to leave."""
    words = stage.words
    for line in first.splitlines():
        stage.note(line, whole=False)
    shown_rev, leaving.patience = -1, 1
    for seen in follow(place, state.name, state.conversation_id) if not leaving.number else ():
        if seen.rev != shown_rev:
            shown_rev = seen.rev
            stage.show(seen)
            if seen.paused_at is not None and stage.is_news(f"paused {seen.paused_at}"):
                stage.note(words["still-paused"].format(name=seen.name))
            by_hand = [one for one in _by_hand(seen) if stage.is_news(f"asked {seen.tour}/{one}")]
            if by_hand:
                key = "answer" if len(by_hand) > 1 else "answers"
                command = f'council respond --as {by_hand[0]} --name {seen.name} "…"'
                stage.note(words[key].format(who=", ".join(by_hand), command=command))
        stage.tick(seen, Activities(place).of(seen), place.now())
        if leaving.number:
            return
    if not leaving.number:
        stage.show(minutes_of(place, state.conversation_id).state)  # said since the last read


def _by_hand(state: Conversation) -> list[str]:
    """Return who was handed a prompt and answers it by hand."""
    tasks = state.tasks.values()
    return [one.agent for one in tasks if one.state == "R" and one.driver == "manual"]


def first_minute(ended: Ended, *, decision_last: bool) -> str:
    """Return the first minute of the minutes.

    Args:
        ended: A conversation that is over.
        decision_last: Put decision and verdict at the end, which is what a terminal of 24 rows
            shows; otherwise it is a document, its title first.
    """
    body = ended.text
    if body.startswith("---"):
        body = body.split("\n---", 1)[-1].split("\n", 1)[-1]
    body = "\n".join(line for line in body.splitlines() if not line.startswith("<!--council:"))
    head, *sections = body.split("\n## ")
    titles = tuple(f"{title}\n" for title in texts("minutes")["glance"])
    last = next((at for at, one in enumerate(sections) if one.startswith(titles)), len(sections))
    decided, *others = [f"## {one.strip()}" for one in sections[: last + 1]] or [""]
    title, _, said = head.strip().partition("\n")
    if not decision_last:
        return "\n\n".join([title, said.strip(), *others, decided])
    return "\n\n".join([*others, decided, title, said])


def _record(state: Conversation, ended: Ended) -> dict[str, Any]:
    told = ended.as_json("path:minutes front:verdict line")
    return {**state.as_json("name conversation_id"), **told}
