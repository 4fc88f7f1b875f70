"""A newcomer who types what a page shows."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2]
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
PROGRAMS = {"council": COUNCIL, "claude": CLAUDE, "codex": CODEX, "crontab": CRONTAB}


def steps(text: str, slow: bool = False) -> list[tuple[str, str, list[str]]]:
    """Return (`console` or `toml`, command or content, the lines it is said to print) in order.

    A command begins with `$ ` and continues with `> `. Blocks marked `slow` come only if asked for.
    """
    found: list[tuple[str, str, list[str]]] = []
    for kind, mark, block in re.findall(r"```(console|toml)( slow)?\n(.*?)```", text, re.S):
        if kind == "toml":
            found.append((kind, block, []))
        for line in (
            block.splitlines() if kind == "console" and mark in ("", " slow" * slow) else ()
        ):
            if line.startswith("$ "):
                found.append((kind, line[2:], []))
            elif line.startswith("> ") and not found[-1][2]:
                found[-1] = (kind, f"{found[-1][1]}\n{line[2:]}", [])
            else:
                found[-1][2].append(line)
    return found


def fits(printed: list[str], shown: list[str]) -> bool:
    """Return whether lines are as shown, where `…` stands for any text and a line of it for any."""
    pattern = "\n".join(re.escape(line) for line in shown).replace("\n…\n", "(\n.*)?\n")
    pattern = re.sub("\n…$", "(\n.*)?", pattern).replace("…", ".*")
    return re.fullmatch(pattern, "\n".join(printed), re.S) is not None


class Newcomer:
    """A person with an empty home, two agent programs and a terminal of 80 columns."""

    def __init__(self, root: Path) -> None:
        self.folder = self.home = root
        self.servers: list[subprocess.Popen[str]] = []
        (root / "exports").touch()
        for name, script in {**PROGRAMS, "systemctl": "#!/bin/sh\nexit 1\n"}.items():
            path = root / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(script)
            path.chmod(0o755)
        self.env = {"PATH": f"{root}/bin:/usr/bin:/bin", "HOME": str(root), "COLUMNS": "80"}
        self.env |= {"PYTHONPATH": str(SOURCE), "LC_ALL": "C.UTF-8", "USER": "newcomer"}

    def types(self, command: str, first: int = 0) -> list[str]:
        """Run a command that has to succeed and return the lines that it prints.

        One that ends with `&` runs until the end of the page; its `first` lines are returned.
        """
        if command.endswith("&"):
            self.servers.append(self._start(command[:-1]))
            stdout = self.servers[-1].stdout or ()
            return [next(iter(stdout), "").rstrip("\n") for _ in range(first)]
        kept = f"pwd >{self.home}/where; export -p | grep -v PWD >{self.home}/exports"
        done = self._start(f". {self.home}/exports\n{command}\nrc=$?\n{kept}\nexit $rc")
        output = done.communicate(timeout=60)[0]
        assert done.returncode == 0, f"{command}\n{output}"
        self.folder = Path((self.home / "where").read_text().strip())
        return output.splitlines()

    def _start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["sh", "-c", command], cwd=self.folder, env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip

    def follows(self, text: str, slow: bool = False) -> None:
        """Type the commands of a page, append its settings, and compare what is printed."""
        for kind, command, shown in steps(text, slow):
            if kind == "toml":
                with open(self.folder / "council.toml", "a", encoding="utf-8") as file:
                    file.write(f"\n{command}")
                assert "council.toml" not in "\n".join(self.types("council status --problems"))
                continue
            printed = self.types(command, len(shown))
            assert not shown or fits(printed, shown), "\n".join([f"$ {command}", *printed])

    def leaves(self) -> None:
        """End what was started in the background."""
        for server in self.servers:
            os.killpg(server.pid, signal.SIGTERM)
            server.communicate(timeout=60)
