"""A container whose init is systemd: it boots with mounts intercepted as it does without."""

import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness import bundle, cgroup, engines, shipped
from harness.bundle import ALL_CAPABILITIES, CAPABILITIES, Wish
from harness.image import Image

SYSTEMD = Path("/usr/lib/systemd/systemd")
BOOTED = 7  # its status where it came to the end
RULES = shipped.rules("systemd-in-container",
                      mount={"filesystems": ["ext4: *"], "devices": ["b 7:*"]})

# What an image of a machine has in /etc/fstab.
FSTAB = """tmpfs /tmp tmpfs mode=1777,size=1m,nofail 0 0
/image /srv ext4 nofail 0 0
"""
# The last to start. Tells what has become of everything, and ends the machine.
TELL = f"""[Unit]
After=multi-user.target
DefaultDependencies=no

[Service]
Type=oneshot
ExecStart=/bin/sh -c '/usr/bin/systemctl list-units --plain --no-legend --no-pager --full --all \
    --type=mount,automount,swap,target,slice >/units; sort /proc/self/mounts >/mounts'
ExecStart=/usr/bin/systemctl --no-block exit {BOOTED}
"""


@dataclass(frozen=True)
class Machine:
    """What the container was when it had booted."""

    reached: set  # targets
    failed: set  # units
    mounts: dict  # file system and options by place


def make_machine(root):
    """What systemd finds in its root directory, beside the host's /usr."""
    units = root / "etc" / "systemd" / "system"
    wanted = units / "multi-user.target.wants"
    for path in [wanted, root / "srv", root / "run", root / "var"]:
        path.mkdir(parents=True)
    (root / "etc" / "machine-id").write_text("0123456789abcdef" * 2)
    (root / "etc" / "os-release").write_text("ID=test\n")
    (root / "etc" / "fstab").write_text(FSTAB)
    (units / "default.target").symlink_to("/usr/lib/systemd/system/multi-user.target")
    (units / "tell.service").write_text(TELL)
    (wanted / "tell.service").symlink_to("../tell.service")
    bundle.give_to(root, bundle.FIRST_ID)


def make_bootable(path):
    """Adds to a bundle's configuration, in the file `path`, what systemd asks of a container."""
    config = json.loads(path.read_text())
    config["process"]["env"].append("container=oci")
    config["mounts"] += [
        {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup",
         "options": ["nosuid", "noexec", "nodev"]},
        {"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]}]
    linux = config["linux"]
    linux["resources"] = {}  # a hierarchy without controllers will do
    if {"type": "cgroup"} not in linux["namespaces"]:
        linux["namespaces"].append({"type": "cgroup"})
    path.write_text(json.dumps(config))


def boot(crun, agent, wish, image):
    """Boots it, waits for its end, and gives what it was: None where it did not come that far."""
    name = "on" if wish.served else "off"
    directory = crun.prepare(name, replace(wish, served=False), [str(SYSTEMD)])
    root = crun.root(name)
    make_machine(root)
    image.put_node(root / "image", bundle.FIRST_ID)
    make_bootable(directory / "config.json")
    if wish.served:
        subprocess.run(agent.client("bundle", "add", directory), check=True)
    try:
        ended = crun.run_bundle(name, directory)
        if ended.status != BOOTED:
            return None
        units = [line.split() for line in (root / "units").read_text().splitlines()]
        return Machine(
            reached={unit[0] for unit in units
                     if unit[0].endswith(".target") and unit[2] == "active"},
            failed={unit[0] for unit in units if unit[2] == "failed"},
            mounts={line.split()[1]: " ".join(line.split()[2:4])
                    for line in (root / "mounts").read_text().splitlines()})
    finally:
        crun.clean_up(name)


@pytest.fixture
def unified_crun(stopped_agent, work):
    """crun where cgroup v2 is all there is."""
    if not SYSTEMD.exists():
        pytest.skip(f"{SYSTEMD} is not installed")
    namespace = cgroup.UnifiedNamespace()
    engine = engines.KINDS["crun"](stopped_agent, namespace, work)
    yield engine
    engine.close()
    namespace.close()


@pytest.fixture
def boots(agent, unified_crun, work):
    """boots(capabilities) gives what a machine with them is without sidecall and with it."""
    agent.write_policy("machine", *RULES)
    with Image(work) as image:
        if not image.number:
            pytest.skip("no loop device, or no mkfs.ext4")
        yield lambda capabilities: [
            boot(unified_crun, agent, replace(wish, host_programs=True, capabilities=capabilities),
                 image)
            for wish in [Wish(served=False), Wish(policy="machine")]]


def test_systemd_boots_as_it_does_without_sidecall(boots):
    """Which mounts by its own right what the kernel lets root of a user namespace mount."""
    off, on = boots(tuple(ALL_CAPABILITIES))
    assert off and "multi-user.target" in off.reached
    assert off.mounts["/tmp"].startswith("tmpfs ")
    assert "srv.mount" in off.failed
    # What the policy lists besides is there; all else is as it was.
    assert on.mounts.pop("/srv").startswith("ext4 rw,nodev,")
    on.failed.add("srv.mount")
    assert on == off


def test_systemd_boots_with_what_engines_grant(boots):
    """Which does not include the right to mount: systemd wants a tmpfs at /run/lock, and ends."""
    off, on = boots(tuple(name for name in CAPABILITIES if name != "SYS_ADMIN"))
    assert off is None
    assert on and "multi-user.target" in on.reached
    assert "srv.mount" not in on.failed
    filesystems = {where: on.mounts[where].split()[0] for where in ["/run/lock", "/tmp", "/srv"]}
    assert filesystems == {"/run/lock": "tmpfs", "/tmp": "tmpfs", "/srv": "ext4"}
