"""Several hosts on this machine, each with an address, a name and a folder ``/tmp/ray`` of its own: network namespaces on one bridge. Needs root and iproute2."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

OWN = Path("/tmp/ray")
"""The folder that is another one on each host. All others are the same, as on shared storage."""

NEEDED = ("ip", "unshare", "hostname", "mount")


def why_not() -> str:
    """What is missing for hosts; empty if nothing is."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "needs root"


class Hosts:
    """Hosts ``h1``, ``h2``, … at 10.77.0.1, 10.77.0.2, …, until :meth:`close`.

    Args:
        number: how many.
        folder: where their own folders lie.
    """

    def __init__(self, number: int, folder: Path) -> None:
        self.tag, self.folder = uuid.uuid4().hex[:4], folder
        self.names = [f"h{i + 1}" for i in range(number)]
        self.bridge = f"br{self.tag}"
        OWN.mkdir(exist_ok=True)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("link", "set", self.bridge, "up")
        for name in self.names:
            space, outside, inside = self._space(name), self._link(name), f"i{self.tag}{name}"
            (self.folder / name).mkdir(parents=True)
            _ip("netns", "add", space)
            _ip("link", "add", outside, "type", "veth", "peer", "name", inside)
            _ip("link", "set", inside, "netns", space)
            _ip("link", "set", outside, "master", self.bridge, "up")
            _ip("-n", space, "addr", "add", f"{self.address(name)}/24", "dev", inside)
            for device in ("lo", inside):
                _ip("-n", space, "link", "set", device, "up")

    def address(self, name: str) -> str:
        """A host's address."""
        return f"10.77.0.{self.names.index(name) + 1}"

    def start(self, name: str, *words: str, env: Mapping[str, str], cwd: Path) -> subprocess.Popen[str]:
        """Begin a command on a host."""
        inner = 'hostname "$0" && mount --make-rprivate / && mount --bind "$1" "$2" && shift 2 && cd "$1" && shift && exec "$@"'
        words = ("sh", "-c", inner, name, str(self.folder / name), str(OWN), str(cwd), *words)
        argv = ["ip", "netns", "exec", self._space(name), "unshare", "--uts", "--mount", *words]
        return subprocess.Popen(argv, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, name: str, *words: str, env: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
        """Carry out a command on a host."""
        process = self.start(name, *words, env=env, cwd=cwd)
        out, err = process.communicate(timeout=600)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def lose(self, name: str) -> None:
        """The host's power is gone: nothing runs there any more, and nobody is told."""
        _ip("link", "set", self._link(name), "down")
        self._kill(name, "STOP")

    def close(self) -> None:
        """End all that runs on the hosts, and remove them."""
        for name in self.names:
            self._kill(name, "KILL")
            _ip("netns", "del", self._space(name), check=False)
        _ip("link", "del", self.bridge, check=False)

    def _kill(self, name: str, signal: str) -> None:
        pids = subprocess.run(["ip", "netns", "pids", self._space(name)], capture_output=True, text=True).stdout
        subprocess.run(["kill", f"-{signal}", *pids.split()], capture_output=True)

    def _space(self, name: str) -> str:
        return f"coplay-{self.tag}-{name}"

    def _link(self, name: str) -> str:
        return f"o{self.tag}{name}"


def _ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=True, text=True)
