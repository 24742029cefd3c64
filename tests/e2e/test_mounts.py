"""mount and umount of util-linux and of busybox, by root of a container."""

from dataclasses import dataclass

import pytest

from harness.bundle import CAPABILITIES
from harness.image import Image
from harness.program import Program

RULES = (
    {"emulate": "mount",
     "options": {"filesystems": ["tmpfs: size,mode", "overlay: *", "proc", "ext4"],
                 "devices": ["b 7:*"], "callers": "root"}},
    {"emulate": "umount", "options": {"callers": "root"}},
)
FLAVOURS = {"util-linux": "/usr/bin/", "busybox": "/bin/busybox "}
LAYERS = "lowerdir=/tmp/work/lower,upperdir=/tmp/work/upper,workdir=/tmp/work/inner,userxattr"


@dataclass(frozen=True)
class Filesystem:
    arguments: str  # of mount
    show: str  # what is to be seen in "place"
    admin: bool = False  # by a caller with CAP_SYS_ADMIN, which engines do not grant by default
    needs_image: bool = False  # a device at /image

    def program(self, prefix):
        """Mounts it and takes it off, twice."""
        mount = f"{prefix}mount {self.arguments} place"
        umount = f"{prefix}umount place"
        return Program(
            f"mkdir place lower upper inner && echo text >lower/file && {mount} && "
            f"stat -f -c %T place && {self.show} && {umount} && ls -A place && {mount} && {umount}",
            rules=RULES,
            capabilities=tuple(name for name in CAPABILITIES
                               if self.admin or name != "SYS_ADMIN"))


FILESYSTEMS = {
    "tmpfs": Filesystem("-t tmpfs -o nosuid,size=64k,mode=750 none", "stat -c %a:%u:%g place"),
    "overlay": Filesystem(f"-t overlay -o {LAYERS} none",
                          "cat place/file && echo new >place/new && cat upper/new"),
    "proc": Filesystem("-t proc proc", "cat place/self/comm"),
    "device": Filesystem("-t ext4 /image", "stat -c '%n %F %a %u:%g' place/*", admin=True,
                         needs_image=True),
    "device-without-the-right": Filesystem(
        "-t ext4 -o ro /image", "ls place && ! touch place/file 2>/dev/null", needs_image=True),
}


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", FILESYSTEMS)
def test_mounts_what_root_of_the_host_mounts(name, flavour, agent, crun, work):
    filesystem = FILESYSTEMS[name]
    with Image(work) as image:
        if filesystem.needs_image and not image.number:
            pytest.skip("no loop device, or no mkfs.ext4")
        filesystem.program(FLAVOURS[flavour]).check(agent, crun, work, image)
