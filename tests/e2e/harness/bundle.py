"""OCI bundles: a busybox root and a config.json that a real runtime wrote the most of."""

import json
import os
import shutil
import stat
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

BUSYBOX = Path("/bin/busybox")  # busybox-static: needs nothing else in the root
# Where user namespaces of containers begin on the host, and how many ids they have.
FIRST_ID = 100_000
IDS = 65_536

# What engines grant by default, and what the tests' scripts do beyond that. All of it is relative
# to the container's own user namespace.
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "SETFCAP", "SETGID",
                "SETPCAP", "SETUID", "SYS_ADMIN", "SYS_CHROOT"]

# Every capability there is, in the container's own user namespace.
ALL_CAPABILITIES = [
    *CAPABILITIES, "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF",
    "CHECKPOINT_RESTORE", "DAC_READ_SEARCH", "IPC_LOCK", "IPC_OWNER", "LEASE", "LINUX_IMMUTABLE",
    "MAC_ADMIN", "MAC_OVERRIDE", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW",
    "PERFMON", "SYSLOG", "SYS_BOOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE",
    "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "WAKE_ALARM"]

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Wish:
    """A container as a test wants it, for whichever engine."""

    policy: str | None = None  # the annotation; None: left to the default
    served: bool = True  # prepared for sidecall
    cpus: str | None = None
    memory: int = 64 * MEBIBYTE
    capabilities: tuple = tuple(CAPABILITIES)
    host_programs: bool = False  # the host's /usr, to be read (OCI runtimes only)
    fuse: bool = False  # the device, as /fuse (OCI runtimes only)
    annotations: dict = field(default_factory=dict)
    seccomp: dict | None = None  # the profile that there is without sidecall (OCI runtimes only)

    def all_annotations(self):
        chosen = {"dev.sidecall.policy": self.policy} if self.policy else {}
        return self.annotations | chosen


def make_root(root):
    """A root file system with busybox and a name for each of its applets."""
    for name in ["bin", "dev", "etc", "proc", "root", "sys", "tmp"]:
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    shutil.copy(BUSYBOX, root / "bin")
    applets = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True)
    for applet in applets.stdout.split():
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc" / "group").write_text("root:x:0:\n")


def make_room_for_host_programs(root):
    """Where the host's /usr goes, and the names by which its programs know their libraries."""
    (root / "usr").mkdir()
    for name in ["lib", "lib32", "lib64"]:
        (root / name).symlink_to(f"usr/{name}")


def make_image(work):
    """The same root as a tar archive that engines with images import."""
    make_root(work / "image")
    archive = work / "image.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(work / "image", arcname=".")
    shutil.rmtree(work / "image")
    return archive


def give_to(top, owner):
    """Makes `owner` the user and group of everything from `top` down."""
    for path in [top, *top.rglob("*")]:
        os.chown(path, owner, owner, follow_symlinks=False)


def make_bundle(directory, runtime, wish, command, cgroup):
    """A bundle in `directory`: what `RUNTIME spec` writes, made a user-namespaced container."""
    root = directory / "rootfs"
    make_root(root)
    if wish.host_programs:
        make_room_for_host_programs(root)
    give_to(root, FIRST_ID)
    subprocess.run([runtime, "spec"], cwd=directory, check=True)

    path = directory / "config.json"
    config = json.loads(path.read_text())
    process = config["process"]
    process["terminal"] = False
    process["args"] = command
    capabilities = [f"CAP_{name}" for name in wish.capabilities]
    process["capabilities"] = dict.fromkeys(["bounding", "effective", "permitted"], capabilities)
    config["root"]["readonly"] = False
    config["annotations"] = wish.all_annotations()
    # A cgroup mount differs with the host's layout, and nothing here looks at it.
    config["mounts"] = [mount for mount in config["mounts"] if mount["type"] != "cgroup"]
    if wish.host_programs:
        config["mounts"].append({"destination": "/usr", "source": "/usr", "type": "bind",
                                 "options": ["bind", "ro"]})
    linux = config["linux"]
    linux["namespaces"].append({"type": "user"})
    mapping = [{"containerID": 0, "hostID": FIRST_ID, "size": IDS}]
    linux["uidMappings"] = linux["gidMappings"] = mapping
    linux["cgroupsPath"] = cgroup
    linux["resources"]["memory"] = {"limit": wish.memory}
    if wish.fuse:
        os.mknod(root / "fuse", 0o600 | stat.S_IFCHR, os.makedev(10, 229))
        os.chown(root / "fuse", FIRST_ID, FIRST_ID)
        linux["resources"].setdefault("devices", []).append(
            {"allow": True, "type": "c", "major": 10, "minor": 229, "access": "rw"})
    if wish.seccomp:
        linux["seccomp"] = wish.seccomp
    if wish.cpus:
        linux["resources"]["cpu"] = {"cpus": wish.cpus}
    path.write_text(json.dumps(config, indent=4))
    return root
