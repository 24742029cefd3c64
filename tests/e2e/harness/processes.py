"""Looking at processes through /proc."""

import os
from pathlib import Path


def read_link(path):
    """Where a link of /proc points, or "" where its process has gone or the link is not ours."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def running(program):
    """Ids of the processes that run the file `program`, even where it was replaced since."""
    wanted = {str(program), f"{program} (deleted)"}
    return sorted(int(entry.name) for entry in Path("/proc").iterdir()
                  if entry.name.isdigit() and read_link(entry / "exe") in wanted)


def name(pid):
    """What a process calls itself (/proc/PID/comm), or "" where it has gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def arguments(pid):
    """The command line of a process, or [] where it has gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def status_field(pid, name):
    """A field of /proc/PID/status: status_field(pid, "Cpus_allowed_list")."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip()
    raise KeyError(name)


def descriptors(pid):
    """What each descriptor of a process refers to."""
    directory = f"/proc/{pid}/fd"
    return [link for link in (read_link(f"{directory}/{fd}") for fd in os.listdir(directory))
            if link]


def listeners(pid):
    """How many seccomp listeners a process holds."""
    return sum("seccomp" in link for link in descriptors(pid))


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))
