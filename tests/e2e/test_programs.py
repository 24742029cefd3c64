"""Programs that people run: what they give natively they give in a container with sidecall, too."""

import hashlib
import io
import json
import os
import re
import tarfile
import time
from pathlib import Path

import pytest

from harness import bundle, shipped
from harness.bundle import ALL_CAPABILITIES, FIRST_ID, MEBIBYTE, Wish
from harness.program import Program

# What builds images, and a block device among the nodes.
BUILDING = shipped.rules("image-build", mknod={"devices": ["b 7:0"]})

# Everything that matters of a tree, in one order.
LIST = "find . | LC_ALL=C sort | xargs stat -c '%n %F %a %t:%T %u:%g'"


def make_archive(root):
    """/layer.tar: nodes in nested directories, and an overlay whiteout."""
    path = root / "layer.tar"
    with tarfile.open(path, "w") as archive:
        def add(name, kind, mode, device=(0, 0)):
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, mode
            member.devmajor, member.devminor = device
            archive.addfile(member)

        add("dev", tarfile.DIRTYPE, 0o755)
        add("dev/null", tarfile.CHRTYPE, 0o666, (1, 3))
        add("dev/closed", tarfile.DIRTYPE, 0o555)
        add("dev/closed/zero", tarfile.CHRTYPE, 0o640, (1, 5))
        add("dev/closed/deep", tarfile.DIRTYPE, 0o700)
        add("dev/closed/deep/loop", tarfile.BLKTYPE, 0o660, (7, 0))
        add("dev/pipe", tarfile.FIFOTYPE, 0o600)
    return path


def make_whiteouts(root):
    """/layer.tar: what an image layer in overlay's own form has."""
    path = root / "layer.tar"
    with tarfile.open(path, "w") as archive:
        for name in ["gone", "etc/gone"]:
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.CHRTYPE, 0o000
            archive.addfile(member)
    return path


def make_layer(root):
    """/layer.tar: an image layer as overlay keeps it, with its attributes."""
    path = root / "layer.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, kind, mode, attributes in [
                ("etc", tarfile.DIRTYPE, 0o755, {"opaque": "y"}),
                ("etc/gone", tarfile.CHRTYPE, 0o000, {}),
                ("moved", tarfile.DIRTYPE, 0o700, {"redirect": "/etc/before"}),
                ("file", tarfile.REGTYPE, 0o640, {"metacopy": "x"})]:
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, mode
            member.pax_headers = {f"SCHILY.xattr.trusted.overlay.{key}": value
                                  for key, value in attributes.items()}
            archive.addfile(member)
    return path


def overlay_attributes(root):
    """What root of the host sees of them below /tmp/work."""
    return {(str(path.relative_to(root)), name): os.getxattr(path, name, follow_symlinks=False)
            for path in sorted((root / "tmp" / "work").rglob("*"))
            for name in os.listxattr(path, follow_symlinks=False) if name.startswith("trusted.")}


def make_nodes(root):
    """/nodes: as an administrator gave them to the container."""
    path = root / "nodes"
    (path / "deep").mkdir(parents=True)
    for name, mode, device in [("null", 0o020666, (1, 3)), ("deep/tty", 0o020620, (5, 0)),
                               ("deep/loop", 0o060660, (7, 0))]:
        os.mknod(path / name, mode, os.makedev(*device))
        os.chmod(path / name, mode & 0o7777)
    return path


def make_foreign(root):
    """/foreign: a program and a directory of an owner that a container has not."""
    path = root / "foreign"
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "program").touch()
    (path / "deep" / "program").chmod(0o6755)
    bundle.give_to(path, 50_000)
    mine = root / "mine"
    mine.touch()
    return mine


def add_member(archive, name, data=b""):
    """A directory, or a file that holds `data`; /dev/null where that is None."""
    member = tarfile.TarInfo(name)
    member.mode = 0o755
    if data is None:
        member.type, member.devmajor, member.devminor = tarfile.CHRTYPE, 1, 3
    else:
        member.type, member.size = tarfile.REGTYPE if data else tarfile.DIRTYPE, len(data)
    archive.addfile(member, io.BytesIO(data or b""))


def make_oci_image(root, more=()):
    """/image: in OCI layout, two layers, of which the second has a whiteout and an opaque one. The
    first has the members `more` as well."""
    path = root / "image"
    blobs = path / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(kind, data):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}",
                "size": len(data)}

    layers = []
    for members in [{"etc": b"", "etc/gone": b"x", "etc/kept": b"y", "var": b"", "var/old": b"z",
                     **dict(more)},
                    {"etc": b"", "etc/.wh.gone": b"-", "var": b"", "var/.wh..wh..opq": b"-",
                     "var/new": b"z"}]:
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as archive:
            for name, data in members.items():
                add_member(archive, name, data)
        layers.append(blob("layer.v1.tar", layer.getvalue()))
    config = {"architecture": "amd64", "os": "linux",
              "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]}}
    manifest = {"schemaVersion": 2, "config": blob("config.v1+json", json.dumps(config).encode()),
                "layers": layers}
    index = {"schemaVersion": 2,
             "manifests": [blob("manifest.v1+json", json.dumps(manifest).encode())]}
    (path / "index.json").write_text(json.dumps(index))
    (path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    policy = root / "etc" / "containers"
    policy.mkdir()
    (policy / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    return path


def buildah(driver, trees, proof):
    """Pulls the image, which unpacks its layers into `trees` of the storage. `proof` is in one."""
    return Program(
        f"""export _CONTAINERS_USERNS_CONFIGURED=done XDG_RUNTIME_DIR=$PWD TMPDIR=$PWD
            buildah --root $PWD/root --runroot $PWD/run --storage-driver {driver} \
                pull oci:/image >/dev/null &&
            for tree in root/{trees}; do (cd $tree && {LIST}); done | LC_ALL=C sort >list &&
            grep -q '{proof}' list && cat list""",
        rules=shipped.rules("image-build"), prepare=make_oci_image, same_off=True,
        needs="/usr/bin/buildah")


DEBOOTSTRAP = "/usr/share/debootstrap/functions"


def making_nodes(script, rules=BUILDING, **more):
    return Program(script, rules=rules, **more)


PROGRAMS = {
    "tar": making_nodes(f"/usr/bin/tar xpf /layer.tar && {LIST}", prepare=make_archive),
    "busybox-tar": making_nodes(f"/bin/busybox tar xpf /layer.tar && {LIST}", prepare=make_archive),
    "cp": making_nodes(f"/usr/bin/cp -a /nodes . && {LIST}", prepare=make_nodes),
    "busybox-cp": making_nodes(f"/bin/busybox cp -a /nodes . && {LIST}", prepare=make_nodes),
    "busybox-cpio": making_nodes(
        f"(cd /nodes && find . | busybox cpio -o -H newc) | busybox cpio -id && {LIST}",
        prepare=make_nodes),
    "rsync": making_nodes(f"rsync --archive /nodes . && {LIST}", prepare=make_nodes,
                          needs="/usr/bin/rsync"),
    # Its check that nodes work here, then its nodes.
    "debootstrap": making_nodes(
        f"""TARGET=$PWD CONTAINER=; . {DEBOOTSTRAP} && check_sane_mount "$TARGET" &&
            mkdir dev && setup_devices_simple && {LIST}""",
        rules=shipped.rules("debootstrap"), needs=DEBOOTSTRAP),
    "tar-of-whiteouts": making_nodes(
        f"/usr/bin/tar xpf /layer.tar && {LIST}", prepare=make_whiteouts, same_off=True),
    "busybox-tar-of-whiteouts": making_nodes(
        f"/bin/busybox tar xpf /layer.tar && {LIST}", prepare=make_whiteouts, same_off=True),
    "mknod-of-whiteouts": making_nodes(
        f"/usr/bin/mknod one c 0 0 && /bin/busybox mknod other c 0 0 && {LIST}", same_off=True),
}


def scheduled(script):
    """Of a caller that holds CAP_SYS_NICE."""
    return Program(script, rules=shipped.rules("legacy-realtime"), capabilities=tuple(ALL_CAPABILITIES))


# chrt prints a number that is not the same twice.
SHOW_POLICY = """sh -c 'chrt -p $$ | sed "s/pid [0-9]*/pid/"'"""

CHOWN = {"emulate": "chown", "options": {"mode": "perform"}}

PROGRAMS |= {
    f"chown-of-{name}": Program(f"{program} -R 5:6 /foreign && cd /foreign && {LIST}",
                                rules=(CHOWN,), prepare=make_foreign)
    for name, program in [("coreutils", "/usr/bin/chown"), ("busybox", "/bin/busybox chown")]
}

PROGRAMS |= {
    "chrt-fifo": scheduled(f"/usr/bin/chrt -f 10 {SHOW_POLICY}"),
    "chrt-rr": scheduled(f"/usr/bin/chrt --reset-on-fork --rr 3 /usr/bin/true && "
                         f"/usr/bin/chrt -r 3 {SHOW_POLICY}"),
    "nice": scheduled("/usr/bin/nice -n -5 /usr/bin/nice"),
    "renice": scheduled("sh -c '/usr/bin/renice -n -5 -p $$ >/dev/null && /usr/bin/nice'"),
    "ionice": scheduled("/usr/bin/ionice -c 1 -n 2 /usr/bin/ionice"),
    "tar-of-a-layer": Program(
        f"/usr/bin/tar --xattrs --xattrs-include='*' -xpf /layer.tar && {LIST}",
        rules=shipped.rules("image-build"), prepare=make_layer, look=overlay_attributes),
}


# It leaves device nodes out wherever it finds itself in a user namespace, whether they can be made
# or not (containers/storage asks only where it runs), so what it takes of sidecall is nothing: the
# trees, whiteouts (character devices 0:0) among them, are those that it gives without. What unpacks
# nodes that are in a layer is tar.
PROGRAMS |= {
    "buildah-vfs": buildah("vfs", "vfs/dir/*", "^./var/new regular file"),
    "buildah-overlay": buildah("overlay", "overlay/*/diff", "^./etc/gone character special file"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_what_it_gives_natively(name, agent, crun, work):
    program = PROGRAMS[name]
    if program.needs and not Path(program.needs).exists():
        pytest.skip(f"{program.needs} is not installed")
    program.check(agent, crun, work)


def test_buildah_asks_for_no_device_node_of_a_layer(agent, crun):
    program = buildah("vfs", "vfs/dir/*", "^./var/new regular file")
    if not Path(program.needs).exists():
        pytest.skip(f"{program.needs} is not installed")
    agent.write_policy("program", *program.rules)
    with crun.start(Wish(policy="program", host_programs=True)) as container:
        root = crun.root(container.name)
        bundle.give_to(make_oci_image(root, {"dev": b"", "dev/null": None}), FIRST_ID)
        outcome = container.run(f"mkdir /tmp/work && cd /tmp/work && {program.script}")
        assert outcome.status == 0, outcome
        names = [line.split()[0] for line in outcome.text.splitlines()]
        assert "./dev" in names and "./dev/null" not in names
        assert container.run("mknod /tmp/null c 1 3 && stat -c %t:%T /tmp/null").text == "1:3"


def test_free_shows_the_containers_memory(agent, crun):
    """Its total, that is: the other figures take the host's page cache into account."""
    host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for wish, total in [(Wish(served=False), host),
                        (Wish(policy="serving", memory=64 * MEBIBYTE), 64 * MEBIBYTE)]:
        with crun.start(wish) as container:
            text = container.run("busybox free -b").text
        assert re.search(rf"Mem: +{total}", text), text


def minutes_up(container):
    """By busybox, which says "up 5 min", "up  1:05" or "up 2 days,  1:05"."""
    text = container.run("busybox uptime").text
    days, hours, minutes = re.search(r" up +(?:(\d+) days?, +)?(?:(\d+):)?(\d+)", text).groups()
    return (int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes)


def test_uptime_is_the_containers(agent, crun):
    host = int(time.clock_gettime(time.CLOCK_BOOTTIME)) // 60
    with crun.start(Wish(served=False)) as container:
        assert minutes_up(container) >= host
    before = time.monotonic()
    with crun.start(Wish(policy="serving")) as container:
        up = minutes_up(container)
        age = int(time.monotonic() - before) // 60 + 1
    if host <= age:
        pytest.skip("the host has not been up for longer than the container")
    assert up <= age
