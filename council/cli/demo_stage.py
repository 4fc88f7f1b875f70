"""What the demo shows: the commands, who is thinking, who answered, what was said.

It is told states of one conversation and prints what is new in each: in
colour and with a line that lives on a terminal, plain lines otherwise.

Source: C0-082, `cli.md` sections 1 and 2 (`demo`).
"""

from __future__ import annotations

import shlex
import sys
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.status import Status
from rich.text import Text

from council.cli.views import as_text, markdown_view
from council.core.conversations.conversation import Conversation, Entry, EntryKind, has_answered
from council.core.conversations.procedures import SYNTHESIZE
from council.core.conversations.quotations import MISSING, check_quotations
from council.core.excerpts import excerpt, first_paragraph

_EXCERPT_CHARS = 220
_QUOTED_CHARS = 100
_INDENT = 5

_WORDS = {
    "en": {
        "COLLECT": "each gives its position and sees nobody else's",
        "CHALLENGE": "they read each other and object, with exact quotations",
        "RESOLVE": "they answer the objections; who is convinced agrees",
        "SYNTHESIZE": "the coordinator writes what was decided and what was not",
        "round": "round",
        "thinking": "thinking",
        "sealed": "answered, sealed until all have",
        "responded": "answered",
        "agreed": "answered, and agrees",
        "done": "answered for the last time",
        "writing": "writes the synthesis",
        "missing": "✗ was never said",
        "found": "✓",
        "parts": ("Decision", "Dissent", "Next step"),
        "minutes": "The minutes:",
        "quoted": "“{}”",
    },
    "fr": {
        "COLLECT": "chacun donne sa position sans voir celle des autres",
        "CHALLENGE": "ils se lisent et objectent, citations exactes à l'appui",
        "RESOLVE": "ils répondent aux objections ; qui est convaincu est d'accord",
        "SYNTHESIZE": "la coordination dit ce qui est décidé et ce qui reste",
        "round": "tour",
        "thinking": "en réflexion",
        "sealed": "a répondu, sous scellé jusqu'à la fin de la phase",
        "responded": "a répondu",
        "agreed": "a répondu, et donne son accord",
        "done": "a répondu pour la dernière fois",
        "writing": "écrit la synthèse",
        "missing": "✗ n'a jamais été dit",
        "found": "✓",
        "parts": ("Décision", "Désaccord", "Prochaine étape"),
        "minutes": "Le compte rendu :",
        "quoted": "« {} »",
    },
}


class Stage:
    """Shows one conversation as it goes on; with `quiet` it only keeps count."""

    def __init__(self, *, quiet: bool) -> None:
        self.is_watched = sys.stdout.isatty() and not quiet
        self.phases: list[dict[str, Any]] = []
        self._console = Console(quiet=quiet, highlight=False, soft_wrap=not sys.stdout.isatty())
        self._status: Status | None = None
        self._words: dict[str, Any] = _WORDS["en"]
        self._told: set[str] = set()

    def __enter__(self) -> Stage:
        if self.is_watched:
            self._status = self._console.status("")
            self._status.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._status is not None:
            self._status.stop()

    def speak(self, lang: str) -> None:
        """Choose the language."""
        self._words = _WORDS[lang]

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
        """Show what is new in `state`; rounds that went by between two looks, too."""
        for played in state.rounds:
            if played.tour > len(self.phases):
                self._open_phase(played.phase, played.tour)
            phase = self.phases[played.tour - 1]
            spoken = [
                one
                for one in state.entries
                if one.tour == played.tour and one.kind is EntryKind.CONTRIBUTION
            ]
            for entry in spoken:
                phase["answers"][entry.agent] = entry.status or "RESPONDED"
                self._show_answer(state, entry.agent, played.tour, entry.status)
            if played.tour == state.tour:
                self._show_sealed(state, phase)
            elif self._is_news(f"closed {played.tour}"):
                for entry in spoken:
                    self._show_entry(state, entry)
        if self._status is not None:
            self._status.update(self._thinking(state))

    def _open_phase(self, phase: str, tour: int) -> None:
        self.phases.append({"phase": phase, "tour": tour, "answers": {}})
        about = self._words.get(phase, "")
        self._console.print()
        self._console.print(
            Text.assemble(
                (phase, "bold cyan"),
                f"  {self._words['round']} {tour}",
                (f" · {about}", "dim"),
            )
        )

    def _show_sealed(self, state: Conversation, phase: dict[str, Any]) -> None:
        for one in state.participants.values():
            if one.sealed and has_answered(one):
                phase["answers"][one.id] = str(one.status)
                self._show_answer(state, one.id, state.tour, "sealed")

    def _show_answer(self, state: Conversation, agent: str, tour: int, how: str) -> None:
        if not self._is_news(f"{tour}/{agent}"):
            return
        said = self._words[how.lower() or "responded"]
        label = state.participants[agent].label
        self._console.print(Text.assemble(("  ✓ ", "green"), (f"{label} ", "bold"), said))

    def _show_entry(self, state: Conversation, entry: Entry) -> None:
        label = state.participants[entry.agent].label
        self._console.print(Text(f"   {label}", style="bold"))
        before = [(one.agent, one.text) for one in state.entries if one.tour < entry.tour]
        prose = first_paragraph(entry.text)
        answered = entry.text[: entry.text.find(prose)]
        for quotation in check_quotations(answered, before)[-1:]:
            missing = quotation.found == MISSING
            mark = self._words["missing" if missing else "found"]
            said = self._words["quoted"].format(excerpt(quotation.text, _QUOTED_CHARS))
            line = f"@{quotation.of} {said}"
            self._print_inside(
                Text.assemble((line, "italic"), (f" {mark}", "red" if missing else "green"))
            )
        self._print_inside(Text(excerpt(prose, _EXCERPT_CHARS)))
        for issue in entry.blocking:
            self._print_inside(Text(f"BLOCKING: {issue}", style="bold red"))

    def _print_inside(self, text: Text) -> None:
        if self.is_watched:
            self._console.print(Padding(text, (0, 0, 0, _INDENT)))
        else:
            self._console.print(Text(" " * _INDENT).append_text(text))

    def _thinking(self, state: Conversation) -> Text:
        if state.phase == SYNTHESIZE:
            return Text(f"{state.synthesizer or state.coordinator} {self._words['writing']}")
        waiting = [one.label for one in state.participants.values() if not has_answered(one)]
        return Text(f"{', '.join(waiting)}: {self._words['thinking']}" if waiting else "")

    def _is_news(self, fact: str) -> bool:
        if fact in self._told:
            return False
        self._told.add(fact)
        return True


def verdict(minutes: str, path: str, lang: str) -> str:
    """Return the head of the minutes: title, decision, dissent, next step, and where they lie."""
    words = _WORDS[lang]
    body = minutes.split("\n---\n", 1)[-1]
    blocks = body.split("\n## ")
    title = next((line for line in blocks[0].splitlines() if line.startswith("# ")), "")
    chosen = [title]
    for wanted in words["parts"]:
        chosen += [f"## {one.strip()}" for one in blocks[1:] if one.startswith(wanted)][:1]
    shown = markdown_view("\n\n".join(chosen))
    return f"\n{as_text(shown).rstrip()}\n\n{words['minutes']}\n{path}\n"
