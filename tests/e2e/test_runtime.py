"""sidecall-runtime between an engine and its OCI runtime: nobody notices, but for served containers."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import RELEASE, make_engine, skip_without
from harness import bundle, daemons, engines
from harness.bundle import Wish
from harness.recorder import Recorder

OWN = "--sidecall-"


class RecordedAgent:
    """An agent whose sidecall-runtime is recorded on both of its sides."""

    def __init__(self, agent, work):
        self._agent = agent
        program, *self._options = agent.runtime("runc")
        self.inner = Recorder(work / "inner", shutil.which("runc"))
        self.outer = Recorder(work / "outer", program)
        self._options[0] = f"{OWN}runtime={self.inner.path}"

    def runtime(self, _):
        return [str(self.outer.path), *self._options]


def docker(recorded, namespace, work):
    return daemons.Docker("runc", recorded, namespace, work)


def podman(recorded, namespace, work):
    path = daemons.wrapper(recorded, "runc", work / "wrapper")
    return engines.Podman(path, None, namespace, work)


def without_ours(call):
    words = call["words"]
    while words and words[0].startswith(OWN):
        words = words[1 if "=" in words[0] else 2:]
    return call | {"words": words}


def commands(calls):
    known = {"create", "start", "state", "kill", "delete", "exec", "update", "run"}
    return {word for call in calls for word in call["words"] if word in known}


@pytest.mark.parametrize("kind, make, used", [
    ("docker-runc", docker, {"create", "start", "exec", "update", "delete"}),
    ("cri", daemons.Cri, {"create", "start", "exec", "update", "delete"}),
    ("podman-runc", podman, {"create", "start", "exec", "delete"}),
], ids=["docker", "cri", "podman"])
def test_the_runtime_gets_what_the_engine_gave(kind, make, used, agent, namespace, work):
    skip_without(kind, namespace)
    recorded = RecordedAgent(agent, work)
    engine = make(recorded, namespace, work)
    try:
        with engine.start(Wish(policy="serving", served=kind != "podman-runc")) as container:
            assert container.exec("uname -r").text == RELEASE
            engine.update_cpus(container, "0")
    finally:
        engine.close()
    outer = [without_ours(call) for call in recorded.outer.calls()]
    inner = recorded.inner.calls()
    assert used <= commands(inner), commands(inner)
    for given, got in zip(outer, inner, strict=True):
        assert got == given


def outcome(command):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    said = [re.sub(r"\btime=\S+|^\S+Z:", "TIME", text) for text in [done.stdout, done.stderr]]
    return done.returncode, *said


@pytest.mark.parametrize("name", ["crun", "runc"])
def test_failures_are_the_runtimes_own(name, agent, namespace, work):
    skip_without(name, namespace)
    no_json = work / "no-json"
    no_json.mkdir()
    (no_json / "config.json").write_text("{dev.sidecall.policy")
    no_root = work / "no-root"
    no_root.mkdir()
    subprocess.run([name, "spec"], cwd=no_root, check=True)
    state = ["--root", work / "state"]
    failed = 0
    for words in [["--version"], ["--help"], ["nonsense"], ["--nonsense"], [*state, "list"],
                  [*state, "state", "none"], [*state, "start", "none"], [*state, "kill", "none"],
                  [*state, "exec", "none", "true"], [*state, "delete", "none"],
                  [*state, "create", "--bundle", "/nowhere", "x"],
                  [*state, "create", "--bundle", no_json, "x"],
                  [*state, "run", "--bundle", no_root, "x"]]:
        direct = outcome([*namespace.prefix, shutil.which(name), *words])
        assert outcome([*namespace.prefix, *agent.runtime(name), *words]) == direct, words
        failed += direct[0] != 0
    assert failed > 6


@pytest.mark.parametrize("kind", list(daemons.KINDS))
def test_an_engine_shows_why_a_container_does_not_start(kind, stopped_agent, namespace, work):
    engine = make_engine(kind, stopped_agent, namespace, work)
    try:
        with pytest.raises(engines.StartFailed) as failure:
            engine.start(Wish(policy="serving"))
    finally:
        engine.close()
    assert "systemctl start sidecalld" in failure.value.text, failure.value.text


def test_a_bundle_by_hand(agent, namespace, work, crun):
    """`run` without an engine, and a container that nobody chose."""
    for annotations, release in [({"dev.sidecall.policy": "serving"}, RELEASE), ({}, None)]:
        directory = work / f"bundle-{len(annotations)}"
        directory.mkdir(mode=0o711)
        bundle.make_bundle(directory, "crun", Wish(annotations=annotations), ["uname", "-r"],
                           f"/{engines.CGROUP}/by-hand")
        before = (directory / "config.json").read_text()
        status, text, said = outcome([*namespace.prefix, *agent.runtime("crun"), "--root",
                                      work / "state", "run", "--bundle", directory, "by-hand"])
        assert status == 0, said
        native = subprocess.run(["uname", "-r"], capture_output=True, text=True).stdout
        assert text.strip() == (release or native.strip())
        after = (directory / "config.json").read_text()
        assert (after == before) == (release is None)
        assert json.loads(after)["process"] == json.loads(before)["process"]
