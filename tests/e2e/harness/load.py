"""Threads of a container that make calls all the time, and check every answer."""

import json
import shutil
from dataclasses import dataclass

from . import bundle


@dataclass(frozen=True)
class Outcome:
    calls: int
    wrong: int  # answers, ENOSYS among them
    enosys: int
    eintr: int  # nodes of which a dying worker could not say whether they were made
    longest_ms: float  # the longest that one call took
    p99_us: float  # of the slowest thread's last calls
    first_wrong: str


class Load:
    """tests/soak/caller.c in the first process's shell of `container`, from now until finish()."""

    def __init__(self, programs, engine, container, release, memory, threads=4):
        root = engine.root(container.name)
        shutil.copy(programs / "soak_caller", root / "soak_caller")
        bundle.give_to(root / "soak_caller", bundle.FIRST_ID)
        self._shell = container.shell
        self._shell.run("mkdir /tmp/soak; mkfifo /tmp/soak/go")
        self._shell.start(
            f"/soak_caller {threads} {release} {memory} /tmp/soak < /tmp/soak/go")
        self._go = (root / "tmp/soak/go").open("wb")  # returns once the caller has opened it

    def finish(self):
        self._go.close()
        text = self._shell.finish().text
        try:
            return Outcome(**json.loads(text.splitlines()[-1]))
        except (ValueError, IndexError, TypeError):
            raise AssertionError(f"the caller said: {text!r}") from None
