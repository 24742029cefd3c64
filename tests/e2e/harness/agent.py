"""A sidecalld of our own: private run and policy directories, its own workers."""

import json
import os
import signal
import socket
import subprocess

from . import processes
from .control import Control
from .wait import PATIENCE_SECONDS, eventually


class Agent:
    """sidecalld from the directory `programs`, with everything of its own in `work`."""

    def __init__(self, programs, work, messages=None):
        self._programs = programs
        self._messages = messages
        self._process = None
        self.log = work / "agent.log"
        self.run_dir = work / "run"
        self.policy_dir = work / "policies"
        self.policy_dir.mkdir()
        self.places = ["--run-dir", self.run_dir, "--policy-dir", self.policy_dir]

    def write_policy(self, name, *rules, **settings):
        path = self.policy_dir / f"{name}.json"
        path.write_text(json.dumps({"rules": rules, **settings}))
        return path

    def start(self, *arguments):
        with self.log.open("ab") as log:
            self._process = subprocess.Popen([self._programs / "sidecalld", *self.places,
                                              *arguments],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(self._answers_or_ended, "the agent answers on hook.sock")
        if self._process.poll() is not None:
            raise RuntimeError(f"sidecalld ended: {self.log.read_text()}")

    def _answers_or_ended(self):
        return self._process.poll() is not None or self.ask("ping\n") == "ok\n"

    def stop(self):
        """As an administrator stops it. Workers serve on."""
        self._end(signal.SIGTERM)

    def kill(self):
        self._end(signal.SIGKILL)

    def _end(self, number):
        if self._process:
            self._process.send_signal(number)
            self._process.wait(timeout=PATIENCE_SECONDS)
            self._process = None

    @property
    def pid(self):
        return self._process.pid

    def workers(self):
        """Ids of all worker processes of this build; what they have forked has another name."""
        return self._running("sidecall-worker")

    def helpers(self):
        """Ids of the workers' helpers."""
        return self._running("sidecall-helper")

    def launchers(self):
        """Ids of the workers' launchers, and of the first process above each FUSE program."""
        return self._running("sidecall-launch") + self._running("sidecall-fuse")

    def _running(self, name):
        return [pid for pid in processes.running(self._programs / "sidecall-worker")
                if processes.name(pid) == name]

    def wait_until_empty(self, control, patience=PATIENCE_SECONDS):
        """Until no container is known and no worker or helper is left."""
        eventually(lambda: not control.sandboxes() and not self.workers() and not self.helpers(),
                   "every sandbox and its worker have ended", patience)

    def keepers(self):
        """Ids of the processes that hold this agent's descriptors: one, as a rule."""
        return [pid for pid in processes.running(self._programs / "sidecall-keeper")
                if str(self.run_dir / "keeper.sock") in processes.arguments(pid)]

    def end_keepers(self):
        """A keeper without an agent and without sandboxes ends by itself, but not at once."""
        for pid in self.keepers():
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not self.keepers(), "every keeper has ended")

    def ask(self, question):
        """What hook.sock answers; "" where nobody listens."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            try:
                connection.connect(str(self.run_dir / "hook.sock"))
                connection.sendall(question.encode())
                connection.shutdown(socket.SHUT_WR)
                return connection.makefile().read()
            except OSError:
                return ""

    def control(self):
        return Control(self.run_dir / "control.sock", self._messages)

    def client(self, *arguments):
        """A command line of `sidecall` for this agent."""
        return [self._programs / "sidecall", *self.places, *arguments]

    def runtime(self, name):
        """A command line of `sidecall-runtime` for this agent, before the OCI runtime `name`."""
        places = [f"--sidecall{word[1:]}" if str(word).startswith("--") else word
                  for word in self.places]
        return [str(word) for word in [self._programs / "sidecall-runtime",
                                       f"--sidecall-runtime={name}", *places]]

    def hook(self, stage):
        """A command line of `sidecall-hook` for this agent."""
        return [str(word) for word in [self._programs / "sidecall-hook", *self.places, stage]]
