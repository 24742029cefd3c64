"""Runs inside a machine: a host with cgroup v2 alone. Runs every check."""

import os
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

CONTROLLERS = ["cpu", "cpuset", "memory", "pids"]


def divide_host():
    """As a service manager does: no process but in a cgroup without others below it."""
    top = Path("/sys/fs/cgroup")
    (top / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))
    own = top / "node"
    own.mkdir()
    (own / "cgroup.procs").write_text(str(os.getpid()))


def main():
    divide_host()
    import checks  # what it needs looks at /proc
    from machine import END, MARK

    kernel = os.uname().release
    print(f"{MARK}ok Linux {kernel} is up", flush=True)
    for check in checks.ALL:
        name = check.__name__.replace("_", " ")
        try:
            check()
            print(f"{MARK}ok {name}", flush=True)
        except BaseException as reason:
            traceback.print_exc()
            text = " ".join(f"{type(reason).__name__}: {reason}".split())
            print(f"{MARK}FAILED {name}: {text}", flush=True)
    print(f"{MARK}{END}", flush=True)


if __name__ == "__main__":
    main()
