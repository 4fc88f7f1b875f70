import os
import subprocess
import sys
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.agents import settings
from council.agents.settings import Settings, load, with_keys
from council.agents.souls import Soul
from council.kernel.errors import Invalid


@pytest.fixture
def root(tmp_path):
    os.makedirs(tmp_path / "memory/shared/.council")
    return str(tmp_path)


def put(root: str, text: str | bytes) -> None:
    with open(f"{root}/council.toml", "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)


GOOD = [
    ('trust = "strict"', lambda s: s.trust, "strict"),
    ('run_timeout = "2m"', lambda s: s.run_timeout, 120),
    ('retry_backoff = ["1s", "90s"]', lambda s: s.retry_backoff, [1, 90]),
    ("schemaVersion = 1", lambda s: s.schema_version, 1),
    ("[limits]\nmax_usd_per_day = 2", lambda s: s.limits.max_usd_per_day, 2),
    ("[limits]\nmaxToolCalls = 9", lambda s: s.limits.max_tool_calls, 9),
    ('[channels]\nturn_timeout = "1m"', lambda s: s.channels.turn_timeout, 60),
    ("[deliberation]\nconfidence_floor = 2", lambda s: s.deliberation.confidence_floor, 2),
    ('[hooks]\nclosed = ["true"]', lambda s: s.tables["hooks"], {"closed": ["true"]}),
    ("[[bindings]]\nagent = 'a'", lambda s: s.tables["bindings"], [{"agent": "a"}]),
    ('[agents.ada]\nargv = ["x", "y\\n\'z\'"]', lambda s: s.agent("ada").argv, ["x", "y\n'z'"]),
    ("\ufefftrust = 'strict'\r\n", lambda s: s.trust, "strict"),
]


@pytest.mark.parametrize(("text", "value", "expected"), GOOD)
def test_values(root, text, value, expected):
    put(root, text)
    assert value(load(root)) == expected
    assert not load(root).faults


BAD = [
    ("trust = 3", "trust must be one of open, strict, not 3"),
    ("\nmax_runs = 0", "max_runs must be a whole number from 1, not 0"),
    ('[relay]\nrole = "slav"', "relay.role must be one of master, slave"),
    ('run_timeout = "soon"', "run_timeout must be a duration"),
    ("max_runs = true", "max_runs must be a whole number"),
    ("[limits]\nmax_usd_per_day = -1", "limits.max_usd_per_day must be an amount in dollars"),
    ("trust = ", "is no TOML"), (b"trust = '\xff'", "is no TOML"),
    ("agents = 3", "[agents] is not a table"), ("a = " + "[" * 5000, "is no TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD)
def test_wrong_values_are_named_and_the_last_good_ones_hold(root, text, words):
    put(root, text)
    with pytest.raises(Invalid) as refused:
        load(root)
    assert refused.value.code == "bad-settings" and words in refused.value.message
    put(root, "max_runs = 7")
    assert load(root).fault == ""
    put(root, text)
    assert load(root).max_runs == 7
    assert words in load(root).fault
    put(root, "max_runs = 8")
    assert (load(root).max_runs, load(root).fault) == (8, "")


def test_a_file_that_is_gone_or_no_file_leaves_the_last_one_in_force(root):
    assert load(root) == Settings()
    put(root, "max_runs = 7")
    load(root)
    kept = os.stat(f"{root}/{settings.LAST}")
    load(root)
    assert os.stat(f"{root}/{settings.LAST}").st_mtime_ns == kept.st_mtime_ns
    assert kept.st_mode & 0o777 == 0o600
    os.remove(f"{root}/council.toml")
    assert load(root).max_runs == 7 and "missing" in load(root).fault
    os.mkfifo(f"{root}/council.toml")
    assert load(root).max_runs == 7 and load(root).fault


def test_what_is_harmless_is_named(root):
    wrong = 'colour = "red"\n[limits]\nmax_runs = 1\n[agents.ada]\nargv = "x"\n[agents."A b"]\n'
    put(root, f'{wrong}[hook]\n[relay]\ntokenEnv = 2\n[tasks]\nreplyTimeout = "1h"\n')
    found = load(root)
    assert found.faults == [
        "council.toml: unknown setting colour",
        "council.toml: unknown setting hook; did you mean hooks?",
        "council.toml: unknown setting limits.max_runs",
        "council.toml: unknown setting agents.A b",
        "council.toml: unknown setting relay.tokenEnv; did you mean token_env?",
        "council.toml: agents.ada.argv must be a list of texts, not 'x'",
    ]
    assert found.agent("ada").faults and found.agent("ada").driver == "command"  # no person


def test_an_agent_is_its_table_then_its_soul_then_defaults(root):
    put(
        root,
        'run_timeout = "30s"\n[agents.ada]\npreset = "claude"\nrole = "judge"\n'
        '[agents.bob]\nbase_url = "http://127.0.0.1/v1"\nmodel = "m"\n[agents.cid]\nargv = ["x"]\n',
    )
    found = load(root)
    ada = found.agent("ada", Soul(id="ada", name="Ada L.", role="poet", capabilities=["sums"]))
    assert (ada.name, ada.role, ada.driver, ada.timeout) == ("Ada L.", "judge", "command", 900)
    assert ada.capabilities == ["sums"] and not ada.faults
    assert (found.agent("bob").driver, found.agent("bob").timeout) == ("openai", 900)
    assert (found.agent("cid").driver, found.agent("cid").timeout) == ("command", 30)
    assert (found.agent("new-one").driver, found.agent("new-one").name) == ("manual", "New One")
    assert ada.digest() != found.agent("ada").digest()


lines = st.sampled_from([
    *('trust = "strict"', "max_runs = 5", 'run_timeout = "2m"', "# a note", "x = 1979-05-27"),
    *('retry_backoff = ["1s"]', 'language = """\nfr"""', '"max_runs" = 6', "a.b = 1", ""),
    *("[agents.a]", "[[bindings]]", "[limits]", 'model = "é\\u0000"', "max_runs = 0"),
    *('[hooks]\na = ["x", {b = 1.5}]', 'argv = ["x", "y"]', "max_usd_per_day = 2.5"),
])  # fmt: skip


@given(st.lists(lines, max_size=6))
def test_what_was_kept_is_what_the_parser_reads(tmp_path_factory, many):
    root = str(tmp_path_factory.mktemp("ws"))
    os.makedirs(f"{root}/memory/shared/.council")
    put(root, "\n".join(many) + "\n")
    try:
        found = load(root)
    except Invalid:
        with pytest.raises(Invalid):
            load(root)
        return
    assert load(root) == found
    put(root, "max_runs = ")
    assert load(root).fault
    assert load(root).copy(fault="") == found
    put(root, "\n".join(many) + "\n")
    assert load(root) == found


def test_settings_that_did_not_change_need_no_parser(root):
    put(root, "max_runs = 7\n[agents.ada]\nargv = ['x']\n")
    load(root)
    code = (
        "import sys; from council.agents.settings import load; found = load(sys.argv[1]);"
        "assert found.max_runs == 7 and found.agent('ada').argv == ['x'];"
        "assert not {'tomllib', 're', 'json'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-S", "-c", code, root], check=True)


EDITS = [
    ("", "agents.ada", {"model": "m"}, '[agents.ada]\nmodel = "m"\n'),
    ("# mine\na = 1\n", "x", {"n": 1}, "# mine\na = 1\n\n[x]\nn = 1\n"),
    ("[x] # a\nn = 1 # b\nk=2\n\n[y]\nn=3\n", "x", {"n": 4}, "[x] # a\nn = 4\nk=2\n\n[y]\nn=3\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "table", "keys", "after"), EDITS)
def test_keys_are_set_and_all_else_stays(before, table, keys, after):
    assert with_keys(before, table, keys) == after
    tomllib.loads(after)


def test_values_over_several_lines_are_not_edited():
    with pytest.raises(Invalid, match="by hand"):
        with_keys('[agents.ada]\nargv = [\n  "x",\n]\n', "agents.ada", {"argv": ["y"]})
