"""A filesystem image behind a loop device of the host."""

import os
import shutil
import stat
import subprocess
from pathlib import Path


class Image:
    """An ext4 filesystem with the file "inside" and the node "zero" (c 1:5), in `work`. A context
    manager, whose `number` is (7, N); None where the machine lacks what it takes."""

    def __init__(self, work):
        self._file = work / "filesystem"
        self._device = None

    @property
    def number(self):
        if not self._device:
            return None
        device = os.stat(self._device).st_rdev
        return os.major(device), os.minor(device)

    def put_node(self, path, owner=0):
        """Makes the device's node at `path`, where there is a device."""
        if self._device:
            os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(*self.number))
            os.chown(path, owner, owner)

    def __enter__(self):
        if not (shutil.which("mkfs.ext4") and Path("/dev/loop-control").exists()):
            return self
        with self._file.open("wb") as file:
            file.truncate(4 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self._file], check=True)
        subprocess.run(["debugfs", "-w", "-f", "-", self._file], check=True, capture_output=True,
                       input=b"write /dev/null inside\nmknod zero c 1 5\n")
        found = subprocess.run(["losetup", "--find", "--show", self._file],
                               capture_output=True, text=True)
        self._device = found.stdout.strip() or None
        return self

    def __exit__(self, *_):
        if self._device:
            subprocess.run(["losetup", "--detach", self._device], check=True)
        self._file.unlink(missing_ok=True)


NO_IMAGE = Image(Path("/nowhere"))
