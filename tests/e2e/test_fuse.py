"""Filesystems that a program serves: what a container has written never meets the kernel's own code
for them."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import bundle
from harness.bundle import FIRST_ID, Wish
from harness.image import Image
from harness.wait import eventually

WITHOUT = {"emulate": "mount", "options": {"filesystems": ["ext4: ro"], "devices": ["b 7:*"]}}
FUSE = {"emulate": "mount", "options": WITHOUT["options"] | {"fuse": ["ext4: fuse2fs"]}}

# mount(8) would first make a loop device of an image file: this is mount(2) and no more.
MOUNT = """perl -e 'my ($source, $place, $type) = (@ARGV, "ext4");
    syscall(165, $source, $place, $type, 0, 0) == 0 or die "mount: $!\\n"'"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("fuse2fs") and shutil.which("mkfs.ext4") and Path("/dev/fuse").exists()
         and os.uname().machine == "x86_64"),  # of which 165 is mount(2)
    reason="no fuse2fs, no mkfs.ext4, no FUSE or no x86_64 here")


def put_image(root):
    """/image.ext4, the container's own, with a file "inside"."""
    image = root / "image.ext4"
    with image.open("wb") as file:
        file.truncate(4 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    subprocess.run(["debugfs", "-w", "-R", "write /dev/null inside", image], check=True,
                   capture_output=True)
    bundle.give_to(image, FIRST_ID)
    return image


def becomes_clean(image):
    """Once the program has written it all, and closed it."""
    def clean():
        return subprocess.run(["e2fsck", "-fn", image], capture_output=True).returncode == 0
    eventually(clean, "the image is clean")


@pytest.fixture
def served(agent, crun):
    agent.write_policy("fuse", FUSE)
    with crun.start(Wish(policy="fuse", host_programs=True)) as container:
        yield container


def test_an_image_file_is_mounted_used_and_left_clean(served, crun):
    image = put_image(crun.root(served.name))
    outcome = served.run(f"""mkdir /tmp/at && {MOUNT} /image.ext4 /tmp/at &&
        stat -f -c %T /tmp/at && ls /tmp/at && echo words >/tmp/at/new &&
        chown 1000:1000 /tmp/at/new && stat -c %u:%g:%s /tmp/at/new && umount /tmp/at &&
        ls -A /tmp/at""")
    assert outcome.text.split() == ["fuseblk", "inside", "lost+found", "1000:1000:6"]
    becomes_clean(image)
    read = subprocess.run(["debugfs", "-R", "cat new", image], capture_output=True, text=True)
    assert read.stdout == "words\n"


@pytest.mark.parametrize("mount", ["/usr/bin/mount", "/bin/busybox mount"])
def test_a_device_is_mounted_by_mount(served, crun, work, mount):
    with Image(work) as image:
        if not image.number:
            pytest.skip("no loop device")
        root = crun.root(served.name)
        image.put_node(root / "image", FIRST_ID)
        outcome = served.run(f"""mkdir /tmp/at && {mount} -t ext4 -o ro /image /tmp/at &&
            stat -f -c %T /tmp/at && stat -c %u:%g /tmp/at/inside && ! touch /tmp/at/new &&
            umount /tmp/at""")
        assert outcome.status == 0, outcome
        assert outcome.text.splitlines()[:2] == ["fuseblk", "0:0"]


@pytest.mark.parametrize("rules, message", [
    ((), "Operation not permitted"),
    ((WITHOUT,), "Block device required"),  # by the kernel's driver, for which it is the wrong file
])
def test_what_is_not_listed_is_as_before(agent, crun, rules, message):
    agent.write_policy("without", *rules)
    with crun.start(Wish(policy="without", host_programs=True)) as container:
        put_image(crun.root(container.name))
        outcome = container.run(f"mkdir /tmp/at && {MOUNT} /image.ext4 /tmp/at")
        assert outcome.text == f"mount: {message}"


def test_a_mount_outlives_its_worker(served, agent, crun):
    image = put_image(crun.root(served.name))
    mount = f"{MOUNT} /image.ext4 /tmp/at"
    assert served.run(f"mkdir /tmp/at && {mount} && echo before >/tmp/at/file").status == 0
    [first] = agent.workers()
    os.kill(first, signal.SIGKILL)
    assert served.run("echo after >>/tmp/at/file && cat /tmp/at/file").text == "before\nafter"
    eventually(lambda: agent.workers() not in ([], [first]), "there is another worker")
    assert served.run("umount /tmp/at").status == 0
    becomes_clean(image)
    assert served.run(f"{mount} && cat /tmp/at/file").text == "before\nafter"


def test_a_mount_ends_with_its_container(agent, crun, work):
    agent.write_policy("fuse", FUSE)
    with crun.start(Wish(policy="fuse", host_programs=True)) as container:
        image = put_image(crun.root(container.name))
        script = f"mkdir /tmp/at && {MOUNT} /image.ext4 /tmp/at && echo words >/tmp/at/new"
        assert container.run(script).status == 0
        assert len(agent.launchers()) == 2
        kept = work / "kept"  # when the container and all its files have gone
        os.link(image, kept)
    becomes_clean(kept)
    eventually(lambda: not agent.launchers(), "nothing is left of it")
