#!/usr/bin/python3
"""Creates, loads and destroys containers, and compares what is left with what there was.

Usage: SIDECALL_PROGRAMS=build/dev/bin tests/soak/cycles.py [--cycles N]
Ends with status 1 where anything is left."""

import argparse
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from harness import cgroup, control, engines, footprint, processes  # noqa: E402
from harness.agent import Agent  # noqa: E402
from harness.wait import eventually  # noqa: E402
from conftest import SERVING_RULES, make_work  # noqa: E402

WARM_UP = 20
# gRPC's and the allocator's own: not more than this in all, however many cycles.
MOST_GROWTH_KIB = 1024


def memory_kib(agent):
    """What agent and keeper have of their own."""
    return sum(int(processes.status_field(pid, "RssAnon").split()[0])
               for pid in [agent.pid, *agent.keepers()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=2000)
    wanted = parser.parse_args()
    work = make_work()
    namespace = cgroup.EngineNamespace()
    agent = Agent(Path(os.environ["SIDECALL_PROGRAMS"]).resolve(), work, control.load_messages(work))
    agent.write_policy("serving", *SERVING_RULES)
    crun = engines.KINDS["crun"](agent, namespace, work)
    try:
        agent.start()
        footprint.cycle(agent, crun, min(WARM_UP, wanted.cycles))
        before, memory = footprint.of(agent), memory_kib(agent)
        footprint.cycle(agent, crun, wanted.cycles)
        eventually(lambda: footprint.of(agent) == before, f"back to {before}")
        growth = memory_kib(agent) - memory
    finally:
        agent.stop()
        agent.end_keepers()
        crun.close()
        namespace.close()
        shutil.rmtree(work, ignore_errors=True)
    print(f"{wanted.cycles} cycles: {before}, memory of agent and keeper grew by {growth} KiB")
    return 1 if growth > MOST_GROWTH_KIB else 0


if __name__ == "__main__":
    sys.exit(main())
