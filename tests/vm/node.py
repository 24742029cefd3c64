"""What every check begins with: an agent, crun, and looks at both from outside."""

import contextlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import blows, cgroup, engines, processes
from harness.agent import Agent
from harness.wait import eventually

PROGRAMS = Path("/sidecall/bin")
RELEASE = "6.1.0-sidecall"
RULES = [
    {"emulate": "mknod", "options": {"devices": ["c 1:3", "c 1:5"]}},
    {"emulate": "sysinfo"},
    {"emulate": "uname", "options": {"release": RELEASE}},
]


class Node(Agent):
    """An agent whose workers are charged as `charge` says, and its crun."""

    def __init__(self, work, charge):
        super().__init__(PROGRAMS, work)
        self._charge = charge
        self.write_policy("serving", *RULES)
        self.crun = engines.KINDS["crun"](self, cgroup.EngineNamespace(), work)

    def start(self):
        everywhere = self.places
        self.places = [*everywhere, "--charge", self._charge]
        try:
            super().start()
        finally:
            self.places = everywhere

    def worker(self):
        [pid] = self.workers()
        return pid

    def sandbox(self, container):
        """What `sidecall ls --json` has of a container."""
        [found] = [sandbox for sandbox in self._tell("ls")["sandboxes"]
                   if sandbox["id"] == container.id]
        return found

    def calls(self, container):
        """How many were answered, as `sidecall stats --json` has it."""
        [found] = self._tell("stats", container.id)["sandboxes"]
        return sum(int(figures.get("calls", 0)) for figures in found["syscalls"])

    def _tell(self, *command):
        done = subprocess.run(self.client(*command, "--json"), text=True, check=True,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def said(self, text):
        """How often the log has it."""
        return self.log.read_text().count(text)

    def wait_until_served_to_the_end(self):
        eventually(lambda: not self.workers() and not self.helpers(),
                   "no worker or helper outlives its container")


@contextlib.contextmanager
def node(charge="auto"):
    """A node with nothing on it. Whatever is left of it afterwards is an error, and its log is
    shown with every one."""
    work = Path(tempfile.mkdtemp(prefix="node-"))
    work.chmod(0o711)
    ours = Node(work, charge)
    try:
        ours.start()
        yield ours
        ours.wait_until_served_to_the_end()
    except BaseException:
        print(ours.log.read_text())
        raise
    finally:
        ours.stop()
        blows.kill(ours.workers())
        ours.end_keepers()
        ours.crun.close()
        shutil.rmtree(work, ignore_errors=True)


def affinities(pid):
    """The CPUs that each thread of a process may use, as the kernel lists them."""
    return {processes.status_field(f"{pid}/task/{task.name}", "Cpus_allowed_list")
            for task in Path(f"/proc/{pid}/task").iterdir()}
