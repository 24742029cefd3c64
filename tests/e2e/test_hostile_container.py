"""A container that attacks its supervisor gets what its policy gives and no more, and nobody else
has less for it. The attacks are in tests/hostile.

SIDECALL_LONG=1 in the environment: 10,000 threads instead of 2,000, and what a neighbour on other
CPUs notices of each attack is measured and asserted. `pytest -rP` shows the figures."""

import contextlib
import errno
import json
import os
import resource
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from conftest import RELEASE, last_cpu
from harness import bundle, cgroup, processes
from harness.bundle import MEBIBYTE, Wish
from harness.load import Load

LONG = bool(os.environ.get("SIDECALL_LONG"))
THREADS = 10_000 if LONG else 2000
MEMORY = 64 * MEBIBYTE
ATTACKERS_MEMORY = (16 if LONG else 4) * MEMORY
CANARY = Path("/tmp/sidecall-canary")  # where the attacks would like to make a node
ALLOWED = {(1, 3), (1, 5)}
ATTRIBUTES = {"trusted.overlay.x"}
RULES = [
    {"emulate": "mknod", "options": {"devices": ["c 1:3", "c 1:5"]}},
    {"emulate": "xattr", "options": {"names": ["trusted.overlay.*"]}},
    {"emulate": "sysinfo"},
    {"emulate": "uname", "options": {"release": RELEASE}},
]
# Those in which two sides race: each must have won, or nothing was shown.
RACES = ["rewrite-path", "swap-link", "swap-descriptor", "rewrite-attribute-name",
         "flip-protection", "string-at-page-end"]
LIVES = ["kill-callers", "execute-during-calls", "stop-callers", "many-threads",
         "leave-namespaces", "hold-actors-up", "at-memory-limit"]


@pytest.fixture
def canary():
    CANARY.mkdir()
    CANARY.chmod(0o777)
    yield CANARY
    shutil.rmtree(CANARY)


@contextlib.contextmanager
def an_attacker(crun, programs, wish):
    with crun.start(wish) as attacker:
        root = crun.root(attacker.name)
        shutil.copy(programs / "hostile_caller", root / "hostile_caller")
        bundle.give_to(root / "hostile_caller", bundle.FIRST_ID)
        yield attacker


@pytest.fixture
def attacked(agent, crun, programs):
    """A container that is to attack, and one beside it that calls and checks all the while."""
    agent.write_policy("attacked", *RULES)
    wish = Wish(policy="attacked", memory=ATTACKERS_MEMORY, fuse=True)
    with an_attacker(crun, programs, wish) as attacker, \
            crun.start(Wish(policy="serving", memory=MEMORY)) as other:
        def neighbour():
            return Load(programs, crun, other, RELEASE, MEMORY, threads=1)

        quiet = neighbour()
        time.sleep(0.3)
        quiet = quiet.finish()
        load = neighbour()
        yield attacker
        outcome = load.finish()
        assert outcome.wrong == 0, outcome
        print(f"the neighbour's p99: quiet {quiet.p99_us} us, under attack {outcome.p99_us} us, "
              f"{outcome.p99_us / quiet.p99_us:.2f} times")


def attack(container, name, **environment):
    settings = "".join(f"{key}={value} " for key, value in environment.items())
    outcome = container.run(f"rm -rf /tmp/{name}; mkdir /tmp/{name} && cd /tmp/{name} && "
                            f"{settings}/hostile_caller {name}")
    assert outcome.status == 0, outcome
    return json.loads(outcome.text.splitlines()[-1])


def check_nothing_gained(root, canary):
    assert list(canary.iterdir()) == []
    for place, _, names in os.walk(root / "tmp"):
        for name in names:
            path = Path(place, name)
            about = path.lstat()
            if stat.S_ISBLK(about.st_mode) or stat.S_ISCHR(about.st_mode):
                assert (os.major(about.st_rdev), os.minor(about.st_rdev)) in ALLOWED, path
                assert about.st_uid == bundle.FIRST_ID, path
            elif stat.S_ISREG(about.st_mode):
                trusted = {a for a in os.listxattr(path) if a.startswith("trusted.")}
                assert trusted <= ATTRIBUTES, path


def check_served(container, agent, workers):
    assert container.run("uname -r").text == RELEASE
    assert container.run("mknod /tmp/after c 1 3 && rm /tmp/after").status == 0
    assert agent.workers() == workers, "a worker died"


@pytest.mark.parametrize("name", RACES)
def test_what_changes_under_a_call_gains_nothing(name, attacked, agent, crun, canary):
    workers = agent.workers()
    seen = attack(attacked, name)
    assert seen["one"] > 0 and seen["other"] > 0, f"it raced with nobody: {seen}"
    assert seen["neither"] == 0, seen
    check_nothing_gained(crun.root(attacked.name), canary)
    check_served(attacked, agent, workers)


@pytest.mark.parametrize("name", LIVES)
def test_callers_may_be_anything(name, attacked, agent, crun, canary):
    workers = agent.workers()
    seen = attack(attacked, name, HOSTILE_THREADS=THREADS)
    assert seen["one"] > 0 and seen["other"] > 0 and seen["neither"] == 0, seen
    if name == "many-threads":
        assert seen["other"] == THREADS, "there were fewer"
    check_nothing_gained(crun.root(attacked.name), canary)
    check_served(attacked, agent, workers)


def test_calls_beyond_the_limits_are_refused_and_counted(agent, crun, programs, control_client):
    """All threads are held up, and what comes then gets EAGAIN instead of waiting for ever."""
    agent.write_policy("limited", *RULES, limits={"threads": 4, "calls": 30, "wait_seconds": 1})
    with an_attacker(crun, programs, Wish(policy="limited", fuse=True)) as container:
        seen = attack(container, "hold-actors-up", HOSTILE_CALLERS=60)
        assert seen["neither"] > 0, seen
        assert seen["error"] == os.strerror(errno.EAGAIN), seen
        assert control_client.sandbox(container.id).refused_calls >= 30
        assert agent.log.read_text().count("limits") == 1
        assert container.run("mknod /tmp/after c 1 3").status == 0


def test_memory_of_worker_and_helper_is_limited(agent, crun):
    agent.write_policy("limited", *RULES, limits={"memory_mib": 40})
    with crun.start(Wish(policy="limited")) as container:
        container.run("mknod /tmp/null c 1 3")
        for pid in [*agent.workers(), *agent.helpers()]:
            limit = resource.prlimit(pid, resource.RLIMIT_DATA)
            assert limit == (40 * MEBIBYTE, 40 * MEBIBYTE), pid


MOST_TIMES = 1.2  # that a neighbour's p99 may grow to


@pytest.mark.skipif(not LONG, reason="SIDECALL_LONG=1 measures what neighbours notice")
@pytest.mark.parametrize("name", RACES + LIVES)
def test_a_neighbour_on_another_cpu_notices_nothing(name, agent, crun, programs):
    """The best of a few: what is asserted is what an attack does to it, and not what else the
    machine was doing."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("two CPUs are needed")
    agent.write_policy("attacked", *RULES)
    theirs, ours = str(cpus[0]), str(last_cpu())
    wish = Wish(policy="attacked", memory=ATTACKERS_MEMORY, fuse=True, cpus=theirs)
    with an_attacker(crun, programs, wish) as attacker, \
            crun.start(Wish(policy="serving", memory=MEMORY, cpus=ours)) as other:
        def p99(meanwhile):
            load = Load(programs, crun, other, RELEASE, MEMORY, threads=1)
            meanwhile()
            return load.finish().p99_us

        times = []
        for _ in range(5):
            quiet = p99(lambda: time.sleep(1))
            times.append(p99(lambda: attack(attacker, name, HOSTILE_THREADS=THREADS)) / quiet)
    print(f"{name}: the neighbour's p99 grew to {sorted(times)} times")
    assert min(times) <= MOST_TIMES, times


def interrupted(agent, crun, programs, **policy):
    """What callers saw whom a signal took out of calls that must not be made twice."""
    agent.write_policy("interrupted", *RULES, **policy)
    wish = Wish(policy="interrupted", memory=MEMORY)
    with an_attacker(crun, programs, wish) as container:
        seen = attack(container, "interrupt-calls")
    assert seen["one"] > 100 and seen["other"] > 100, f"no signal met a call: {seen}"
    return seen


def test_a_call_that_a_signal_cannot_interrupt_is_made_once(agent, crun, programs):
    assert interrupted(agent, crun, programs, wait_killable=True)["neither"] == 0


def test_a_call_that_a_signal_interrupts_is_made_once(agent, crun, programs):
    """But for those whose answer the kernel took and then lost to a signal of the same moment."""
    seen = interrupted(agent, crun, programs)
    assert seen["neither"] <= seen["one"] // 50, seen


def test_a_frozen_container_costs_nobody_anything(attacked, agent, crun, canary):
    """Frozen and thawed with calls under way."""
    freezer = cgroup.directory(attacked.pid, "freezer") / "freezer.state"
    if not freezer.exists():
        pytest.skip("no freezer hierarchy (cgroup v1)")
    workers = agent.workers()
    attacked.shell.start("mkdir /tmp/frozen && cd /tmp/frozen && /hostile_caller kill-callers")
    for state in ["FROZEN", "THAWED"] * 20:
        freezer.write_text(state)
    assert attacked.shell.finish().status == 0
    check_nothing_gained(crun.root(attacked.name), canary)
    check_served(attacked, agent, workers)


def test_the_container_sees_neither_worker_nor_helper(attacked, agent):
    for pid in [*agent.workers(), *agent.helpers()]:
        assert attacked.run(f"ls /proc/{pid}").status != 0 or \
            "sidecall" not in attacked.run(f"cat /proc/{pid}/comm").text
    listed = attacked.run("cat /proc/[0-9]*/comm").text
    assert "sidecall" not in listed


def test_worker_and_helper_are_confined(attacked, agent):
    attacked.run("mknod /tmp/null c 1 3")
    for pid in [*agent.workers(), *agent.helpers()]:
        assert processes.status_field(pid, "NoNewPrivs") == "1"
        assert processes.status_field(pid, "Seccomp") == "2"
        refused = subprocess.run(["cat", f"/proc/{pid}/environ"], capture_output=True, text=True)
        assert refused.stdout == ""
