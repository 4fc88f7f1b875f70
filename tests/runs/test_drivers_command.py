"""The driver that runs programs: real small programs, real files."""

import os
import sys
import time
from pathlib import Path

import pytest

from council.setup import keys

PROG = {"argv": ["prog"]}
ROWS = [
    # what the program does, then text, code, a part of the words
    ("cat", "What now?", "", ""), ("cat >/dev/null; echo Yes.", "Yes.\n", "", ""),
    ("echo I never read.", "I never read.\n", "", ""),
    ("printf ' \\n'", " \n", "no-answer", "without an answer"),
    ("echo half; echo 'Error: Connection error.' >&2; exit 1", "half\n", "unreachable",
     "Connection"),
    ("echo 'Invalid API key: login'; exit 1", "Invalid API key: login\n", "refused-key", "key: "),
    ("echo 'Error: 401 bad key' >&2", "", "refused-key", "401 bad key"),
    ("echo 'Error: no profile' >&2", "", "no-answer", "no profile"),
    ("yes | head -c 999; exit 2", "y\n" * 499 + "y", "crashed", "it ended with exit 2"),
    ("exit 3", "", "crashed", "exit 3, silently"), ("kill -9 $$", "", "crashed", "signal 9"),
    (r"printf 'caf\351'", "café", "", ""), (r"printf 'caf\303\251 \360\237'", "café �", "", ""),
    (r"printf '\377\376Y\0e\0s\0'", "Yes", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("does", "text", "code", "words"), ROWS, ids=[r[0][:24] for r in ROWS])
def test_plain_programs(bench, does, text, code, words):
    bench.program(does)
    output = bench.run(**PROG)
    assert (output.text, output.code) == (text, code)
    assert words in output.words


def test_a_large_prompt_is_not_read(bench):
    bench.program("echo fine")
    assert bench.run("x" * 3_000_000, **PROG).text == "fine\n"


def test_a_child_that_keeps_the_output_open_is_ended(bench):
    bench.program("sleep 600 & echo $! > child; echo Yes.")
    began = time.monotonic()
    output = bench.run(**PROG)
    assert output.text == "Yes.\n" and not output.code
    assert time.monotonic() - began < 10
    assert not os.path.exists(f"/proc/{Path(f'{bench.root}/child').read_text().strip()}/cwd")


STUBBORN = "import signal, time, os; signal.signal(15, signal.SIG_IGN); print('half', flush=True)\n"


def test_what_outlives_its_time_is_killed_and_answers_nothing(bench):
    bench.program(
        STUBBORN + "open('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)", shell=sys.executable
    )
    bench.place.seconds = 0.7
    output = bench.run(**PROG)
    assert (output.code, output.text) == ("timed-out", "half\n")
    with open(f"{bench.root}/pid") as file, pytest.raises(ProcessLookupError):
        os.kill(int(file.read()), 0)


def test_a_run_that_is_stopped_says_why(bench):
    bench.program("sleep 600")
    bench.place.stop = lambda: True
    assert bench.run(**PROG).code == "ended"


@pytest.mark.slow
def test_endless_output_is_ended(bench):
    bench.program("yes no")
    bench.place.max_bytes = 100_000
    output = bench.run(**PROG)
    assert output.code == "cut-off" and "100000 bytes" in output.words
    bench.program("head -c 100001 /dev/zero")
    assert bench.run(**PROG).code == "cut-off"


def test_programs_that_cannot_be_started(bench):
    assert bench.run(argv=["not-there"]).code == "missing-program"
    bench.program("true", shell="/not/there")
    assert bench.run(**PROG).code == "missing-program"
    assert bench.run(argv=[], preset="nonesuch").code == "bad-settings"


def test_what_a_run_sees(bench):
    bench.program(
        "env; ls /proc/self/fd | wc -l; echo prompt: $1 $2; echo sid: $(ps -o sid= -p $$) $$"
    )
    bench.place.environ.update(SECRET="s3cret-value", KEY="k", http_proxy="http://p", ODD="x")
    bench.place.token, bench.place.variables = "tok", {"COUNCIL_TOUR": "1"}
    held = os.open(bench.root, os.O_RDONLY)
    os.set_inheritable(held, True)
    text = bench.run(argv=["prog", "{prompt_file}", "{agent}"], env=["KEY"]).text
    os.close(held)
    seen = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    assert seen["KEY"] == "k" and seen["http_proxy"] == "http://p"
    assert seen["COUNCIL_TASK_ID"] == "c.1.ada.1" and seen["COUNCIL_TOKEN"] == "tok"
    assert "SECRET" not in seen and "ODD" not in seen
    assert "\n4\n" in text  # three files and the folder that ls reads: no descriptor of ours
    assert f"prompt: {bench.place.folder}/prompt.md ada" in text
    words = next(line for line in text.splitlines() if line.startswith("sid: ")).split()
    assert words[1] == words[2]


def test_home_and_path_come_from_elsewhere_under_a_bare_clock(bench):
    bench.program("echo $HOME $PATH", name="own")
    bench.place.environ = keys.environment(str(bench.root), {})
    home, path = bench.run(argv=["./bin/own"]).text.split()
    assert home.startswith("/") and "/usr/bin" in path


def test_what_was_reported_and_keys_are_hidden(bench):
    bench.program('echo "usage tokens=120 usd=0.5" >> $COUNCIL_REPORT; echo "bad $KEY" >&2; exit 1')
    bench.place.environ["KEY"] = "sk-123456"
    output = bench.run(env=["KEY"], **PROG)
    assert (output.use.tokens, output.use.usd) == (120, 0.5)
    assert output.words == "bad *** (exit 1)"


def test_the_process_is_named_so_that_another_can_end_it(bench):
    bench.program("echo $$; cat /proc/$$/stat")
    lines = bench.run(**PROG).text.splitlines()
    with open(f"{bench.place.folder}/pid") as file:
        assert file.read().split() == [lines[0], lines[1].rpartition(")")[2].split()[19]]
