"""Calls of real containers that plugins behind gRPC answer."""

import json
import os
import signal

import pytest

from conftest import SERVING_RULES, last_cpu
from harness import blows, plugin as plugins, processes
from harness.bundle import MEBIBYTE, Wish
from harness.load import Load
from harness.plugin import RELEASE, Plugin
from harness.wait import eventually

MEMORY = 64 * MEBIBYTE
OTHERS = [rule for rule in SERVING_RULES if rule["emulate"] != "uname"]


def is_refused(container):
    """Whether uname fails. busybox does not say so: it prints what lies in its memory."""
    return container.run("uname -r").text not in (RELEASE, os.uname().release)


@pytest.fixture
def plugin(work):
    plugin = Plugin(work)
    yield plugin
    plugin.kill()


@pytest.fixture(autouse=True)
def no_bridge_is_left(programs):
    yield
    eventually(lambda: not plugins.bridges(programs), "every bridge has ended")


def the_bridge(programs):
    [bridge] = eventually(lambda: plugins.bridges(programs), "there is a bridge")
    return bridge


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_the_examples_serve(agent, crun, work, language, programs):
    command = {"cpp": [[programs / "example_emulator"]], "python": []}[language]
    plugin = Plugin(work, *command)
    text = (plugins.ROOT / "examples/policy.json").read_text()
    rules = json.loads(text.replace("/run/example.sock", str(plugin.socket)))["rules"]
    agent.write_policy("example", *rules)
    with plugin, crun.start(Wish(policy="example", cpus=str(last_cpu()))) as container:
        assert container.run("uname -r").text == RELEASE
        assert "as the plugin says" in container.run("cat /proc/cpuinfo").text
        assert container.run("cat /etc/group").text == "root:x:0:"
        assert container.exec("uname -r").text == RELEASE


def test_bridge_is_small_and_has_no_rights(agent, crun, plugin, programs):
    agent.write_policy("remote", plugin.rule("uname"))
    with plugin, crun.start(Wish(policy="remote", cpus=str(last_cpu()))) as container:
        assert container.run("uname -r").text == RELEASE
        bridge = the_bridge(programs)
        for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]:
            assert int(processes.status_field(bridge, name), 16) == 0, name
        assert processes.status_field(bridge, "Uid").split() == ["65534"] * 4
        assert processes.status_field(bridge, "Gid").split() == ["65534"] * 4
        assert processes.status_field(bridge, "NoNewPrivs") == "1"
        assert processes.status_field(bridge, "Seccomp") == "2"
        places = {processes.status_field(f"{bridge}/task/{task}", "Cpus_allowed_list")
                  for task in os.listdir(f"/proc/{bridge}/task")}
        assert places == {str(last_cpu())}


def test_absent_plugin_by_each_rule(agent, crun, plugin):
    agent.write_policy("errno", plugin.rule("uname"))
    agent.write_policy("continue", plugin.rule("uname", absent="continue"))
    with crun.start(Wish(policy="errno")) as container:
        assert is_refused(container)
        with plugin:
            eventually(lambda: container.run("uname -r").text == RELEASE, "the plugin takes over")
        eventually(lambda: is_refused(container), "it is absent")
    with crun.start(Wish(policy="continue")) as container:
        assert container.run("uname -r").text == os.uname().release


def test_plugin_killed_and_restarted_under_load(agent, crun, plugin, programs):
    agent.write_policy("remote", plugin.rule("uname", absent="wait"), *OTHERS)
    plugin.start()
    with crun.start(Wish(policy="remote", memory=MEMORY)) as container:
        load = Load(programs, crun, container, RELEASE, MEMORY)
        for _ in range(4):
            blows.pause(200)
            plugin.kill()
            blows.pause(200)
            plugin.start()
        blows.pause(200)
        outcome = load.finish()
    assert outcome.wrong == 0, outcome
    assert outcome.calls > 100, outcome


def test_whatever_dies_remote_calls_are_answered(agent, crun, plugin, programs):
    agent.write_policy("remote", plugin.rule("uname", absent="wait"), *OTHERS)
    plugin.start()

    def bridge_dies(_):
        blows.pause(30)
        blows.kill(plugins.bridges(programs))

    with crun.start(Wish(policy="remote", memory=MEMORY)) as container:
        load = Load(programs, crun, container, RELEASE, MEMORY)
        for blow in [bridge_dies, blows.worker_dies, blows.agent_dies, bridge_dies,
                     blows.worker_and_agent_die, bridge_dies, blows.keeper_dies,
                     blows.worker_dies]:
            blow(agent)
            blows.pause(100)
        outcome = load.finish()
        assert outcome.wrong == 0, outcome
        assert outcome.calls > 100, outcome
        agent.kill()
        os.kill(the_bridge(programs), signal.SIGKILL)  # while there is no agent
        eventually(lambda: not plugins.bridges(programs), "the bridge is dead")
        container.shell.start("uname -r")
        agent.start()
        assert container.shell.finish().text == RELEASE


def test_bridge_serves_on_without_an_agent(agent, crun, plugin):
    agent.write_policy("remote", plugin.rule("uname"))
    with plugin, crun.start(Wish(policy="remote")) as container:
        agent.kill()
        assert container.run("uname -r").text == RELEASE


def test_a_stuck_plugin_holds_up_its_own_calls_alone(agent, crun, plugin):
    agent.write_policy("remote", plugin.rule("uname", deadline="300ms"), *OTHERS)
    with plugin, crun.start(Wish(policy="remote", memory=MEMORY)) as container:
        assert container.run("uname -r").text == RELEASE
        plugin.stand_still()
        # Far more than fit into every buffer between the container and the plugin.
        container.shell.start("for i in $(seq 40); do uname -r & done >/tmp/late; wait")
        assert container.exec("mknod /tmp/null c 1 3 && echo made").text == "made"
        container.shell.finish()
        assert RELEASE not in container.run("strings /tmp/late").text
        plugin.go_on()
        eventually(lambda: container.run("uname -r").text == RELEASE, "it goes on")


def test_a_plugin_that_says_nonsense_is_absent(agent, crun, plugin, programs):
    agent.write_policy("remote", plugin.rule("uname"), *OTHERS)
    with plugins.Nonsense(plugin.socket) as nonsense, \
            crun.start(Wish(policy="remote", memory=MEMORY)) as container:
        assert is_refused(container)
        eventually(lambda: nonsense.visits > 2, "it is tried again")
        assert container.run("mknod /tmp/null c 1 3").status == 0
        bridge = the_bridge(programs)
    with agent.control() as client:
        agent.wait_until_empty(client)
    assert bridge not in plugins.bridges(programs)
