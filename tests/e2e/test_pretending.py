"""Programs that set what belongs to the host, and are content where that is pretended."""

import time

import pytest

from harness.bundle import ALL_CAPABILITIES, CAPABILITIES, Wish

# Each with what it says where nobody serves it.
PROGRAMS = {
    "date": ("clock", "/usr/bin/date --set '2001-02-03 04:05:06' >/dev/null",
             "cannot set date: Operation not permitted"),
    "busybox-date": ("clock", "/bin/busybox date -s '2001-02-03 04:05:06' >/dev/null",
                     "can't set date: Operation not permitted"),
    "busybox-swapon": ("swap", "touch /tmp/swap && busybox swapon /tmp/swap",
                       "Operation not permitted"),
    "busybox-swapoff": ("swap", "touch /tmp/swap && busybox swapoff /tmp/swap",
                        "Operation not permitted"),
    "swapoff": ("swap", "/usr/sbin/swapoff /tmp/swap", "Not superuser"),
    "reboot": ("reboot", "busybox reboot -f", "Operation not permitted"),
    "poweroff": ("reboot", "busybox poweroff -f", "Operation not permitted"),
    "chown": ("chown", "touch /tmp/file && /usr/bin/chown 100000:100000 /tmp/file",
              "Invalid argument"),
}

# With CAP_SYS_BOOT a container ends itself, by the kernel's own hand.
RIGHTS = {"clock": ALL_CAPABILITIES}


def lead_of_the_clock():
    return time.time() - time.monotonic()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_content(name, agent, crun):
    emulator, script, complaint = PROGRAMS[name]
    agent.write_policy("pretending", {"emulate": emulator, "options": {"mode": "pretend"}})
    wish = {"host_programs": True, "capabilities": tuple(RIGHTS.get(emulator, CAPABILITIES))}
    before = lead_of_the_clock()

    with crun.start(Wish(served=False, **wish)) as container:
        off = container.run(script)
        assert complaint in off.text
    with crun.start(Wish(policy="pretending", **wish)) as container:
        on = container.run(script)
        assert (on.status, on.text) == (0, "")
        assert container.run("date +%Y").text == time.strftime("%Y", time.gmtime())
    assert abs(lead_of_the_clock() - before) < 3600
