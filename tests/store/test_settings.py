"""`council.toml` as typed values, and the copy that saves parsing it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.agents import AgentSettings
from council.core.errors import InvalidInputError, UsageError
from council.store import settings_reading
from council.store.settings import Settings, language, load_settings
from tests.operations.tables import until
from tests.store.looking import as_written

FULL = """
schemaVersion = 1
language = "fr"
coordinator = "maman"
trust = "strict"
max_runs = 2
run_timeout = "90s"
preset_timeout = "20m"
phase_timeout = "2h30m"
retry_backoff = ["1s", "2s", "3s"]
max_text_bytes = 2048
force_network_fs = true

[paths]
agents = "workspaces/agents"

[limits]
runs_per_council = 40

[hooks]
closed = ["notify", "me"]
since = 2026-02-08

[agents.henry]
preset = "claude"
model = "opus"
env = ["ANTHROPIC_API_KEY"]

[agents.sage]
driver = "command"
argv = ["python3", "sage.py"]
answer = "tool"
timeout = "5m"
name = "Sage"
emoji = "🦎"
role = "Stratège\u00a0: prudent"
workspace = "~/sage"

[agents.nova]
answers = "demo.md"
"""


def workspace(tmp_path, text):
    (tmp_path / "memory/shared/.council").mkdir(parents=True, exist_ok=True)
    (tmp_path / "council.toml").write_text(text, encoding="utf-8")
    return str(tmp_path)


def cache(tmp_path):
    return tmp_path / "memory/shared/.council/settings-cache.json"


def load_until_kept(tmp_path):
    """Load until the file is old enough for its copy to be trusted."""
    settings = load_settings(str(tmp_path))
    while not cache(tmp_path).exists():
        settings = load_settings(str(tmp_path))
    return settings


def test_without_a_file_the_defaults_hold(tmp_path):
    settings = load_settings(str(tmp_path))
    assert settings == Settings()
    assert settings.max_runs == 4
    assert settings.trust == "open"
    assert settings.retry_backoff == (timedelta(seconds=10), timedelta(seconds=60))
    assert settings.phase_timeout == timedelta(hours=1)
    assert settings.max_text_bytes == 2**20
    assert settings.agent("anybody") == AgentSettings()


def test_every_setting_is_read(tmp_path):
    settings = load_settings(workspace(tmp_path, FULL))
    assert settings.faults == []
    assert (settings.language, settings.coordinator, settings.trust) == ("fr", "maman", "strict")
    assert (settings.max_runs, settings.max_text_bytes) == (2, 2048)
    assert settings.force_network_fs is True
    assert settings.phase_timeout == timedelta(hours=2, minutes=30)
    assert [one.total_seconds() for one in settings.retry_backoff] == [1, 2, 3]
    assert settings.paths == {"agents": "workspaces/agents"}
    assert settings.limits == {"runs_per_council": 40}
    assert settings.hooks == {"closed": ["notify", "me"], "since": "2026-02-08"}
    assert settings.agents["sage"] == AgentSettings(
        driver="command",
        argv=["python3", "sage.py"],
        answer="tool",
        timeout=timedelta(minutes=5),
        name="Sage",
        emoji="🦎",
        role="Stratège\u00a0: prudent",
        workspace="~/sage",
    )
    assert [settings.agent(one).implied_driver for one in ("henry", "sage", "nova", "zoe")] == [
        "command",
        "command",
        "scripted",
        "",
    ]


@pytest.mark.req("C0-076")
def test_the_time_limit_of_a_run_is_two_minutes_and_longer_for_presets():
    settings = Settings()
    assert settings.timeout_of(AgentSettings()) == timedelta(seconds=120)
    assert settings.timeout_of(AgentSettings(preset="claude")) == timedelta(minutes=15)
    assert settings.timeout_of(AgentSettings(timeout=timedelta(seconds=5))) == timedelta(seconds=5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_runs = 0", "max_runs is not a whole number from 1 (it is 0)"),
        ("max_runs = true", "max_runs is not a whole number from 1 (it is True)"),
        ('run_timeout = "soon"', "run_timeout is not a duration like 90s, 15m or 1h"),
        ("run_timeout = 120", "run_timeout is not a duration"),
        ('trust = "blind"', "trust is not one of open, strict (it is 'blind')"),
        ("trust = [1]", "trust is not one of open, strict"),
        ('language = "de"', "language is not one of en, fr"),
        ('coordinator = "../x"', "coordinator is not a name"),
        ('retry_backoff = "10s"', "retry_backoff is not a list of durations"),
        ('force_network_fs = "yes"', "force_network_fs is not true or false"),
        ("paths = 3", "paths is not a table"),
        ("[paths]\nagents = 3", "paths.agents is not a text"),
        ("[limits]\nruns = -1", "limits.runs is not a whole number from 0"),
        ("[agents]\nhenry = 1", "agents.henry is not a table"),
        ('[agents."../up"]', "agents.../up is not a legal agent id"),
        ('[agents.henry]\nargv = "claude -p"', "agents.henry.argv is not a list of texts"),
        ('[agents.henry]\nargv = [""]', "agents.henry.argv is not a command"),
        ('[agents.henry]\nanswer = "mail"', "agents.henry.answer is not one of stdout, tool"),
        ('[agents.henry]\nenv = ["A B"]', "agents.henry.env is not a list of names of variables"),
        ('[agents.henry]\nname = "a\\nb"', "agents.henry.name is not a text of one line"),
        ("max_runs = ", "is not TOML"),
    ],
)
def test_a_bad_value_is_refused_and_the_message_names_file_and_key(tmp_path, text, said):
    with pytest.raises(InvalidInputError) as refused:
        load_settings(workspace(tmp_path, text))
    assert "council.toml" in refused.value.message
    assert said in refused.value.message
    assert refused.value.exit_code == 3


def test_all_bad_values_are_named_at_once(tmp_path):
    with pytest.raises(InvalidInputError) as refused:
        load_settings(workspace(tmp_path, 'max_runs = 0\ntrust = "x"\n[agents.a]\nargv = 1'))
    assert all(key in refused.value.message for key in ("max_runs", "trust", "agents.a.argv"))


@pytest.mark.req("XC-013")
def test_unknown_keys_and_newer_versions_are_reported_and_harmless(tmp_path):
    text = "schemaVersion = 9\nmax_run = 3\n[future]\nx = 1\n[agents.henry]\ncolour = 'red'"
    settings = load_settings(workspace(tmp_path, text))
    assert settings.schema_version == 9
    assert settings.max_runs == 4
    assert settings.agents["henry"].extra == {"colour": "red"}
    assert settings.faults == [
        "council.toml: no setting is called agents.henry.colour",
        "council.toml: schemaVersion is 9; this council knows 1",
        "council.toml: no setting is called max_run",
        "council.toml: no setting is called future",
    ]


def test_a_file_that_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "council.toml")
    with pytest.raises(InvalidInputError, match="not a plain file"):
        load_settings(str(tmp_path))


def test_a_file_of_other_bytes_is_refused(tmp_path):
    (tmp_path / "council.toml").write_bytes(b'language = "\xff"')
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        load_settings(str(tmp_path))


def test_the_kept_copy_gives_the_same_settings(tmp_path):
    root = workspace(tmp_path, FULL)
    first = load_settings(root)
    assert load_until_kept(tmp_path) == first
    kept = as_written(cache(tmp_path))
    assert load_settings(root) == first
    assert as_written(cache(tmp_path)) == kept
    assert [one.name for one in cache(tmp_path).parent.iterdir()] == [cache(tmp_path).name]


def test_with_a_kept_copy_toml_is_not_even_imported(tmp_path):
    root = workspace(tmp_path, FULL)
    load_until_kept(tmp_path)
    script = (
        "import sys; from council.store.settings import load_settings;"
        f"print(load_settings({root!r}).max_runs, 'tomllib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"2 False\n"


def test_an_edit_counts_at_once_even_with_the_old_time_and_size(tmp_path):
    root = workspace(tmp_path, "max_runs = 5\n")
    load_until_kept(tmp_path)
    before = os.stat(tmp_path / "council.toml")
    (tmp_path / "council.toml").write_text("max_runs = 6\n")
    os.utime(tmp_path / "council.toml", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_settings(root).max_runs == 6


def test_edits_in_quick_succession_all_count(tmp_path):
    for number in range(10, 60):
        root = workspace(tmp_path, f"max_runs = {number}\n")
        assert load_settings(root).max_runs == number


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b"\xff", b'{"format": 1, "key": [1]}'])
def test_a_broken_copy_is_not_used_and_made_anew(tmp_path, broken):
    root = workspace(tmp_path, "max_runs = 5\n")
    load_until_kept(tmp_path)
    cache(tmp_path).write_bytes(broken)
    assert load_settings(root).max_runs == 5
    assert json.loads(cache(tmp_path).read_bytes())["document"] == {"max_runs": 5}


def test_where_no_copy_can_be_kept_the_file_is_read(tmp_path):
    (tmp_path / "council.toml").write_text("max_runs = 5\n")
    for _ in range(3):
        assert load_settings(str(tmp_path)).max_runs == 5
    assert [one.name for one in tmp_path.iterdir()] == ["council.toml"]


@pytest.mark.req("XC-012")
@pytest.mark.parametrize(
    ("option", "setting", "env", "chosen"),
    [
        ("en", "fr", {"LANG": "fr_FR.UTF-8"}, "en"),
        ("fr", "en", {}, "fr"),
        ("", "fr", {"LANG": "en_US.UTF-8"}, "fr"),
        ("", "en", {"LANG": "fr_FR.UTF-8"}, "en"),
        ("", "", {"LANG": "fr_FR.UTF-8"}, "fr"),
        ("", "", {"LANG": "fr"}, "fr"),
        ("", "", {"LC_ALL": "", "LC_MESSAGES": "fr_CA@euro", "LANG": "en_US"}, "fr"),
        ("", "", {"LC_ALL": "C.UTF-8", "LANG": "fr_FR.UTF-8"}, "en"),
        ("", "", {"LANG": "fry_NL"}, "en"),
        ("", "", {"LANG": "de_DE.UTF-8"}, "en"),
        ("", "", {}, "en"),
    ],
)
def test_the_language_is_option_then_setting_then_locale_then_english(option, setting, env, chosen):
    assert language(Settings(language=setting), option, env) == chosen


def test_a_language_we_do_not_speak_is_wrong_usage():
    with pytest.raises(UsageError):
        language(Settings(), "de", {})


@pytest.mark.req("PR-561")
def test_the_rules_of_the_protocol_are_settings(tmp_path):
    (tmp_path / "council.toml").write_text(
        "[protocol]\nthreshold = 0.75\nliveness_cycle = '30s'\nliveness_timeout = '5m'\n"
        "versions = ['V4']\nsigned = true\nmood = 1\n"
    )

    found = load_settings(str(tmp_path))

    assert (found.protocol.threshold, found.protocol.versions) == (0.75, ("V4",))
    assert found.protocol.liveness_cycle == timedelta(seconds=30)
    assert found.protocol.liveness_timeout == timedelta(minutes=5)
    assert found.faults == ["council.toml: no setting is called protocol.mood"]
    assert found.protocol.signed
    assert (Settings().protocol.threshold, Settings().protocol.signed) == (0.5, False)


@pytest.mark.parametrize(
    "line",
    [
        "threshold = 2",
        "versions = ['V3']",
        "liveness_cycle = 60",
        "liveness_timeout = ''",
        "signed = 'no'",
    ],
)
def test_a_rule_of_the_protocol_that_cannot_be_is_named(tmp_path, line: str):
    (tmp_path / "council.toml").write_text(f"[protocol]\n{line}\n")

    with pytest.raises(InvalidInputError, match=f"protocol.{line.split(' ', 1)[0]}"):
        load_settings(str(tmp_path))


# --- While the file cannot be read

BOUNDED = 'trust = "strict"\n[limits]\nmax_runs_per_day = 3\n[agents.ann]\nargv = ["true"]\n'


def is_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def is_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def leads_to(target: str):
    def link(file: Path) -> None:
        file.unlink()
        file.symlink_to(target)

    return link


def has(content: str | bytes):
    data = content if isinstance(content, bytes) else content.encode()
    return lambda file: file.write_bytes(data)


BROKEN = {
    "half a line": (has(BOUNDED[:-9]), "is not TOML"),
    "no key": (has("= 3\n"), "is not TOML"),
    "a wrong value": (has("max_runs = 0\n"), "max_runs is not a whole number from 1 (it is 0)"),
    "a key twice": (has("max_runs = 2\nmax_runs = 3\n"), "is not TOML"),
    "nothing at all": (has(""), "is empty and had limits before"),
    "blanks": (has("\n\n"), "is empty and had limits before"),
    "zeros of a power cut": (has(b"\0" * 64), "is not TOML"),
    "no UTF-8": (has(BOUNDED.encode() + b"# \xff\n"), "is not UTF-8"),
    "too much": (has("#" * (4 * 2**20 + 1)), "is larger than"),
    "too deep": (has("a = " + "[" * 5000 + "]" * 5000 + "\n"), "is not TOML"),
    "gone": (Path.unlink, "is missing"),
    "a folder": (is_folder, "is not a plain file"),
    "a FIFO": (is_fifo, "is not a plain file"),
    "a link to nothing": (leads_to("nowhere"), "is missing"),
    "a link to a folder": (leads_to("memory"), "is not a plain file"),
    "a link to itself": (leads_to("council.toml"), "cannot be read"),
    "a device": (leads_to("/dev/zero"), "is not a plain file"),
    "closed": (lambda file: file.chmod(0), "cannot be read"),
}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no editor; what waits for one is tried for itself."""
    monkeypatch.setattr(settings_reading, "_SAVED_WITHIN_S", 0.0)


@pytest.mark.req("FW-002.2")
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind", BROKEN)
def test_while_the_file_cannot_be_read_the_last_settings_hold(kind: str, tmp_path: Path):
    breaks, said = BROKEN[kind]
    root = workspace(tmp_path, BOUNDED)
    before = load_until_kept(tmp_path)
    breaks(tmp_path / "council.toml")
    if kind == "closed" and os.access(tmp_path / "council.toml", os.R_OK):
        pytest.skip("root may read everything")

    for _ in range(2):  # what was kept must not be lost by reading it
        settings = load_settings(root)
        assert settings.unread is not None
        assert said in settings.unread.message
        assert settings.unread.words.startswith("council.toml")
        assert settings.copy(unread=None) == before
    assert settings.trust == "strict" and settings.limits == {"max_runs_per_day": 3}


@pytest.mark.req("FW-002.2")
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    "kind",
    [
        one
        for one in BROKEN
        if one not in ("nothing at all", "blanks", "gone", "a link to nothing", "closed")
    ],
)
def test_a_file_that_was_never_read_is_refused(kind: str, tmp_path: Path):
    root = workspace(tmp_path, BOUNDED)
    BROKEN[kind][0](tmp_path / "council.toml")

    with pytest.raises(InvalidInputError) as refused:
        load_settings(root)
    assert refused.value.hint
    assert "\n" not in refused.value.message


@pytest.mark.req("FW-002.1")
@pytest.mark.usefixtures("at_once")
def test_what_a_person_takes_out_is_out(tmp_path: Path):
    root = workspace(tmp_path, BOUNDED)
    load_until_kept(tmp_path)

    (tmp_path / "council.toml").write_text("# the defaults will do\n")

    assert load_settings(root) == Settings()


@pytest.mark.req("FW-002.2")
@pytest.mark.usefixtures("at_once")
def test_the_copy_is_for_the_owner_alone_and_follows_each_good_file(tmp_path: Path):
    root = workspace(tmp_path, BOUNDED)
    load_until_kept(tmp_path)
    assert cache(tmp_path).stat().st_mode & 0o777 == 0o600

    (tmp_path / "council.toml").write_text(BOUNDED.replace("= 3", "= 2"))
    load_settings(root)
    (tmp_path / "council.toml").write_text("oops")

    assert load_settings(root).limits == {"max_runs_per_day": 2}


@pytest.mark.req("FW-002.2")
@pytest.mark.parametrize("cut", range(1, len(BOUNDED), 7))
def test_a_file_that_is_being_saved_is_waited_for(cut: int, tmp_path: Path):
    root = workspace(tmp_path, BOUNDED)
    load_until_kept(tmp_path)
    later = BOUNDED.replace("= 3", "= 2")
    file = tmp_path / "council.toml"
    file.write_text(later[:cut])
    rest = threading.Timer(0.2, lambda: file.write_text(later))
    rest.start()

    settings = load_settings(root)
    rest.join()

    assert (settings.unread, settings.limits) == (None, {"max_runs_per_day": 2})


@pytest.mark.req("FW-002.2")
def test_a_file_that_is_saved_for_ever_is_not_waited_for(tmp_path: Path):
    root = workspace(tmp_path, BOUNDED)
    before = load_until_kept(tmp_path)
    file, is_over = tmp_path / "council.toml", threading.Event()

    def save() -> None:
        while not is_over.wait(0.01):
            file.write_text('trust = "op')

    saving = threading.Thread(target=save)
    saving.start()
    try:
        until(lambda: file.read_text() != BOUNDED, "a half saved file")
        settings = load_settings(root)
    finally:
        is_over.set()
        saving.join()

    assert settings.unread is not None
    assert settings.copy(unread=None) == before


@pytest.mark.req("FW-002.1")
def test_a_second_change_within_one_tick_of_the_clock_is_seen(tmp_path: Path):
    """The stamps are the same, size and time included; only waiting the tick out tells."""
    root, file = workspace(tmp_path, "max_runs = 2\n"), tmp_path / "council.toml"
    for count in range(3, 9):
        file.write_text(f"max_runs = {count - 1}\n")
        reading = threading.Thread(target=load_settings, args=(root,))
        reading.start()
        file.write_text(f"max_runs = {count}\n")
        reading.join()

        assert load_settings(root).max_runs == count
