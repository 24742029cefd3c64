"""A running container is put under another policy."""

import os
import signal
import subprocess

from conftest import RELEASE, last_cpu
from harness.bundle import Wish

STRICT = [{"emulate": "uname", "options": {"release": "7.7.7"}},
          {"syscalls": ["mknod", "mknodat"], "errno": "EACCES"},
          {"syscalls": ["keyctl"], "errno": "ENOSYS"}]
MORE = [{"emulate": "mknod", "options": {"devices": ["c 1:9"]}},
        {"emulate": "uname", "options": {"release": "8.8.8"}}]


def put_under(agent, container, policy):
    """What `sidecall policy set` says."""
    done = subprocess.run(agent.client("policy", "set", container.id, policy), text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_another_policy_decides(agent, crun, control_client):
    agent.write_policy("strict", *STRICT)
    agent.write_policy("more", *MORE)
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        assert container.run("mknod /tmp/null c 1 3; uname -r").text == RELEASE
        before = control_client.sandbox(container.id)
        said = put_under(agent, container, "strict")
        assert "keyctl: the container's filter does not hand it over" in said
        assert "sysinfo: no longer in the policy" in said
        assert container.run("uname -r").text == "7.7.7"
        assert "Permission denied" in container.run("mknod /tmp/zero c 1 5").text
        after = control_client.sandbox(container.id)
        assert (after.policy, after.worker_restarts) == ("strict", 0)
        assert after.worker_pid != before.worker_pid
        assert agent.workers() == [after.worker_pid]
        counted = sum(call.calls for call in after.syscalls if call.name == "uname")
        assert counted >= 2, "figures go on"

        put_under(agent, container, "more")
        assert container.run("mknod /tmp/urandom c 1 9; uname -r").text == "8.8.8"
        assert "Operation not permitted" in container.run("mknod /tmp/zero c 1 5").text


def test_it_stays_through_deaths(stopped_agent, crun):
    agent = stopped_agent
    agent.start()
    agent.write_policy("strict", *STRICT)
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        put_under(agent, container, "strict")
        [worker] = agent.workers()
        os.kill(worker, signal.SIGKILL)
        assert container.run("uname -r").text == "7.7.7"
        agent.kill()
        agent.start()
        [worker] = agent.workers()
        os.kill(worker, signal.SIGKILL)
        assert container.run("uname -r").text == "7.7.7"
        with container.exec_shell() as second:
            assert second.run("uname -r").text == "7.7.7"


def test_no_call_fails_meanwhile(agent, crun):
    agent.write_policy("more", *MORE, {"emulate": "sysinfo"})
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        container.shell.start("i=0; while [ $i -lt 1500 ]; do uname -r && mknod /tmp/n$i p || echo bad;"
                        " i=$((i+1)); done | sort | uniq -c")
        for turn in range(10):
            put_under(agent, container, "serving" if turn % 2 else "more")
        lines = container.shell.finish().text.split("\n")
    counts = {release: int(count) for count, release in (line.split() for line in lines)}
    assert sum(counts.values()) == 1500
    assert set(counts) <= {RELEASE, "8.8.8"}


def test_what_cannot_be_set_is_said_and_changes_nothing(agent, crun, work):
    bad = work / "bad.json"
    bad.write_text('{"rules": [{"emulate": "unam"}]}')
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        for arguments, cause in [(("nobody", "serving"), "no sandbox"),
                                 ((container.id, bad), "$.rules[0]"),
                                 ((container.id, "none"), "none.json")]:
            done = subprocess.run(agent.client("policy", "set", *arguments), text=True,
                                  capture_output=True)
            assert done.returncode == 1
            assert cause in done.stderr and done.stderr.count("\n") == 1
        assert container.run("uname -r").text == RELEASE
