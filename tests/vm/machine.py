"""Boots a kernel under qemu and reads from its console what the checks inside say."""

import subprocess
import threading

MEMORY_MIB = 1024
CPUS = 2
# Far beyond what a machine takes on a loaded host; only one that hangs meets it.
PATIENCE_SECONDS = 900
SHOWN = 60  # lines of the console that tell why a machine failed

# What the checks' lines begin with: the kernel writes to the same console.
MARK = "sidecall-vm: "
END = "end"


def boot(kernel, image, initramfs, show_console):
    """Runs all checks on the kernel and prints their verdicts. Whether all of them hold."""
    sync = "on" if kernel.has_sync_wake_up else "none"
    # rdrand: a machine without devices waits long for its first random number. No cx16: Debian 12s
    # qemu 7.2 gets its flags wrong now and then, and the kernel panics.
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64,-cx16,+rdrand",
               "-smp", str(CPUS), "-m", str(MEMORY_MIB), "-nographic", "-no-reboot",
               "-nic", "none", "-kernel", image, "-initrd", initramfs,
               "-append", f"console=ttyS0 quiet panic=-1 sidecall_sync={sync}"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as qemu:
        timer = threading.Timer(PATIENCE_SECONDS, qemu.kill)
        timer.start()
        try:
            return _read(kernel.name, qemu.stdout, show_console)
        finally:
            timer.cancel()
            qemu.kill()


def _read(name, console, show_console):
    seen, verdicts, ended = [], [], False
    for line in console:
        seen.append(line.rstrip())
        if show_console:
            print(f"{name}| {seen[-1]}", flush=True)
        _, mark, text = seen[-1].partition(MARK)
        if not mark:
            continue
        if text == END:
            ended = True
            continue
        verdicts.append(text.startswith("ok "))
        print(f"{name}: {text}", flush=True)
    good = ended and bool(verdicts) and all(verdicts)
    if not ended:
        print(f"{name}: FAILED: the machine ended before its checks did")
    if not good and not show_console:
        print("\n".join(f"{name}| {line}" for line in seen[-SHOWN:]))
    print(f"{name}: {sum(verdicts)} of {len(verdicts)} checks hold", flush=True)
    return good
