"""Containers that must not start do not, and their users read why."""

import contextlib
import errno
import subprocess
import threading

import pytest

from conftest import RELEASE, make_engine
from harness import engines
from harness.bundle import Wish

BAD_POLICIES = {
    "unknown-key": '{"rules": [{"emulate": "uname", "option": {}}]}',
    "unknown-emulator": '{"rules": [{"emulate": "mknodd"}]}',
    "bad-option": '{"rules": [{"emulate": "mknod", "options": {"devices": ["c 1"]}}]}',
    "repeated-key": '{"rules": [], "rules": []}',
    "cut-short": '{"rules": [',
    "hangs-the-start": '{"rules": [{"syscalls": ["sendmsg"], "return": 1}]}',
}


def why_it_fails(engine, wish):
    with pytest.raises(engines.StartFailed) as failure:
        engine.start(wish).stop()
    return failure.value.text


@contextlib.contextmanager
def tiny_file_system(directory, options="size=64k,mode=700"):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tiny", directory], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)


def fill(path):
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as reason:
            assert reason.errno == errno.ENOSPC


def lines_with(text, *words):
    return [line for line in text.splitlines() if all(word in line for word in words)]


def assert_says_there_is_no_agent(engine, agent, text, cause):
    if engine.label == "crun":
        # It connects to the listener's socket before it runs any hook: the line is its own.
        wanted = [str(agent.run_dir / "seccomp.sock"), cause]
    else:
        wanted = [str(agent.run_dir / "hook.sock"), cause, "sidecalld is not running",
                  "systemctl start sidecalld"]
    assert lines_with(text, *wanted), text


def test_no_agent_no_container(stopped_agent, engine):
    text = why_it_fails(engine, Wish(policy="serving"))
    assert_says_there_is_no_agent(engine, stopped_agent, text, "No such file or directory")


def test_dead_agents_socket_is_no_agent(stopped_agent, engine):
    stopped_agent.start()
    stopped_agent.kill()
    stopped_agent.end_keepers()
    assert (stopped_agent.run_dir / "hook.sock").exists()
    text = why_it_fails(engine, Wish(policy="serving"))
    assert_says_there_is_no_agent(engine, stopped_agent, text, "Connection refused")


def test_agent_starts_again_over_a_dead_ones_sockets(stopped_agent, crun):
    stopped_agent.start()
    stopped_agent.kill()
    stopped_agent.end_keepers()
    stopped_agent.start()
    with crun.start(Wish(policy="serving")) as container:
        assert container.run("uname -r").text == RELEASE


@pytest.mark.parametrize("kind", ["podman-crun", "podman-runc"])
def test_optional_interception_is_left_out(kind, stopped_agent, namespace, work):
    """Where no agent runs, and the hook edits config.json at each start: a bundle's filter is there
    already."""
    engine = make_engine(kind, stopped_agent, namespace, work)
    wish = Wish(policy="serving", annotations={"dev.sidecall.optional": "true"})
    try:
        with engine.start(wish) as container:
            assert container.run("uname -r").text != RELEASE
        stopped_agent.start()
        with engine.start(wish) as container:
            assert container.run("uname -r").text == RELEASE
    finally:
        engine.close()


def test_optional_bundle_with_its_filter_in_place_fails_closed(stopped_agent, runtime):
    wish = Wish(policy="serving", annotations={"dev.sidecall.optional": "true"})
    text = why_it_fails(runtime, wish)
    assert_says_there_is_no_agent(runtime, stopped_agent, text, "No such file or directory")


def test_agent_that_is_away_is_waited_for(stopped_agent, engine):
    """As while it is restarted: its sockets are there, and it comes back."""
    stopped_agent.start()
    stopped_agent.stop()
    back = threading.Timer(0.5, stopped_agent.start)
    back.start()
    try:
        with engine.start(Wish(policy="serving")) as container:
            assert container.run("uname -r").text == RELEASE
    finally:
        back.join()


def test_agent_that_stays_away_fails_the_start_in_time(stopped_agent, runtime):
    stopped_agent.start()
    stopped_agent.stop()
    text = why_it_fails(runtime, Wish(policy="serving"))
    assert lines_with(text, str(stopped_agent.run_dir / "hook.sock"), "no answer in time"), text


def test_full_run_directory_fails_the_start(agent, runtime):
    """A sandbox that the next agent could not take over is not begun."""
    with tiny_file_system(agent.run_dir / "sandboxes"):
        fill(agent.run_dir / "sandboxes" / "filler")
        text = why_it_fails(runtime, Wish(policy="serving"))
        assert lines_with(text, "No space left on device", "record"), text
        (agent.run_dir / "sandboxes" / "filler").unlink()
        with runtime.start(Wish(policy="serving")) as container:
            assert container.run("uname -r").text == RELEASE


@pytest.mark.parametrize("options, cause", [
    pytest.param("ro,mode=700", "Read-only file system", id="read-only"),
    pytest.param("size=4k,nr_inodes=2,mode=700", "No space left on device", id="full"),
])
def test_agent_that_cannot_use_its_run_directory_says_so_in_one_line(options, cause, programs,
                                                                     stopped_agent):
    stopped_agent.run_dir.mkdir(mode=0o700)
    with tiny_file_system(stopped_agent.run_dir, options):
        done = subprocess.run([programs / "sidecalld", *stopped_agent.places],
                              capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if line.startswith("sidecalld: ")]
    assert len(said) == 1 and cause in said[0] and str(stopped_agent.run_dir) in said[0], done.stderr


def test_drained_node_takes_no_new_container(agent, runtime, control_client):
    with runtime.start(Wish(policy="serving")) as container:
        subprocess.run(agent.client("drain"), check=True, capture_output=True)
        assert not control_client.healthy()
        text = why_it_fails(runtime, Wish(policy="serving"))
        assert lines_with(text, "being drained", "sidecall drain --undo"), text
        assert container.run("uname -r").text == RELEASE
        assert container.exec("uname -r").text == RELEASE
        agent.kill()
        agent.start()
        assert lines_with(why_it_fails(runtime, Wish(policy="serving")), "being drained")
        subprocess.run(agent.client("drain", "--undo"), check=True, capture_output=True)
        with runtime.start(Wish(policy="serving")) as other:
            assert other.run("uname -r").text == RELEASE


def test_unknown_policy_is_named(agent, engine):
    text = why_it_fails(engine, Wish(policy="nonesuch"))
    assert lines_with(text, "nonesuch"), text


def test_policy_name_cannot_leave_the_directory(agent, engine):
    (agent.policy_dir.parent / "outside.json").write_text('{"rules": []}')
    text = why_it_fails(engine, Wish(policy="../outside"))
    assert lines_with(text, "../outside"), text


@pytest.mark.parametrize("bad", list(BAD_POLICIES))
def test_bad_policy_is_named(bad, agent, crun):
    (agent.policy_dir / "bad.json").write_text(BAD_POLICIES[bad])
    text = why_it_fails(crun, Wish(policy="bad"))
    assert lines_with(text, "bad"), text


def test_policy_that_is_gone_fails_the_start_of_a_prepared_bundle(agent, runtime):
    """The bundle was good when it was prepared: it is the agent that refuses."""
    directory = runtime.prepare("late", Wish(policy="serving"), ["sh", "-c", "echo started"])
    (agent.policy_dir / "serving.json").unlink()
    outcome = runtime.run_bundle("late", directory)
    runtime.clean_up("late")
    assert outcome.status != 0
    assert "started" not in outcome.text
    assert lines_with(outcome.text, "serving"), outcome.text


def test_failed_start_leaves_nothing(agent, runtime, control_client):
    directory = runtime.prepare("broken", Wish(policy="serving"), ["/bin/nonesuch"])
    outcome = runtime.run_bundle("broken", directory)
    runtime.clean_up("broken")
    assert outcome.status != 0
    # An engine may run no poststop hook here: the agent itself must notice that nothing comes.
    agent.wait_until_empty(control_client, patience=120)
