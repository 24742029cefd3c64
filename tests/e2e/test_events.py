"""What happens, as events and as lines of the agent's log."""

import json
import os
import re
import signal
import subprocess

from conftest import last_cpu
from harness.bundle import Wish
from harness.wait import eventually


class Follower:
    """`sidecall events --follow --json`. A context manager."""

    def __init__(self, agent, work, *arguments):
        self._output = work / "events"
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                agent.client("events", "--follow", "--json", *arguments), stdout=output)

    def events(self):
        return [json.loads(line) for line in self._output.read_text().splitlines(keepends=True)
                if line.endswith("\n")]

    def wait_for(self, kind, **fields):
        """The first event of this kind with these fields."""
        def found():
            return next((event for event in self.events() if event["kind"] == kind and
                         fields.items() <= {**event, **event.get("call", {})}.items()), None)
        eventually(found, f"{kind} {fields}")
        return found()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()


def test_a_life_is_told(agent, crun, work):
    with Follower(agent, work) as follower:
        with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
            follower.wait_for("SANDBOX_APPEARED", sandbox=container.id, policy="serving")
            [worker] = agent.workers()
            os.kill(worker, signal.SIGKILL)
            restarted = follower.wait_for("WORKER_RESTARTED", sandbox=container.id)
            assert restarted["worker_pid"] in agent.workers()
            container.run("mknod /tmp/none/null c 1 3")
            follower.wait_for("CALL_DENIED", sandbox=container.id, errno_name="ENOENT")
            identity = container.id
        follower.wait_for("SANDBOX_ENDED", sandbox=identity)
    recent = subprocess.run(agent.client("events", identity), capture_output=True, text=True,
                            check=True).stdout
    assert re.findall(r"^\S+ \S+ (\S+)", recent, re.M) == [
        "sandbox-appeared", "worker-restarted", "sandbox-ended"]


def test_emulated_calls_are_told_to_who_asks(agent, crun, work):
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container, \
            Follower(agent, work, "--kind", "call-emulated") as follower:
        def told():
            container.run("uname -r")
            return follower.events()
        eventually(told, "an emulated call is told")
        assert {event["kind"] for event in follower.events()} == {"CALL_EMULATED"}
        follower.wait_for("CALL_EMULATED", sandbox=container.id, syscall="uname", abi="x86_64")


def test_a_privileged_step_leaves_an_audit_record(agent, crun):
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        container.run("mkdir /tmp/a && cd /tmp/a && mknod null c 1 3 && mknod 'b c' c 1 5")
        identity = container.id
    lines = [line for line in agent.log.read_text().splitlines() if "privileged step" in line]
    for what in ["node c 1:3 at /tmp/a/null", "node c 1:5 at /tmp/a/b c"]:
        assert any(f'what="{what}" verdict=done' in line and f"sandbox={identity} " in line and
                   re.search(r" tid=\d+ uid=0 syscall=mknod(at)? ", line) for line in lines), lines
