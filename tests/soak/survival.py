#!/usr/bin/python3
"""Kills workers, agents and keepers under a container that calls all the time.

Usage: SIDECALL_PROGRAMS=build/dev/bin tests/soak/survival.py [--workers N] [--agents N] ...
Ends with status 1 where an answer was wrong."""

import argparse
import os
import random
import shutil
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from harness import blows, cgroup, engines  # noqa: E402
from harness.agent import Agent  # noqa: E402
from harness.bundle import MEBIBYTE, Wish  # noqa: E402
from harness.load import Load  # noqa: E402
from harness.shell import ShellEnded  # noqa: E402
from harness.wait import eventually  # noqa: E402
from conftest import RELEASE, SERVING_RULES, make_work  # noqa: E402

MEMORY = 64 * MEBIBYTE


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=1000, help="deaths of the worker")
    parser.add_argument("--agents", type=int, default=100, help="deaths of the agent")
    parser.add_argument("--both", type=int, default=50,
                        help="deaths of the worker while there is no agent")
    parser.add_argument("--keepers", type=int, default=20, help="deaths of the keeper")
    parser.add_argument("--pause", type=float, default=400,
                        help="the longest, in ms, from one death to the next")
    parser.add_argument("--threads", type=int, default=4, help="of the container")
    parser.add_argument("--no-neighbours", dest="neighbours", action="store_false",
                        help="no other containers that start and end meanwhile")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    return parser.parse_args()


class Neighbours(threading.Thread):
    """Containers that start and end while everything dies around them."""

    def __init__(self, crun):
        super().__init__()
        self._crun = crun
        self._enough = threading.Event()
        self.started = 0
        self.faults = []

    def run(self):
        while not self._enough.is_set():
            try:
                with self._crun.start(Wish(policy="serving")) as container:
                    text = container.run("uname -r && mknod /tmp/null c 1 3; uname -r").text
                # EINTR: a worker that died could not say whether the node was made.
                lines = [line for line in text.split("\n") if "Interrupted" not in line]
                if lines != [RELEASE, RELEASE]:
                    self.faults.append(text)
            except (engines.StartFailed, ShellEnded, TimeoutError) as reason:
                self.faults.append(str(reason))
            self.started += 1

    def finish(self):
        self._enough.set()
        self.join()


def soak(agent, crun, programs, wanted):
    """All blows in random order. Returns the outcome of the load, and the neighbours."""
    deaths = [(blows.worker_dies, wanted.workers), (blows.agent_dies, wanted.agents),
              (blows.worker_and_agent_die, wanted.both), (blows.keeper_dies, wanted.keepers)]
    order = [blow for blow, count in deaths for _ in range(count)]
    random.shuffle(order)
    neighbours = Neighbours(crun)
    with crun.start(Wish(policy="serving", memory=MEMORY)) as container:
        load = Load(programs, crun, container, RELEASE, MEMORY, wanted.threads)
        if wanted.neighbours:
            neighbours.start()
        for done, blow in enumerate(order):
            blow(agent, wanted.pause)
            if sys.stdout.isatty():
                print(f"\r{done + 1}/{len(order)} ", end="", flush=True)
        if wanted.neighbours:
            neighbours.finish()
        outcome = load.finish()
    return outcome, neighbours


def main():
    wanted = arguments()
    random.seed(wanted.seed)
    programs = Path(os.environ["SIDECALL_PROGRAMS"]).resolve()
    work = make_work()
    namespace = cgroup.EngineNamespace()
    agent = Agent(programs, work)
    agent.write_policy("serving", *SERVING_RULES)
    crun = engines.KINDS["crun"](agent, namespace, work)
    try:
        agent.start()
        outcome, neighbours = soak(agent, crun, programs, wanted)
        eventually(lambda: not agent.workers(), "every worker has ended")
    except BaseException:
        print(agent.log.read_text()[-4000:], file=sys.stderr)
        raise
    finally:
        agent.stop()
        agent.end_keepers()
        crun.close()
        namespace.close()
        shutil.rmtree(work, ignore_errors=True)
    print(f"seed {wanted.seed}: {outcome.calls} calls, {outcome.wrong} wrong "
          f"({outcome.enosys} ENOSYS), {outcome.eintr} EINTR, "
          f"longest stall {outcome.longest_ms:.1f} ms; "
          f"{neighbours.started} neighbours, {len(neighbours.faults)} of them with faults")
    if outcome.wrong:
        print(f"the last wrong: {outcome.first_wrong}")
    for fault in neighbours.faults[:10]:
        print(f"neighbour: {fault!r}")
    return 1 if outcome.wrong or neighbours.faults else 0


if __name__ == "__main__":
    sys.exit(main())
