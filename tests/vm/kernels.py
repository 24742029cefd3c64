"""Debian's kernels, fetched by apt into directories of our own: the host's apt learns nothing."""

import subprocess
from dataclasses import dataclass

PACKAGE = "linux-image-cloud-amd64"  # depends on the package that has the kernel
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


class CannotFetch(Exception):
    """This machine gets no such kernel."""


@dataclass(frozen=True)
class Kernel:
    name: str
    suite: str  # of Debian, where its package is
    has_sync_wake_up: bool

    def fetch(self, work):
        """The kernel's image below `work`, where it stays for the next time."""
        directory = work / self.suite
        if not (directory / "boot").exists():
            self._unpack(directory)
        [image] = (directory / "boot").glob("vmlinuz-*")
        return image

    def _unpack(self, directory):
        for private in ["state/lists/partial", "cache/archives/partial"]:
            (directory / private).mkdir(parents=True, exist_ok=True)
        source = directory / "sources.list"
        source.write_text(f"deb [signed-by={KEYS}] {_mirror()} {self.suite} main\n")
        options = [f"--option={key}={value}" for key, value in {
            "Dir::Etc::SourceList": source, "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State": directory / "state", "Dir::Cache": directory / "cache",
            "APT::Sandbox::User": "root"}.items()]
        _run("apt-get", *options, "update", "--error-on=any")
        depends = _run("apt-cache", *options, "depends", PACKAGE).split()
        package = depends[depends.index("Depends:") + 1]
        _run("apt-get", *options, "download", package, cwd=directory)
        [archive] = directory.glob("*.deb")
        _run("sh", "-c", 'dpkg-deb --fsys-tarfile "$1" | tar -x ./boot', "sh", archive,
             cwd=directory)
        archive.unlink()


KERNELS = {kernel.name: kernel for kernel in [
    Kernel("6.1", "bookworm", has_sync_wake_up=False),
    Kernel("6.12", "bookworm-backports", has_sync_wake_up=True),
]}


def _mirror():
    """Where this machine gets Debian's packages from."""
    mirrors = _run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                   "Codename: bookworm", "Component: main").split()
    if not mirrors:
        raise CannotFetch("apt has no source of Debian 12's packages here")
    return mirrors[0]


def _run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        raise CannotFetch((done.stderr.strip() or f"{command[0]} failed").splitlines()[-1])
    return done.stdout
