"""Cgroups of the host: a namespace in which every engine starts, and live changes."""

import errno
import os
import subprocess
from pathlib import Path

from .wait import eventually

ROOT = Path("/sys/fs/cgroup")
UNIFIED = ROOT / "unified"


class EngineNamespace:
    """Where engines run. crun refuses a hybrid layout (v1 controllers and a v2 mount beside them);
    there, engines get a mount namespace of their own without the latter. Elsewhere it is ours."""

    CHANGE = f"umount {UNIFIED}"  # what is run in it first

    def __init__(self):
        self._holder = None
        self.prefix = []
        if not UNIFIED.is_mount():
            return
        # Lives until its input closes: with us, however we end.
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f"{self.CHANGE} && echo ready && read _"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"\"{self.CHANGE}\" failed: are we root?")
        self.prefix = ["nsenter", f"--target={self._holder.pid}", "--mount", "--"]

    def close(self):
        if self._holder:
            self._holder.communicate("\n")


class UnifiedNamespace(EngineNamespace):
    """Where engines see cgroup v2 alone, of which a container can be given a part to rule over."""

    CHANGE = f"umount --recursive {ROOT} && mount -t cgroup2 none {ROOT}"


def directory(pid, controller):
    """The cgroup directory that governs `controller` for a process."""
    unified = None
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return ROOT / controller / path.lstrip("/")
        if not controllers:
            unified = (UNIFIED if UNIFIED.is_mount() else ROOT) / path.lstrip("/")
    return unified


def set_cpus(pid, cpus):
    """What a CPU manager does to a running container."""
    (directory(pid, "cpuset") / "cpuset.cpus").write_text(cpus)


def allow_real_time(pid):
    """Lets a container have threads of real-time policies, where the kernel makes that a matter of
    cgroups: v1 with CONFIG_RT_GROUP_SCHED. A group begins without any time for them."""
    group = directory(pid, "cpu")
    for path in [*reversed(group.parents), group]:
        runtime = path / "cpu.rt_runtime_us"
        if runtime.exists() and int(runtime.read_text()) == 0:
            runtime.write_text("100000")  # of each second: several containers share what there is


def remove(name):
    """Removes the top-level cgroup `name` from every hierarchy, with the empty ones below it."""
    for top in [ROOT / name, *ROOT.glob(f"*/{name}")]:
        for where, _, _ in os.walk(top, topdown=False):
            eventually(lambda: _removed(where), f"{where} is empty")


def _removed(directory):
    """Removes a cgroup, but for processes in it that are still ending."""
    try:
        os.rmdir(directory)
    except OSError as reason:
        if reason.errno != errno.EBUSY:
            raise
        return False
    return True
