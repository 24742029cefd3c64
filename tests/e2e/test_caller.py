"""Whose call it is: paths, ids and capabilities are those of the very caller."""

import tarfile

import pytest

from harness.bundle import FIRST_ID, Wish


def test_relative_path_starts_where_the_caller_is(container):
    script = "mkdir -p /tmp/a/b && cd /tmp/a/b && mknod ../null c 1 3 && stat -c %t:%T /tmp/a/null"
    assert container.run(script).text == "1:3"


def test_archive_with_nested_nodes_unpacks(agent, crun):
    """tar makes nodes relative to directories that it has entered or opened."""
    with crun.start(Wish(policy="serving")) as container:
        root = crun.root(container.name)
        with tarfile.open(root / "nodes.tar", "w") as archive:
            for name, minor in [("x/null", 3), ("x/y/null", 3), ("x/y/z/zero", 5)]:
                node = tarfile.TarInfo(name)
                node.type, node.mode = tarfile.CHRTYPE, 0o640
                node.devmajor, node.devminor = 1, minor
                archive.addfile(node)
        script = "cd /tmp && tar xf /nodes.tar && find x -type c -exec stat -c '%n %a %t:%T' {} +"
        assert sorted(container.run(script).text.splitlines()) == [
            "x/null 640 1:3", "x/y/null 640 1:3", "x/y/z/zero 640 1:5"]


def test_another_root_and_another_mount_namespace_are_the_callers_own(container):
    outcome = container.run("""
        mkdir -p /tmp/jail/bin /tmp/hidden && cp /bin/busybox /tmp/jail/bin/ &&
        chroot /tmp/jail /bin/busybox mknod /inside c 1 3 &&
        unshare -m sh -c 'mount -t tmpfs none /tmp/hidden && mknod /tmp/hidden/null c 1 3 &&
                          stat -c %t:%T /tmp/hidden/null' &&
        ls -d /tmp/jail/inside && ls -A /inside /tmp/hidden""")
    assert outcome.text.splitlines()[:2] == ["1:3", "/tmp/jail/inside"]
    assert "/inside: No such file" in outcome.text
    assert "null" not in outcome.text.splitlines()[2:]


def test_mode_follows_the_callers_umask_and_owner(container):
    script = "cd /tmp && umask 037 && mknod null c 1 3 && stat -c %a:%u:%g null"
    assert container.run(script).text == "640:0:0"


@pytest.mark.parametrize("script", [
    pytest.param("unshare -U -r mknod /tmp/null c 1 3", id="nested-user-namespace"),
    pytest.param("unshare -U mknod /tmp/null c 1 3", id="unmapped-user-namespace"),
])
def test_what_the_caller_may_not_do_it_still_may_not(container, script):
    outcome = container.run(script)
    assert outcome.text.endswith("Operation not permitted")
    assert container.run("test -e /tmp/null").status != 0


def test_user_without_the_capability_is_refused(container):
    outcome = container.exec("mknod /tmp/null c 1 3", user=1000)
    assert outcome.text.endswith("Operation not permitted")


def test_overlay_whiteout_is_left_to_the_kernel(container):
    assert container.run("mknod /tmp/whiteout c 0 0 && stat -c %t:%T /tmp/whiteout").text == "0:0"


def test_node_belongs_to_the_caller_on_the_host(agent, crun):
    with crun.start(Wish(policy="serving")) as container:
        container.run("mknod /null c 1 3")
        status = (crun.root(container.name) / "null").lstat()
    assert (status.st_uid, status.st_gid) == (FIRST_ID, FIRST_ID)
