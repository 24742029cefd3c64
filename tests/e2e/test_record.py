"""`sidecall profile record`: what a workload was seen to need is enough for it, and nothing more."""

import json
import shutil
import subprocess

from harness.bundle import Wish
from harness.native import NativeRoot
from harness.shell import Shell

TAR = "cd /tmp && busybox tar -xf dev.tar && busybox stat -c '%n %F %t:%T' null d/zero"
TREE = "null character special file 1:3\nd/zero character special file 1:5"
MOUNT = ("mkdir -p /tmp/m && busybox mount -t tmpfs -o size=1m,mode=750 none /tmp/m && "
         "busybox stat -c %a /tmp/m && busybox umount /tmp/m")


def make_archive(work):
    """Device nodes, one of them in a directory."""
    tree = work / "tree"
    (tree / "d").mkdir(parents=True)
    for name, minor in [("null", "3"), ("d/zero", "5")]:
        subprocess.run(["mknod", tree / name, "c", "1", minor], check=True)
    archive = work / "dev.tar"
    subprocess.run(["busybox", "tar", "-C", tree, "-cf", archive, "null", "d"], check=True)
    return archive


def record(agent, work, script, archive, wanted):
    """Runs it as root of the host. The profile and the policy that it needs."""
    recorded = work / "recorded"
    recorded.mkdir()
    with NativeRoot(work) as native:
        shutil.copy(archive, native.root / "tmp")
        command = agent.client("profile", "record", "--output", recorded, "--",
                               "chroot", native.root, "sh")
        beside = ["unshare", "--mount", "sh", "-c", 'mount --bind /dev "$0/dev" && exec "$@"',
                  native.root, *command]
        with Shell([str(word) for word in beside]) as shell:
            outcome = shell.run(script)
    assert (outcome.status, outcome.text) == (0, wanted)
    return [json.loads((recorded / name).read_text()) for name in ["profile.json", "policy.json"]]


def check(agent, engine, work, script, wanted):
    archive = make_archive(work)
    profile, policy = record(agent, work, script, archive, wanted)
    agent.write_policy("recorded", *policy["rules"])
    served = Wish(policy="recorded", seccomp=profile)
    with engine.start(served) as container:
        shutil.copy(archive, engine.root(container.name) / "tmp")
        outcome = container.run(script)
        assert (outcome.status, outcome.text) == (0, wanted)
        # A call that every one of its capabilities would allow, and that was not seen.
        assert "Function not implemented" in container.run("unshare -u true").text
    with engine.start(Wish(served=False, seccomp=profile)) as plain:
        shutil.copy(archive, engine.root(plain.name) / "tmp")
        assert plain.run(script).status != 0, "it takes the policy as well"
    return policy["rules"]


def test_device_nodes_of_an_archive(agent, runtime, work):
    [rule] = check(agent, runtime, work, TAR, TREE)
    assert rule == {"emulate": "mknod", "options": {"devices": ["c 1:3", "c 1:5"]}}


def test_a_mount(agent, crun, work):
    script = "busybox mknod /tmp/null c 1 3 && " + MOUNT
    rules = check(agent, crun, work, script, "750")
    assert rules == [{"emulate": "mknod", "options": {"devices": ["c 1:3"]}},
                     {"emulate": "mount", "options": {"filesystems": ["tmpfs: mode,size"]}}]


def test_only_the_recorded_devices_are_made(agent, crun, work):
    archive = make_archive(work)
    profile, policy = record(agent, work, TAR, archive, TREE)
    agent.write_policy("recorded", *policy["rules"])
    with crun.start(Wish(policy="recorded", seccomp=profile)) as container:
        outcome = container.run("busybox mknod /tmp/full c 1 7")
        assert "Operation not permitted" in outcome.text


def test_the_difference_is_against_the_base(agent, work):
    base = work / "base.json"
    base.write_text(json.dumps({"defaultAction": "SCMP_ACT_ERRNO",
                                "syscalls": [{"names": ["read", "keyctl", "acct"],
                                              "action": "SCMP_ACT_ALLOW"}]}))
    done = subprocess.run(agent.client("profile", "record", "--base", base, "-o", work, "--",
                                       "busybox", "uname"), capture_output=True, text=True)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "Linux" in lines and "+ uname" in lines and "- acct" in lines
    assert not any(line.endswith(" read") for line in lines)


def test_the_commands_status_is_ours(agent, work):
    def status(*command):
        return subprocess.run(agent.client("profile", "record", "-o", work, "--", *command),
                              capture_output=True).returncode
    assert status("sh", "-c", "exit 7") == 7
    assert status("sh", "-c", "kill -9 $$") == 137
    assert status("/nowhere/at/all") == 127
