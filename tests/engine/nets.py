"""A network of machines that can be cut: a namespace for each, joined by a bridge of the host.

Source: EN-008.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import closing, suppress


def missing() -> str:
    """Return why no network can be made here, "" when one can."""
    if os.geteuid():
        return "only root makes network namespaces"
    if shutil.which("ip") is None:
        return "ip (iproute2) is not installed"
    try:
        with closing(Net(0)):
            return ""
    except subprocess.CalledProcessError as error:
        return f"network namespaces are refused here: {error.stderr.decode().strip()}"


class Net:
    """A network of the host, at `address`, and so many machines.

    Raises:
        subprocess.CalledProcessError: The system refuses.
    """

    def __init__(self, machines: int) -> None:
        own = os.getpid()
        self._name = f"c{own % 10**7}"
        self._machines = range(1, machines + 1)
        net = f"10.{128 + own // 256 % 64}.{own % 256}"
        self.address = f"{net}.254"
        try:
            _ip(f"link add {self._name} type bridge")
            _ip(f"addr add {self.address}/24 dev {self._name}")
            _ip(f"link set {self._name} up")
            for at in self._machines:
                space, port, inside = self._space(at), self._port(at), f"{self._name}i{at}"
                _ip(f"netns add {space}")
                _ip(f"link add {port} type veth peer name {inside} netns {space}")
                _ip(f"link set {port} master {self._name} up")
                _ip(f"-n {space} addr add {net}.{at}/24 dev {inside}")
                _ip(f"-n {space} link set lo up")
                _ip(f"-n {space} link set {inside} up")
        except BaseException:
            self.close()
            raise

    def _space(self, machine: int) -> str:
        return f"{self._name}m{machine}"

    def _port(self, machine: int) -> str:
        return f"{self._name}p{machine}"

    def through(self, machine: int) -> tuple[str, ...]:
        """Return the words that run a command on a machine, the first of which is 1."""
        return ("ip", "netns", "exec", self._space(machine))

    def cut(self, machine: int) -> None:
        """Let nothing through to a machine and from it; neither side is told."""
        _ip(f"link set {self._port(machine)} down")

    def mend(self, machine: int) -> None:
        """Let everything through again."""
        _ip(f"link set {self._port(machine)} up")

    def close(self) -> None:
        for words in (
            *(f"netns del {self._space(at)}" for at in self._machines),
            *(f"link del {self._port(at)}" for at in self._machines),
            f"link del {self._name}",
        ):
            with suppress(subprocess.CalledProcessError):
                _ip(words)


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)
