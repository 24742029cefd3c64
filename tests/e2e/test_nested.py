"""A container in a container: a crun that is served as any other program in there."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import bundle, shipped
from harness.bundle import ALL_CAPABILITIES, Wish
from harness.image import Image

# With the image of a filesystem besides.
RULES = shipped.rules("nested-containers", mount={"filesystems": ["ext4"], "devices": ["b 7:*"]})

# What the inner container's first process does, and says.
INNER = """set -e
test $$ = 1
mkdir /data
mount -t ext4 /image /data
stat -f -c %T /proc /data
ls /data
echo text >/dev/null
mknod /data/null c 1 3
stat -c '%F %t:%T %u:%g' /dev/zero /data/null
rm /data/null
"""
SAYS = """proc
ext2/ext3
inside
lost+found
zero
character special file 1:5 65534:65534
character special file 1:3 0:0"""

# crun wants something there in order to tell that there are no cgroups for it.
RUN = """mount -t tmpfs none /sys/fs/cgroup
crun --root /tmp/crun --cgroup-manager=disabled run --bundle /inner inner"""


def make_inner_bundle(outer_root):
    """/inner: a bundle without a user namespace of its own."""
    directory = outer_root / "inner"
    bundle.make_root(directory / "rootfs")
    subprocess.run(["crun", "spec"], cwd=directory, check=True)
    path = directory / "config.json"
    config = json.loads(path.read_text())
    config["process"] |= {"terminal": False, "args": ["sh", "-c", INNER]}
    capabilities = config["process"]["capabilities"]
    for kind in ["bounding", "effective", "permitted"]:
        capabilities[kind] += ["CAP_MKNOD", "CAP_SYS_ADMIN"]
    config["root"]["readonly"] = False
    config["mounts"] = [mount for mount in config["mounts"]
                        if mount["type"] not in ("cgroup", "sysfs")]
    linux = config["linux"]
    del linux["resources"]
    linux["namespaces"] = [{"type": kind} for kind in ["pid", "ipc", "uts", "mount"]]
    path.write_text(json.dumps(config))
    bundle.give_to(directory, bundle.FIRST_ID)


def test_nested_container_starts_with_what_it_mounts(agent, crun, work):
    if Path(shutil.which("crun")).parts[1] != "usr":
        pytest.skip("crun is not below /usr, which is what a container gets of the host")
    agent.write_policy("nested", *RULES)

    def run(wish, image):
        with crun.start(wish) as container:
            root = crun.root(container.name)
            make_inner_bundle(root)
            image.put_node(root / "inner" / "rootfs" / "image", bundle.FIRST_ID)
            return container.run(RUN)

    with Image(work) as image:
        if not image.number:
            pytest.skip("no loop device, or no mkfs.ext4")
        wish = {"host_programs": True, "capabilities": tuple(ALL_CAPABILITIES)}
        off = run(Wish(served=False, **wish), image)
        assert off.status != 0
        assert off.text == "mount: permission denied (are you root?)"
        on = run(Wish(policy="nested", **wish), image)
    assert on.text == SAYS
    assert on.status == 0
