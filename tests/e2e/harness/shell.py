"""A shell at the other end of a pipe: commands that a container's own process runs."""

import os
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass

from .wait import PATIENCE_SECONDS


@dataclass(frozen=True)
class Outcome:
    status: int
    text: str  # standard output and error, stripped


class ShellEnded(Exception):
    """The shell went away, or never came."""

    def __init__(self, status, text):
        super().__init__(f"status {status}: {text}")
        self.status = status
        self.text = text


class Shell:
    """Feeds `command`, which must end up as a POSIX shell, one script at a time.

    A context manager."""

    def __init__(self, command):
        self._errors = tempfile.TemporaryFile("a+b")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._errors, bufsize=0)
        self._pending = b""
        self._turn = 0
        try:
            self.run(":")
        except BaseException:
            self.close()
            raise

    def start(self, script):
        """Lets the shell run `script` and returns at once; finish() gives its outcome."""
        self._turn += 1
        line = f"( {script}\n) 2>&1 </dev/null; printf '\\n:{self._turn}:%s:\\n' $?\n"
        try:
            self._process.stdin.write(line.encode())
        except BrokenPipeError:
            raise self._ended() from None

    def finish(self, patience=PATIENCE_SECONDS):
        mark = f"\n:{self._turn}:".encode()
        deadline = time.monotonic() + patience
        while not (mark in self._pending and self._pending.endswith(b":\n")):
            ready, _, _ = select.select([self._process.stdout], [], [],
                                        max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no answer in {patience} s: {self._pending!r} {self.errors()}")
            data = os.read(self._process.stdout.fileno(), 65536)
            if not data:
                raise self._ended()
            self._pending += data
        text, _, status = self._pending.partition(mark)
        self._pending = b""
        return Outcome(int(status.strip(b":\n")), text.decode(errors="replace").strip())

    def run(self, script):
        self.start(script)
        return self.finish()

    def errors(self):
        """What the command itself has said on its standard error."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()

    def close(self):
        """Ends the shell by closing its input. Returns the command's status."""
        try:
            self._process.stdin.close()
            status = self._process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._process.stdout.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _ended(self):
        status = self._process.wait(timeout=PATIENCE_SECONDS)
        return ShellEnded(status, self.errors() or self._pending.decode(errors="replace").strip())
