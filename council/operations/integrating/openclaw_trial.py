"""A test turn through OpenClaw: two agents in a council of their own, one of which has to fail.

It is a real council in a folder of its own, which is gone afterwards: the first agent answers by a
command in its shell, the second is asked for by a model that no provider has.

Source: CL-006.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta

from council.core.conversations.conversation import Conversation, Origin
from council.operations.conversations.convene import Invitation, convene
from council.operations.heartbeat.gate import halt
from council.operations.place import Place
from council.operations.setup import set_up
from council.store.files import replace
from council.store.paths import Workspace
from council.store.reason_words import reason_words
from council.store.settings_file import add_tables
from council.store.slots import Slots

_NO_MODEL = "council-trial/none"
_LIMIT = timedelta(minutes=4)
_LOOK_EVERY_S = 0.2
_REST_S = 30


def try_two_agents(place: Place) -> tuple[list[str], bool]:
    """Have two agents of the workspace take a turn; return what was seen, and if all was right."""
    ours = [one for one in place.settings.agents if place.agent(one).driver == "openclaw"]
    ours.sort(key=lambda one: one != place.settings.coordinator)
    if place.host_guard or not ours:
        why = place.host_guard or "no agent here is run by OpenClaw: council init --openclaw"
        return [f"test: not tried, {why}"], False
    one, other = (*ours, "council-trial")[:2]
    told = vars(place.settings.agents[one])
    more = {key: told[key] for key in ("gateway", "api_key_env") if told[key]}
    tables = {
        f"agents.{one}": {"driver": "openclaw", "answer": "tool", "timeout": "90s", **more},
        f"agents.{other}": {"driver": "openclaw", "model": _NO_MODEL, "timeout": "60s", **more},
    }
    with tempfile.TemporaryDirectory(prefix="council-", ignore_cleanup_errors=True) as folder:
        root = os.path.realpath(folder)
        replace(f"{root}/council.toml", b'retry_backoff = ["5m"]\n')
        add_tables(Workspace(root), tables)
        set_up(root, (), "en", place.environ)
        trial = Place(root, place.environ, None)
        asked = "A test of the connection. Answer with the single word: ready"
        wanted = Invitation(topic=asked, agents=(one, other), timeout=_LIMIT, sealed=False)
        try:
            name = convene(trial, wanted).state.name
            return _seen(trial, name, one, other)
        finally:
            halt(trial, "the test is over")
            _at_rest(trial)


def _at_rest(trial: Place) -> None:
    """Wait until the runs that were begun have ended, so that their folder can go."""
    ends_at = time.monotonic() + _REST_S
    places = Slots(trial.paths.places, trial.settings.max_runs)
    while places.taken() and time.monotonic() < ends_at:
        time.sleep(_LOOK_EVERY_S)


def _seen(trial: Place, name: str, one: str, other: str) -> tuple[list[str], bool]:
    """Wait until both turns are over, and say what became of them."""
    ends_at = time.monotonic() + _LIMIT.total_seconds() / 2
    while True:
        state = trial.conversations.read(name)
        answers = [entry for entry in state.entries if entry.agent == one]
        refusals = list(_failures(state, other))
        failures = list(_failures(state, one))
        is_over = bool(refusals) and bool(answers or failures)
        if is_over or time.monotonic() > ends_at:
            break
        time.sleep(_LOOK_EVERY_S)
    verified = any(entry.origin is Origin.VERIFIED for entry in answers)
    if verified:
        said = f"test: {one} answered from its shell, verified"
    elif answers:
        said = (
            f"test: {one} answered from its shell, but is not verified: the plugin is not at work"
        )
    else:
        said = f"test: {one} did not answer: {(failures or ['it has not ended'])[-1]}"
    seen = (refusals or ["it has not ended"])[-1]
    failed = f"test: {other} was to fail, and {'failed' if refusals else 'did not'}: {seen}"
    return [said, failed], verified and bool(refusals)


def _failures(state: Conversation, agent: str) -> Iterator[str]:
    return (
        reason_words(task.reason)
        for task in state.tasks.values()
        if task.agent == agent and task.is_failed_run
    )
