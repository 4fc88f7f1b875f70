"""Every command in README.md is played, and prints what README.md shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]
README = (SOURCE / "README.md").read_text(encoding="utf-8")
CLAUDE = r"""#!/bin/sh
cat - >/dev/null; cat <<'END'
{"type":"result","subtype":"success","is_error":false,"result":"Yes.\n\nSTATUS: AGREED"}
END
"""
CODEX = r"""#!/bin/sh
cat - >/dev/null; cat <<'END'
{"type":"item.completed","item":{"type":"agent_message","text":"No.\n\nSTATUS: RESPONDED"}}
{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}
END
"""
CRONTAB = '#!/bin/sh\n[ "$1" = -l ] && cat "$HOME/crontab" || cat >"$HOME/crontab"\n'
COUNCIL = f'#!/bin/sh\nexec "{sys.executable}" -m council "$@"\n'


def blocks() -> list[tuple[str, list[str]]]:
    """Return the commands of the console blocks, each with the lines it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def mentioned() -> list[str]:
    """Return the commands of the table."""
    rows = [line.rpartition(" | ")[2] for line in README.splitlines() if line[:2] == "| "]
    return [one for row in rows for one in re.findall(r"`(council [^`]+)`", row)]


class Newcomer:
    """A person with an empty home, two agent programs and a terminal of 80 columns."""

    def __init__(self, root: Path) -> None:
        self.folder = root
        programs = {"council": COUNCIL, "claude": CLAUDE, "codex": CODEX, "crontab": CRONTAB}
        for name, script in {**programs, "systemctl": "#!/bin/sh\nexit 1\n"}.items():
            path = root / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(script)
            path.chmod(0o755)
        self.env = {"PATH": f"{root}/bin:/usr/bin:/bin", "HOME": str(root), "COLUMNS": "80"}
        self.env |= {"PYTHONPATH": str(SOURCE), "LC_ALL": "C.UTF-8", "USER": "newcomer"}

    def types(self, command: str) -> list[str]:
        """Run a command that has to succeed and return the lines that it prints."""
        done = subprocess.run(
            f"{command}\nrc=$?\npwd >{self.folder}/where\nexit $rc",
            shell=True,
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        self.folder = Path((self.folder / "where").read_text().strip())
        return done.stdout.splitlines()


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path)


def fits(printed: list[str], shown: list[str]) -> bool:
    """Return whether lines are as shown, where `…` stands for any text and a line of it for any."""
    pattern = "\n".join(re.escape(line) for line in shown).replace("\n…\n", "(\n.*)?\n")
    pattern = re.sub("\n…$", "(\n.*)?", pattern).replace("…", ".*")
    return re.fullmatch(pattern, "\n".join(printed), re.S) is not None


def test_a_newcomer_can_follow_the_readme(newcomer: Newcomer) -> None:
    for command, shown in blocks():
        printed = newcomer.types(command)
        if shown:
            assert fits(printed, shown), "\n".join([command, *printed])


def test_the_commands_of_the_table_work_one_after_the_other(newcomer: Newcomer) -> None:
    newcomer.types("council init team --agents claude,codex && cd team")
    newcomer.types('council convene "Do we need a second kettle?" --name kettle --people anna,ben')
    for command in mentioned():
        if "--watch" in command:  # until it is interrupted
            command = f"timeout --preserve-status -s INT 1 {command} || [ $? = 130 ]"
        if command == "council cancel":  # what was stopped before may be over by now
            newcomer.types('council convene "Tea?" --name tea --people anna,ben')
            command += " --name tea"
        newcomer.types(command)


def test_the_help_lists_only_commands_that_exist() -> None:
    words = set(re.findall(r"(?:`|\$ )council ([a-z]+)", README))
    done = subprocess.run(
        [sys.executable, "-m", "council", "--help"],
        cwd=SOURCE,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    )
    listed = set(re.findall(r"^[│ ]+([a-z]+)  ", done.stdout, re.M))
    assert words <= listed, words - listed
    assert max(map(len, done.stdout.splitlines())) <= 80
