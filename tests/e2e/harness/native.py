"""The host itself, as root: what a program gives where nothing is between it and the kernel."""

import shutil
import subprocess

from . import bundle
from .shell import Outcome
from .wait import PATIENCE_SECONDS


class NativeRoot:
    """A root directory like a container's, with the host's /usr, in `work`. A context manager.

    Its scripts run as root of the host, with mounts of their own."""

    def __init__(self, work):
        self.root = work / "native"
        bundle.make_root(self.root)
        bundle.make_room_for_host_programs(self.root)

    def run(self, script):
        # A mount of its own, as a container's root is.
        mount = ('mount --bind "$0" "$0" && mount --bind -o ro /usr "$0/usr" && '
                 'mount --bind /dev "$0/dev" && mount -t proc proc "$0/proc"')
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", f'{mount} && exec chroot "$0" sh -c "$1"',
             self.root, script],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=PATIENCE_SECONDS)
        return Outcome(done.returncode, done.stdout.strip())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)
