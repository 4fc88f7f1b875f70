"""A plugin of pytest: the tests of one machine, unchanged, with an engine under each workspace.

`python -m pytest --engine tests/scenarios` runs them so. Each process that runs tests has a
server of its own. Subprocesses, and the shells of agents with whatever environment, have the
engine as well, for a file in the virtual environment says so to each Python that starts from it
until the run ends.

Source: EN-009.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from council.store import lock
from tests.engine import laid_under
from tests.engine.servers import Server

_EVERY_FEW = 20

# What is about one machine by its nature, by the reason. It is run, and must fail.
OF_ONE_MACHINE = {
    "the engine has what was lost or damaged here, and gives it back": (
        "tests/cli/test_messages.py::test_a_damaged_note_of_nonces_opens_no_way_for_replays",
        "tests/operations/conversations/test_context.py::test_what_was_shown_before_is_not_shown_any_more_after[the workspace has another key]",  # noqa: E501
        "tests/operations/rooms/test_attending.py::test_one_broken_room_is_reported_and_hides_no_other",
        "tests/operations/rooms/test_channels.py::test_a_line_added_by_hand_to_a_log_that_lost_its_end_wakes_the_room_once",
        "tests/operations/rooms/test_channels.py::test_a_room_whose_log_lost_its_end_wakes_at_the_next_message",
        "tests/operations/test_call_crashes.py::test_what_cannot_be_finished_stops_nobody_and_is_reported",
        "tests/scenarios/test_attacks_by_dropped_files.py::test_files_whose_history_is_lost_wait_for_a_person[.council]",
        "tests/scenarios/test_file_only_deliberation.py::test_agents_with_only_file_access_complete_a_deliberation",
        "tests/store/conversations/test_conversations.py::test_a_lost_journal_alone_is_begun_anew_with_a_warning",
        "tests/store/conversations/test_conversations.py::test_lines_of_a_journal_that_were_altered_are_kept_apart",
        "tests/store/conversations/test_conversations.py::test_without_its_folder_a_file_goes_on_from_itself",
        "tests/store/delegation/test_artifacts.py::test_metadata_keep_what_a_later_version_wrote",
        "tests/store/delegation/test_traces.py::test_a_ledger_that_cannot_be_read_guards_on",
        "tests/store/documents/test_live.py::test_a_reader_and_the_next_writer_take_a_live_file_for_the_same[lose_the_journal]",
        "tests/store/documents/test_live.py::test_a_reader_and_the_next_writer_take_a_live_file_for_the_same[restore_an_older_control_folder]",
        "tests/store/documents/test_live.py::test_an_answer_whose_line_lies_behind_a_damaged_one_is_recorded_anew",
        "tests/store/documents/test_live.py::test_nothing_is_lost_of_a_file_that_is_ahead_and_of_what_follows",
        "tests/store/protocol/test_context_pruning.py::test_no_number_is_given_twice_even_where_the_note_of_the_next_one_is_lost[True]",
        "tests/store/protocol/test_contexts.py::test_a_broken_document_is_refused_and_left_as_it_is",
        "tests/store/protocol/test_protocol_registry.py::test_unknown_fields_and_mode_survive_a_change[json]",
        "tests/store/test_hostile.py::test_doctor_repairs_a_lost_history_and_says_so",
    ),
    "a command first brings what other machines did, and notes how far": (
        "tests/cli/test_agents.py::test_a_source_without_the_column_changes_nothing",
        "tests/cli/test_agents.py::test_without_a_source_a_scan_does_nothing_and_is_not_offered",
        "tests/operations/rooms/test_attending.py::test_a_dry_run_says_who_would_be_woken_and_does_nothing",
        "tests/scenarios/test_ask.py::test_an_agent_that_is_nowhere_declared_is_refused_with_the_nearest_name",
        "tests/scenarios/test_versions.py::test_a_file_of_a_newer_version_is_read_and_named_by_migrate[v2-events]",
        "tests/scenarios/test_versions.py::test_every_released_version_is_read_as_it_is",
        "tests/scenarios/test_versions.py::test_migrate_brings_journals_forward_and_says_of_all_else_that_there_is_nothing_to_do",
        "tests/scenarios/test_whole_workspace_of_an_earlier_version.py::test_a_workspace_of_the_earlier_version_is_read_and_left_as_it_is",
        "tests/store/rooms/test_identities.py::test_the_registry_is_one_file_that_may_lie_elsewhere",
    ),
    "a row stands before its line: kills fall into other steps, and the next command goes on": (
        "tests/operations/test_forgotten_channels.py::test_a_purge_of_a_channel_that_was_killed_at_any_call_is_finished_by_the_next",
        "tests/operations/test_forgotten_contexts.py::test_a_purge_of_a_context_that_was_killed_at_any_call_is_finished_by_the_next",
        "tests/operations/test_leftovers.py::test_minutes_that_never_got_their_name_are_removed_once_they_are_old",
        "tests/store/documents/test_live.py::test_a_reader_and_the_next_writer_take_a_live_file_for_the_same[edit_after_a_kill]",
        "tests/store/documents/test_live.py::test_a_reader_and_the_next_writer_take_a_live_file_for_the_same[kill_between_line_and_exchange]",
        "tests/store/documents/test_live.py::test_a_reader_and_the_next_writer_take_a_live_file_for_the_same[kill_over_an_edit]",
        "tests/store/documents/test_live.py::test_adopt_says_what_a_writer_that_died_had_no_time_to_say",
    ),
    "the engine knows which events were reported, whatever the mark here says": (
        "tests/operations/reporting/test_hooks.py::test_a_hook_sees_only_what_it_is_allowed_to",
        "tests/operations/reporting/test_hooks.py::test_telling_that_died_between_two_events_goes_on_behind_the_last",
    ),
    "other machines may have what is missing here": (
        "tests/cli/test_artifacts.py::test_gc_takes_what_a_publisher_that_died_left_and_spares_one_at_work",
        "tests/operations/examining/test_doctor_artifacts.py::test_what_dead_publishers_left_is_found_and_repaired",
        "tests/operations/test_forgotten_channels.py::test_after_a_purge_nothing_of_a_channel_is_found_and_nothing_of_others_is_missing",
    ),
    "a lease says whether a run goes on, not its place here": (
        "tests/operations/reporting/test_explaining.py::test_a_run_that_ends_between_two_looks_is_none_that_died",
    ),
    "it makes a run up that has no lease": (
        "tests/operations/test_idle.py::test_lease_that_is_over_is_seen",
    ),
    "it asks for a workspace that has joined nothing": (
        "tests/cli/test_causes.py::test_four_commands_name_one_cause_and_the_way_out_they_name_works[engine-away]",
        "tests/cli/test_options.py::test_the_same_inputs_at_the_same_instants_give_the_same_bytes",
        "tests/operations/test_idle.py::test_an_idle_heartbeat_loads_neither_the_machine_nor_what_reads_conversations",
        "tests/store/test_settings.py::test_without_a_file_the_defaults_hold",
    ),
}


class Aside:
    """A server whose process is no child of the tests, which wait until they have none.

    It ends with the pipe that is held here.
    """

    def __init__(self) -> None:
        theirs, self._line = os.pipe()
        said = subprocess.run(
            [sys.executable, "-m", "tests.engine.beneath", str(theirs)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            pass_fds=[theirs],
            text=True,
            check=True,
        )
        os.close(theirs)
        self.url = said.stdout

    def close(self) -> None:
        """End it."""
        os.close(self._line)


def serve(lifeline: int) -> None:
    """Start a server, say its address, and stop it when the other end of a pipe is closed."""
    says, said = os.pipe()
    if os.fork():
        os.close(said)
        with open(says, encoding="utf-8") as answer:
            print(answer.read(), end="")
        return
    os.setsid()
    server = Server()
    os.close(1)
    with open(said, "w", encoding="utf-8") as answer:
        answer.write(server.url())
    os.read(lifeline, 1)
    server.close()


class Beneath:
    """The plugin.

    Args:
        is_worker: Whether another process of pytest started this one.
    """

    def __init__(self, *, is_worker: bool) -> None:
        self._is_worker = is_worker
        self._server: Aside | None = None
        self._told = Path(sysconfig.get_path("purelib"), f"engine-beneath-{os.getpid()}.pth")
        self._mark = Path()
        self._tests = 0
        self._is_over = False
        self.workspaces = self.revisions = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Start the server, and have it laid under from here on."""
        base: Path = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._mark = base.resolve() / laid_under.MARK
        self._mark.write_text("")
        if not self._is_worker:
            code = Path(laid_under.__file__)
            is_on = f"os.path.exists({str(self._mark)!r})"
            says = f"exec(open({str(code)!r}).read(), {{'__name__': {laid_under.TOLD!r}}})"
            self._told.write_text(f"import os; {is_on} and {says}\n")
        if not session.config.getoption("numprocesses", None):
            self._server = Aside()
            self._mark.write_text(self._server.url)
            laid_under.lay()

    def pytest_sessionfinish(self) -> None:
        """Take everything away again."""
        if not self._is_worker:
            self._told.unlink(missing_ok=True)
        self._mark.unlink(missing_ok=True)
        if self._server is not None:
            self._is_over = True
            self._clear()
            self._server.close()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Expect what is of one machine to fail; of the others run one of so many."""
        every = int(os.environ.get("FAULTS_EVERY") or "1")
        whys = [reason(item.nodeid) for item in items]
        for item, why in zip(items, whys, strict=True):
            if why:
                item.add_marker(pytest.mark.xfail(reason=why, strict=False))
        items[:] = [
            item
            for at, (item, why) in enumerate(zip(items, whys, strict=True))
            if why or at % every == 0
        ]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Leave no connection of this process open, nor the tables of workspaces that went."""
        yield
        for control, engine in list(lock.engines.items()):
            engine.close()
            if not os.path.isdir(control):
                del lock.engines[control]
        self._tests += 1
        if self._tests % _EVERY_FEW == 0:
            self._clear()

    def _clear(self) -> None:
        """Take away the tables of workspaces that went, and count what was committed in them."""
        if self._server is None:
            return
        with psycopg.connect(self._server.url, autocommit=True) as admin:
            found = admin.execute(
                "SELECT nspname, obj_description(oid) FROM pg_namespace"
                " WHERE obj_description(oid) IS NOT NULL AND nspname LIKE %s",
                [f"{laid_under.PREFIX}%"],
            ).fetchall()
            for schema, root in found:
                if not os.path.isdir(root) or self._is_over:
                    counted = admin.execute(f"SELECT count(*) FROM {schema}.revision").fetchone()
                    self.workspaces += 1
                    self.revisions += counted[0] if counted else 0
                    with suppress(psycopg.Error):
                        admin.execute(f"DROP SCHEMA {schema} CASCADE")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how much went through the engine."""
        if self._server is not None or self.workspaces:
            said = f"engine: {self.revisions} revisions of {self.workspaces} workspaces"
            terminalreporter.write_line(said)


def reason(nodeid: str) -> str:
    """Return why a test is of one machine by its nature, "" for one that is not."""
    names = {nodeid, nodeid.partition("[")[0]}
    return next((why for why, tests in OF_ONE_MACHINE.items() if names & set(tests)), "")


if __name__ == "__main__":
    serve(int(sys.argv[1]))
