"""The command line and the control service, against real containers."""

import json
import subprocess

from conftest import RELEASE
from harness.bundle import Wish


def sidecall(agent, *arguments):
    return subprocess.run([str(word) for word in agent.client(*arguments)], capture_output=True,
                          text=True, timeout=60, stdin=subprocess.DEVNULL)


def test_agent_is_healthy(control_client):
    assert control_client.healthy()


def test_ls_and_stats_name_the_container(agent, container):
    container.run("uname -r")
    listed = sidecall(agent, "ls")
    assert listed.returncode == 0
    assert container.id[:12] in listed.stdout
    assert "serving" in listed.stdout
    assert max(map(len, listed.stdout.splitlines())) <= 80
    figures = sidecall(agent, "stats", container.id)
    assert figures.returncode == 0
    assert "uname" in figures.stdout
    assert json.loads(sidecall(agent, "ls", "--json").stdout)


def test_ls_of_nothing_is_empty(agent):
    listed = sidecall(agent, "ls", "--json")
    assert listed.returncode == 0
    assert container_ids(json.loads(listed.stdout)) == []


def container_ids(document):
    boxes = document.get("sandboxes", [])
    return [box["id"] for box in boxes]


def test_client_without_an_agent_says_so_in_one_line(stopped_agent):
    done = sidecall(stopped_agent, "ls")
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "sidecalld" in done.stderr


def test_bundle_add_and_remove_restore_every_byte(agent, runtime):
    directory = runtime.prepare("undone", Wish(policy="serving", served=False))
    files = {path.name: path.read_bytes() for path in directory.glob("*.*")}
    assert sidecall(agent, "bundle", "add", directory).returncode == 0
    assert (directory / "config.json").read_bytes() != files["config.json"]
    assert sidecall(agent, "bundle", "remove", directory).returncode == 0
    assert {path.name: path.read_bytes() for path in directory.glob("*.*")} == files


def test_run_serves_a_command_without_any_engine(agent):
    policy = agent.policy_dir / "serving.json"
    done = sidecall(agent, "run", "--policy", policy, "--", "uname", "-r")
    assert (done.returncode, done.stdout.strip()) == (0, RELEASE), done.stderr
