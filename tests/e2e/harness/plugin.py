"""The example plugin, and one that is none."""

import os
import signal
import socket
import subprocess
import threading
from pathlib import Path

from . import processes
from .wait import PATIENCE_SECONDS, eventually

ROOT = Path(__file__).resolve().parents[3]
RELEASE = "9.9.9-example"  # what the example says


def generate(work):
    """Python's side of emulator.proto, in `work`."""
    subprocess.run(
        ["protoc", f"--proto_path={ROOT / 'proto'}", f"--python_out={work}",
         f"--grpc_python_out={work}", "--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin",
         "sidecall/v1/emulator.proto"], check=True)


class Plugin:
    """examples/emulator.py, or another program that is given the socket. A context manager."""

    def __init__(self, work, command=("/usr/bin/python3", "-B", ROOT / "examples/emulator.py")):
        self._command = command
        self._work = work / "plugin"
        self._work.mkdir()
        self.socket = self._work / "plugin.sock"
        self._process = None
        generate(self._work)

    def rule(self, *syscalls, **settings):
        return {"syscalls": list(syscalls), "remote": {"plugin": str(self.socket), **settings}}

    def start(self):
        self.socket.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [*self._command, self.socket],
            env=os.environ | {"PYTHONPATH": str(self._work)})
        eventually(self.socket.exists, "the plugin listens")

    def kill(self):
        if self._process:
            self._process.kill()
            self._process.wait(timeout=PATIENCE_SECONDS)
            self._process = None

    def stand_still(self):
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()


class Nonsense:
    """Listens where a plugin should, and says what none says. A context manager."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self.visits = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.visits += 1
            with connection:
                connection.sendall(os.urandom(4096))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def bridges(programs):
    """Ids of all bridge processes of this build."""
    return processes.running(programs / "sidecall-bridge")
