"""`sidecall top`, of a container that calls."""

import json
import subprocess

from conftest import last_cpu
from harness.bundle import Wish

LOOP = "i=0; while [ $i -lt 4000 ]; do uname -r; mknod /tmp/none/null c 1 3; i=$((i+1)); done"


def top(agent, *arguments):
    return subprocess.run(agent.client("top", "--once", *arguments), check=True, text=True,
                          capture_output=True).stdout


def test_what_is_called_right_now(agent, crun):
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        container.shell.start(LOOP + " >/dev/null 2>&1")
        [sandbox] = json.loads(top(agent, "--json"))["sandboxes"]
        table = top(agent)
        container.shell.finish(patience=120)
    calls = {call["name"]: call for call in sandbox["syscalls"]}
    assert (sandbox["id"], sandbox["policy"]) == (container.id, "serving")
    assert sandbox["cpus"] == str(last_cpu())
    assert calls["uname"]["done_per_second"] == calls["uname"]["calls_per_second"] > 0
    node = calls.get("mknod") or calls["mknodat"]
    assert node["errnos_per_second"] == node["calls_per_second"] > 0
    assert all(len(line) <= 80 for line in table.splitlines())
    assert "uname" in table and "100%" in table


def test_nothing_to_see(agent):
    assert json.loads(top(agent, "--json"))["sandboxes"] == []
    assert top(agent).startswith("SANDBOX")
    done = subprocess.run(agent.client("top", "--once", "web1"), capture_output=True, text=True)
    assert done.returncode == 1 and "no sandbox" in done.stderr
