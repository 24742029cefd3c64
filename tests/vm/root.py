"""The root file system of a machine: busybox, Python, crun, sidecall and what checks it."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from harness import bundle

PYTHON = Path("/usr/bin/python3.11")
MODULES = Path(sysconfig.get_path("stdlib"))
PACKAGES = Path("/usr/lib/python3/dist-packages")
NOT_USED = shutil.ignore_patterns("config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3",
                                  "pydoc_data", "tkinter")
SIDECALL = Path("/sidecall")  # where programs and checks are inside


def make_initramfs(repository, programs, work):
    """Writes the root as the archive that a kernel starts from. Returns its path."""
    root = work / "root"
    shutil.rmtree(root, ignore_errors=True)
    bundle.make_root(root)
    bundle.make_room_for_host_programs(root)
    for name in ["bin", "lib", "lib64"]:
        (root / "usr" / name).mkdir()
    _add_sidecall(root, repository, programs)
    _add_host_programs(root)
    archive = work / "initramfs.cpio"
    with archive.open("wb") as output:
        subprocess.run(["sh", "-c", "find . | cpio --quiet --create --format=newc --owner=+0:+0"],
                       cwd=root, stdout=output, check=True)
    shutil.rmtree(root)
    return archive


def _add_sidecall(root, repository, programs):
    inside = _below(root, SIDECALL)
    for program in programs.glob("sidecall*"):
        stripped = _below(root, SIDECALL / "bin" / program.name)
        stripped.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["strip", "--strip-debug", "-o", stripped, program], check=True)
        _add_libraries(root, program)
    for tests in ["tests/vm", "tests/e2e/harness"]:
        shutil.copytree(repository / tests, inside / tests)
    (root / "init").symlink_to(SIDECALL / "tests/vm/init")


def _add_host_programs(root):
    for program in [Path(shutil.which("crun")), PYTHON]:
        _add_file(root, program)
        _add_libraries(root, program)
    _below(root, PYTHON.with_name("python3")).symlink_to(PYTHON.name)
    shutil.copytree(MODULES, _below(root, MODULES), ignore=NOT_USED)
    # The harness speaks to an agent through it.
    shutil.copytree(PACKAGES / "grpc", _below(root, PACKAGES / "grpc"))
    for extension in root.rglob("*.so"):
        _add_libraries(root, extension)


def _add_libraries(root, program):
    """What the loader finds for a program or library, by the same names. A static one has none."""
    listed = subprocess.run(["ldd", program], text=True, capture_output=True).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        _add_file(root, Path(library))


def _add_file(root, path):
    inside = _below(root, path)
    inside.parent.mkdir(parents=True, exist_ok=True)
    if not inside.exists():
        shutil.copy(path, inside)


def _below(root, path):
    return root / path.relative_to("/")
