"""Deaths of the processes that serve a container, one after the other."""

import os
import random
import signal
import time

from . import processes
from .wait import eventually


def kill(pids):
    """kill -9 of those that are there. How many."""
    count = 0
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            count += 1
        except ProcessLookupError:
            pass
    return count


def pause(longest_ms):
    """A random moment."""
    time.sleep(random.uniform(0, longest_ms / 1000))


def worker_dies(agent, longest_ms=30):
    """One worker, at a random moment of its life, which the next blow does not wait for."""
    pause(longest_ms)
    workers = agent.workers()
    return kill(random.sample(workers, min(1, len(workers))))


def agent_dies(agent, longest_ms=30):
    """The agent, and another comes after a while."""
    pause(longest_ms)
    agent.kill()
    pause(longest_ms)
    agent.start()
    return 1


def keeper_dies(agent, longest_ms=30):
    """The keeper, which the agent replaces. Until that is done it is the agent's turn to live."""
    pause(longest_ms)
    old = agent.keepers()
    killed = kill(old)
    eventually(lambda: set(agent.keepers()) - set(old), "there is another keeper")
    eventually(lambda: holds_everything(agent), "it holds what the agent holds")
    return killed


def holds_everything(agent):
    [keeper] = agent.keepers()
    return processes.listeners(keeper) >= processes.listeners(agent.pid)


def worker_and_agent_die(agent, longest_ms=30):
    """First the agent, then, while there is none, every worker: only the keeper is left."""
    pause(longest_ms)
    agent.kill()
    count = kill(agent.workers())
    pause(longest_ms)
    agent.start()
    return count
