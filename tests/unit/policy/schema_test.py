#!/usr/bin/env python3
"""What config/policy.schema.json calls a policy is what the reader reads as one."""
import json
import pathlib
import subprocess
import sys

import jsonschema

CONFIG = pathlib.Path(sys.argv[1])
READER = sys.argv[2]

EQ = {"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}
MASKED = {"index": 0, "value": 61440, "valueTwo": 8192, "op": "SCMP_CMP_MASKED_EQ"}
MKNOD = {"emulate": "mknod", "options": {"devices": ["c 1:3"]}}
XATTR = {"emulate": "xattr", "options": {"names": ["trusted.a"]}}
REMOTE = {"syscalls": ["uname"], "remote": {"plugin": "/run/plugin.sock"}}
ERRNO = {"syscalls": ["chroot"], "errno": "EPERM"}


def changed(rule, **members):
    """The rule with these members; None takes one out."""
    merged = {**rule, **members}
    return {key: value for key, value in merged.items() if value is not None}


GOOD = [
    {"rules": []},
    {"rules": [MKNOD, {"emulate": "sysinfo"}, {"emulate": "uname", "options": {"version": "#1"}}]},
    {"rules": [changed(MKNOD, syscalls=["mknodat"], when=[changed(EQ, index=1), MASKED])]},
    {"rules": [changed(MKNOD, options={"devices": ["b 7:0", "c 1:*"]})]},
    {"rules": [changed(ERRNO, when=[EQ, changed(EQ, valueTwo=0, index=5, value=2**64 - 1)])]},
    {"rules": [changed(ERRNO, errno=4095)]},
    {"rules": [{"emulate": "chown", "syscalls": ["chown32"], "options": {"mode": "pretend"}},
               {"emulate": "clock", "syscalls": ["stime"], "options": {"mode": "errno"}},
               {"emulate": "swap", "options": {"mode": "errno", "errno": "ENOSYS"}},
               {"emulate": "uname", "syscalls": ["oldolduname"], "options": {"domainname": "d"}}]},
    {"rules": [{"emulate": "chown", "options": {"mode": "perform"}},
               {"emulate": "clock", "options": {"mode": "perform"}},
               {"emulate": "reboot", "options": {"mode": "stop"}}]},
    {"rules": [{"emulate": "xattr", "options": {"names": ["trusted.overlay.*", "trusted.*"]}}]},
    {"rules": [{"emulate": "mount",
                "options": {"filesystems": ["ext4", "nfs4: addr=192.0.2.1,vers", "cifs: ip=::1"]}}]},
    {"rules": [changed(XATTR, syscalls=["fsetxattr", "lremovexattr"]),
               changed(XATTR, syscalls=["getxattr"],
                       options={"names": ["security.a"], "reads": True})]},
    {"rules": [{"emulate": "mount", "options": {"filesystems": ["ext4", "tmpfs: size,mode"],
                                               "devices": ["b 7:*"], "callers": "root"}},
               {"emulate": "umount", "options": {"callers": "root"}},
               {"emulate": "sched", "options": {"policies": ["rr"], "max_priority": 9,
                                               "min_nice": -5, "realtime_io": True}}]},
    {"rules": [{"emulate": "mount", "options": {"filesystems": ["ext4: ro"], "shift": False,
                                               "fuse": ["ext4: fuse2fs -o fakeroot"]}}]},
    {"rules": [{"syscalls": ["sync", "syncfs"], "return": -4096}]},
    {"rules": [{"syscalls": ["sync"], "return": 2**63 - 1}]},
    {"rules": [{"syscalls": ["swapon"], "log": True}, {"syscalls": ["acct"], "kill": "thread"}]},
    {"rules": [REMOTE, {"syscalls": ["sync"], "remote": {
        "plugin": "/p", "deadline": "20ms", "absent": "errno", "errno": "EAGAIN",
        "may_continue": True}}]},
    {"rules": [changed(REMOTE, when=[EQ], remote={"plugin": "/p", "absent": "wait", "errno": 5}),
               changed(REMOTE, syscalls=["sync"], remote={"plugin": "/p", "deadline": "3600s",
                                                          "absent": "continue"})]},
    {"rules": [{"syscalls": ["sync"], "continue": True}], "sync_wake_up": False,
     "wait_killable": True, "description": "d", "$schema": "s"},
    {"rules": [], "limits": {}},
    {"rules": [], "limits": {"calls": 1, "threads": 256, "memory_mib": 32, "wait_seconds": 3600}},
]
BAD = [
    [],
    *({"rules": [{"emulate": "mount", "options": {"filesystems": ["ext4", "tmpfs"], "fuse": fuse}}]}
      for fuse in ["ext4: fuse2fs", ["ext4"], ["ext4: "], ["tmpfs: x"], ["ext4: ./fuse2fs"]]),
    {},
    {"rules": {}},
    {"rules": [], "unknown": 1},
    {"rules": [], "description": None},
    {"rules": [], "sync_wake_up": "true"},
    {"rules": [], "limits": []},
    {"rules": [], "limits": {"calls": 0}},
    {"rules": [], "limits": {"calls": 1001}},
    {"rules": [], "limits": {"threads": 257}},
    {"rules": [], "limits": {"memory_mib": "64"}},
    {"rules": [], "limits": {"memory_mib": 31}},
    {"rules": [], "limits": {"wait_seconds": 0}},
    {"rules": [], "limits": {"processes": 1}},
    {"rules": [7]},
    {"rules": [{}]},
    {"rules": [changed(ERRNO, syscalls=None)]},
    {"rules": [changed(ERRNO, syscalls=[])]},
    {"rules": [changed(ERRNO, syscalls=["chroot", "chroot"])]},
    {"rules": [changed(ERRNO, syscalls="chroot")]},
    {"rules": [changed(ERRNO, syscalls=["no such call"])]},
    {"rules": [changed(ERRNO, errno=None)]},
    {"rules": [changed(ERRNO, log=True)]},
    {"rules": [changed(XATTR, options={})]},
    {"rules": [changed(XATTR, options={"names": ["user.a"]})]},
    {"rules": [changed(XATTR, options={"names": ["trusted.*.a"]})]},
    {"rules": [changed(XATTR, options={"names": ["trusted."]})]},
    {"rules": [changed(XATTR, syscalls=["getxattr"])]},
    {"rules": [changed(XATTR, syscalls=["listxattr"], options={"names": [], "reads": False})]},
    {"rules": [{"emulate": "chown", "options": {"mode": "stop"}}]},
    {"rules": [{"emulate": "reboot", "options": {"mode": "perform"}}]},
    {"rules": [{"emulate": "clock", "options": {"mode": "perform", "errno": "EPERM"}}]},
    {"rules": [changed(ERRNO, options={})]},
    {"rules": [changed(ERRNO, whenn=[EQ])]},
    {"rules": [changed(ERRNO, errno=0)]},
    {"rules": [changed(ERRNO, errno=4096)]},
    {"rules": [changed(ERRNO, errno="eperm")]},
    {"rules": [changed(ERRNO, when=[])]},
    {"rules": [changed(ERRNO, when=[EQ, EQ])]},
    {"rules": [changed(ERRNO, when=[EQ] + [changed(EQ, value=v, op="SCMP_CMP_NE")
                                           for v in range(2, 18)])]},
    {"rules": [changed(ERRNO, when=[changed(EQ, index=6)])]},
    {"rules": [changed(ERRNO, when=[changed(EQ, op="EQ")])]},
    {"rules": [changed(ERRNO, when=[changed(EQ, value=-1)])]},
    {"rules": [changed(ERRNO, when=[changed(EQ, value=2**64)])]},
    {"rules": [changed(ERRNO, when=[changed(EQ, value="1")])]},
    {"rules": [changed(ERRNO, when=[changed(EQ, valueTwo=1)])]},
    {"rules": [changed(ERRNO, when=[changed(EQ, mask=1)])]},
    {"rules": [changed(ERRNO, when=[{"index": 0, "value": 1, "op": "SCMP_CMP_MASKED_EQ"}])]},
    {"rules": [{"syscalls": ["sync"], "return": -1}]},
    {"rules": [{"syscalls": ["sync"], "return": 2**63}]},
    {"rules": [{"syscalls": ["sync"], "return": "0"}]},
    {"rules": [{"syscalls": ["sync"], "continue": False}]},
    {"rules": [{"syscalls": ["sync"], "log": "yes"}]},
    {"rules": [{"syscalls": ["sync"], "kill": "all"}]},
    {"rules": [changed(MKNOD, emulate="mknot")]},
    {"rules": [changed(MKNOD, syscalls=["mount"])]},
    {"rules": [{"emulate": "mount", "options": {"filesystems": ["nfs4: vers"]}}]},
    {"rules": [changed(MKNOD, syscalls=[])]},
    {"rules": [changed(MKNOD, options=None)]},
    {"rules": [changed(MKNOD, options={})]},
    {"rules": [changed(MKNOD, options={"devices": "c 1:3"})]},
    {"rules": [changed(MKNOD, options={"devices": ["c 1,3"]})]},
    {"rules": [changed(MKNOD, options={"devices": ["c 1:3"], "device": 1})]},
    {"rules": [{"emulate": "chown"}]},
    {"rules": [{"emulate": "chown", "options": {"mode": "errno"}}]},
    {"rules": [{"emulate": "clock", "options": {"mode": "perfect"}}]},
    {"rules": [{"emulate": "reboot", "options": {"errno": "EPERM"}}]},
    {"rules": [{"emulate": "swap", "options": {"mode": "pretend", "errno": "EPERM"}}]},
    {"rules": [{"emulate": "swap", "options": {"mode": "errno", "errno": "eperm"}}]},
    {"rules": [{"emulate": "swap", "options": {"mode": "errno", "errno": 1}}]},
    {"rules": [changed(REMOTE, remote="/run/plugin.sock")]},
    {"rules": [changed(REMOTE, remote={})]},
    {"rules": [changed(REMOTE, remote={"plugin": "plugin.sock"})]},
    {"rules": [changed(REMOTE, remote={"plugin": "/" + "p" * 107})]},
    {"rules": [changed(REMOTE, remote={"plugin": "/p", "deadline": 500})]},
    {"rules": [changed(REMOTE, remote={"plugin": "/p", "deadline": "0ms"})]},
    {"rules": [changed(REMOTE, remote={"plugin": "/p", "deadline": "5 s"})]},
    {"rules": [changed(REMOTE, remote={"plugin": "/p", "absent": "fail"})]},
    {"rules": [changed(REMOTE, remote={"plugin": "/p", "errno": 0})]},
    {"rules": [changed(REMOTE, remote={"plugin": "/p", "absent": "continue",
                                       "may_continue": False})]},
    {"rules": [changed(REMOTE, remote={"plugin": "/p", "retries": 1})]},
    {"rules": [changed(REMOTE, syscalls=None)]},
    {"rules": [{"emulate": "sysinfo", "options": {"a": 1}}]},
    {"rules": [{"emulate": "uname", "options": {"release": ""}}]},
    {"rules": [{"emulate": "uname", "options": {"release": "x" * 65}}]},
    {"rules": [{"emulate": "uname", "options": {"release": 5}}]},
]


def read(text):
    """"" where the reader takes the policy, else what it says."""
    done = subprocess.run([READER], input=text, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), f"the reader ended with {done.returncode} on {text}"
    assert (done.returncode == 0) == (done.stdout == ""), done.stdout
    return done.stdout


def main():
    schema = json.loads((CONFIG / "policy.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)

    examples = subprocess.run([READER, "--examples"], capture_output=True, text=True, check=True)
    good = [json.dumps(policy) for policy in GOOD] + examples.stdout.splitlines()
    shipped = sorted((CONFIG / "policies").glob("*.json"))
    assert shipped, "no policies in config/policies"
    good += [path.read_text() for path in shipped]

    wrong = []
    for text in good:
        found = [error.message for error in validator.iter_errors(json.loads(text))]
        said = read(text)
        if found or said:
            wrong.append(f"good, but schema: {found}, reader: {said!r}: {text}")
    for policy in BAD:
        text = json.dumps(policy)
        if validator.is_valid(policy):
            wrong.append(f"bad, but the schema takes it: {text}")
        said = read(text)
        if not said.startswith("$"):
            wrong.append(f"bad, but the reader says {said!r}: {text}")
    print("\n".join(wrong) or f"{len(good)} good and {len(BAD)} bad policies agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
