"""The experiments of `make bench-judgement`: each a table of what listening does to verdicts.

Source: `peers.md`, DL-022, DL-042, DL-095, DL-097, DL-098.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.conformity import (
    ANYONE,
    BELIEF,
    MAJORITY,
    REASONS,
    RIGHT,
    Setting,
    wrong_when_unanimous,
)
from benchmarks.judging import Share, judged_runs
from benchmarks.measuring import tell
from benchmarks.whole_machine import through_the_machine
from council.core.deliberation.consensus import NONE, STRONG, Verdict, verdict_of_counts
from council.core.deliberation.flips import POSITION, STANCE

MACHINE_PART = 200  # one run of so many goes through the whole machine

ALONE = Setting(agents=5, right=0.5)
THREE = Setting(agents=3, right=0.6)
FIVE = Setting(agents=5, right=0.6)


@dataclass(frozen=True)
class Table:
    """One table with what a reader must know to judge it."""

    title: str
    notes: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


def what_rounds_do(seed: int, runs: int) -> Table:
    """Measure accuracy and majority when the vote comes after 1 to 5 rounds."""
    after = (1, 2, 3, 4, 5)
    rows: list[tuple[str, ...]] = []
    for what, setting in (
        ("takes anyone's answer, conformity 0.05", replace(ALONE, hears=ANYONE, conformity=0.05)),
        ("takes anyone's answer, conformity 0.25", replace(ALONE, hears=ANYONE, conformity=0.25)),
        ("answers anew by its belief, prior 6", replace(ALONE, hears=BELIEF, prior=6.0)),
        ("takes the majority's, conformity 0.25", replace(ALONE, conformity=0.25)),
        ("is convinced by who is right, 0.25", replace(ALONE, hears=REASONS, conformity=0.25)),
    ):
        tell(f"rounds before the vote: {what}")
        accuracy = {number: Share() for number in after}
        majority = {number: Share() for number in after}
        for one in judged_runs(setting, seed, runs, after):
            accuracy[one.rounds].add(one.accuracy)
            majority[one.rounds].add(one.groups[0].position == RIGHT)
        for name, shares in (("mean accuracy", accuracy), ("majority", majority)):
            rows.append((what, name, *(f"{shares[number].value:.3f}" for number in after)))
    return Table(
        "An early vote",
        "Five agents, each right with 0.5 on its own, four options, a blind first round. How "
        "often an agent is right, and how often the most frequent answer of the vote is, when the "
        "vote comes after so many rounds. The blind tally is the first column.",
        ("what an agent does", "", *(f"round {number}" for number in after)),
        rows,
    )


def what_a_blind_round_does(seed: int, runs: int) -> Table:
    """Measure how many unanimous votes are wrong, after a blind and a visible first round."""
    rows: list[tuple[str, ...]] = []
    settings = [replace(THREE, conformity=c) for c in (0.0, 0.25, 0.5, 0.75)]
    settings += [replace(THREE, agents=number) for number in (5, 7)]
    for setting in settings:
        for blind in (True, False) if setting.conformity else (True,):
            tell(f"first round: {setting.agents} agents, {setting.conformity}, {_sight(blind)}")
            unanimous = {number: Share() for number in (1, 3)}
            wrong = {number: Share() for number in (1, 3)}
            for one in judged_runs(replace(setting, blind=blind), seed, runs, (1, 3)):
                unanimous[one.rounds].add(one.verdict.type == STRONG)
                if one.verdict.type == STRONG:
                    wrong[one.rounds].add(one.is_wrong)
            exact = wrong_when_unanimous(
                setting.right, setting.options, 0 if blind else setting.conformity
            )
            rows.append(
                (
                    str(setting.agents),
                    f"{setting.conformity:g}",
                    _sight(blind),
                    str(unanimous[1]),
                    f"{wrong[1]} ± {100 * wrong[1].error:.1f}" if wrong[1].cases else "–",
                    f"{100 * exact:.1f} %" if setting.agents == 3 else "",
                    str(unanimous[3]),
                    str(wrong[3]),
                )
            )
    return Table(
        "A blind first round",
        "Agents that are right with 0.6 on their own, four options; who gives way takes the "
        "answer of the majority of those it has heard. The vote comes after one round, or after "
        "two more in which all hear each other.",
        (
            "agents",
            "conformity",
            "first round",
            "unanimous after 1",
            "of these wrong",
            "exactly",
            "unanimous after 3",
            "of these wrong",
        ),
        rows,
    )


def what_is_flagged(seed: int, runs: int) -> Table:
    """Measure how often a change of mind is flagged, with and without good reason."""
    rows: list[tuple[str, ...]] = []
    for what, hears, conformity in (
        ("takes the majority's answer", MAJORITY, 0.0),
        ("takes the majority's answer", MAJORITY, 0.25),
        ("takes the majority's answer", MAJORITY, 0.5),
        ("takes the majority's answer", MAJORITY, 0.75),
        ("is convinced and names by whom", REASONS, 0.25),
        ("is convinced and names by whom", REASONS, 0.75),
    ):
        tell(f"flags: {what}, {conformity}")
        setting = replace(FIVE, hears=hears, conformity=conformity)
        uncited, collapsed, stances, stayed, left_out = (Share() for _ in range(5))
        wrong = {True: Share(), False: Share()}
        for one in judged_runs(setting, seed, runs, (3,)):
            moved = {(flip.tour, flip.agent) for flip in one.flips if flip.kind == POSITION}
            uncited.add(any(flip.kind == POSITION and flip.is_suspect for flip in one.flips))
            told = [flip for flip in one.flips if flip.kind == STANCE and not flip.reasoned]
            flagged = {(flip.tour, flip.agent) for flip in told if flip.is_suspect}
            stances.add(bool(flagged))
            stayed.add(bool(flagged - moved))
            left_out.add(any(flip.peer_moved for flip in told))
            collapsed.add(one.has_collapsed)
            if one.verdict.reached:
                wrong[one.has_collapsed].add(one.is_wrong)
        rows.append(
            (
                what,
                f"{conformity:g}",
                str(uncited),
                str(collapsed),
                str(wrong[True]),
                str(wrong[False]),
                str(stances),
                str(stayed),
                str(left_out),
            )
        )
    return Table(
        "What is flagged",
        "Five agents, right with 0.6 on their own, a blind first round and two more. In how many "
        "runs somebody is flagged for another position without a cited reason, in how many a "
        "collapse is, and how many consensuses are wrong in runs with and without one. The last "
        "columns are about stances that change without a comment: towards a peer that holds "
        "what it held, by anybody and by somebody who stays, both flagged; and towards a peer "
        "that has moved, which stands in the log and is not flagged.",
        (
            "what an agent does",
            "conformity",
            "uncited flip",
            "collapse",
            "wrong with collapse",
            "wrong without",
            "stance",
            "stance of who stays",
            "not flagged: peer moved",
        ),
        rows,
    )


def what_the_threshold_does(seed: int, runs: int) -> Table:
    """Measure how many consensuses there are, and how many are wrong, by the threshold."""
    rows: list[tuple[str, ...]] = []
    for agents, thresholds in ((5, (3, 4, 5)), (7, (4, 5, 6, 7))):
        for blind, rounds in ((True, 1), (True, 3), (False, 1)):
            setting = replace(FIVE, agents=agents, blind=blind)
            tell(f"threshold: {agents} agents, {_sight(blind)}, rounds: {rounds}")
            reached = {threshold: Share() for threshold in thresholds}
            wrong = {threshold: Share() for threshold in thresholds}
            default = 0
            for one in judged_runs(setting, seed, runs, (rounds,)):
                default = one.verdict.threshold
                for threshold in thresholds:
                    is_reached = _kind_under(one.verdict, threshold) != NONE
                    reached[threshold].add(is_reached)
                    if is_reached:
                        wrong[threshold].add(one.is_wrong)
            for threshold in thresholds:
                rows.append(
                    (
                        f"{threshold} of {agents}" + (", default" * (threshold == default)),
                        _sight(blind),
                        str(rounds),
                        str(reached[threshold]),
                        str(wrong[threshold]),
                    )
                )
    return Table(
        "The threshold",
        "Agents that are right with 0.6 on their own, conformity 0.5 towards the majority: how "
        "many votes reach a consensus, strong or soft, and how many of these are wrong.",
        ("threshold", "first round", "rounds", "consensus", "of these wrong"),
        rows,
    )


def _sight(blind: bool) -> str:
    return "blind" if blind else "visible"


def _kind_under(verdict: Verdict, threshold: int) -> str:
    """Return what the same counts come to under another threshold."""
    return verdict_of_counts(
        len(verdict.towards),
        threshold,
        verdict.agree,
        verdict.partial,
        verdict.disagree,
        verdict.absent,
        only_agreement=verdict.type == STRONG,
    )


def what_an_advocate_does(seed: int, runs: int) -> Table:
    """Measure verdicts with somebody who contradicts whatever most others say."""
    rows: list[tuple[str, ...]] = []
    seats = {"nobody": -1, "second": 1, "last": 5}
    for counted, places in ((3, ("nobody", "second")), (5, tuple(seats))):
        for what in places:
            advocate = seats[what]
            for blind in (False, True):
                setting = replace(
                    THREE, agents=counted + (advocate >= 0), advocate=advocate, blind=blind
                )
                tell(f"devil's advocate: {counted} agents, {what}, {_sight(blind)}")
                cells: list[str] = []
                shares = {number: (Share(), Share(), Share()) for number in (1, 3)}
                for one in judged_runs(setting, seed, runs, (1, 3)):
                    unanimous, wrong, accuracy = shares[one.rounds]
                    is_unanimous = one.verdict.agree == counted
                    unanimous.add(is_unanimous)
                    accuracy.add(one.accuracy)
                    if is_unanimous:
                        wrong.add(one.is_wrong)
                for unanimous, wrong, accuracy in shares.values():
                    cells += [str(unanimous), str(wrong), f"{accuracy.value:.3f}"]
                rows.append((str(counted), what, _sight(blind), *cells))
    head = ("unanimous", "of these wrong", "accuracy")
    return Table(
        "A devil's advocate",
        "Beside three or five agents that count, one that says something else than most others "
        "it has heard, in the second or the last place of the list; it counts for no "
        "consensus. Right with 0.6 on their own, conformity 0.5 towards the majority.",
        (
            "agents",
            "advocate",
            "first round",
            *(f"{one} after 1" for one in head),
            *(f"{one} after 3" for one in head),
        ),
        rows,
    )


def what_the_machine_says(seed: int, runs: int) -> Table:
    """Play a part of the runs through the whole machine; its verdicts must be the same.

    Raises:
        AssertionError: A verdict of the machine is another than that of the rules.
    """
    rows: list[tuple[str, ...]] = []
    for what, setting in (
        ("three, visible", replace(THREE, blind=False)),
        ("three, blind", THREE),
        ("five, blind", FIVE),
        ("five, blind, an advocate", replace(FIVE, agents=6, advocate=1)),
        ("five, blind, by belief", replace(ALONE, hears=BELIEF, prior=6.0)),
        ("seven, blind, convinced", replace(FIVE, agents=7, hears=REASONS)),
    ):
        tell(f"whole machine: {what}")
        found = through_the_machine(setting, seed, max(1, runs // MACHINE_PART))
        if found.differing:
            raise AssertionError(f"{what}: {found.differing} verdicts are not those of the rules")
        reasons = sorted(found.reasons.items(), key=lambda one: -one[1])
        rows.append(
            (
                what,
                str(found.runs),
                "all",
                f"{found.rounds / found.runs:.1f}",
                ", ".join(f"{reason} {count}" for reason, count in reasons),
                f"{100 * found.reached / found.runs:.0f} %",
            )
        )
    return Table(
        "Through the whole machine",
        "The same talk as texts: convened, sealed, parsed, judged after each round, ended by the "
        "usual stops, voted on. The verdict of every round must be that of the rules alone. The "
        "agents give no reasons, so whoever stays repeats itself by its position.",
        ("talk", "runs", "same verdicts", "rounds", "why the rounds ended", "consensus"),
        rows,
    )


EXPERIMENTS: tuple[Callable[[int, int], Table], ...] = (
    what_rounds_do,
    what_a_blind_round_does,
    what_is_flagged,
    what_the_threshold_does,
    what_an_advocate_does,
    what_the_machine_says,
)
