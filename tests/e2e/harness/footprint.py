"""What an agent holds, which must not grow with what has come and gone."""

from dataclasses import dataclass

from . import processes
from .bundle import Wish


@dataclass(frozen=True)
class Footprint:
    descriptors: int  # of the agent
    threads: int
    kept: int  # descriptors of its keeper
    records: int
    processes: int  # workers and helpers


def of(agent):
    [keeper] = agent.keepers()
    return Footprint(len(processes.descriptors(agent.pid)), processes.threads(agent.pid),
                     len(processes.descriptors(keeper)),
                     len(list((agent.run_dir / "sandboxes").iterdir())),
                     len(agent.workers()) + len(agent.helpers()))


def cycle(agent, engine, times):
    """Creates, loads and destroys containers, and waits for the end of each."""
    for _ in range(times):
        with engine.start(Wish(policy="serving")) as container:
            container.run("uname -r; mknod /tmp/null c 1 3; free")
            container.exec("uname -r")
    with agent.control() as client:
        agent.wait_until_empty(client)
