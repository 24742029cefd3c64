"""What a served container sees, on each engine."""

from conftest import RELEASE, last_cpu
from harness import processes
from harness.bundle import MEBIBYTE, Wish

NODES = """
cd /tmp && mknod null c 1 3 && mknod zero c 1 5 &&
echo gone > null && head -c 3 zero | hexdump -v -e '/1 "%x"' && cat null &&
stat -c ' %u:%g %t:%T' null zero
"""
NODES_WORK = "000 0:0 1:3\n 0:0 1:5"


def test_nodes_work(container):
    outcome = container.run(NODES)
    assert (outcome.status, outcome.text) == (0, NODES_WORK)


def test_what_is_not_allowed_is_refused_as_without_sidecall(container, engine):
    script = "mknod /tmp/disk b 8 0; mknod /tmp/mem c 1 1; mknod /tmp/none/zero c 1 5"
    served = container.run(script)
    with engine.start(Wish(served=False)) as plain:
        native = plain.run(script.replace("/tmp/none/zero c 1 5", "/tmp/none/pipe p"))
    assert served.text == native.text.replace("/tmp/none/pipe", "/tmp/none/zero")
    assert served.text.count("Operation not permitted") == 2


def test_sysinfo_shows_the_containers_own_limit(agent, engine):
    with engine.start(Wish(policy="serving", memory=96 * MEBIBYTE)) as container:
        memory = container.run("free -k").text.splitlines()[1]
    # By place: what else stands in the line is computed from the host's /proc/meminfo, and may be
    # so wide that it touches the total.
    assert memory.startswith("Mem:")
    assert int(memory[4:19]) == 96 * 1024


def test_uname_shows_the_policys_release(container):
    assert container.run("uname -r").text == RELEASE


def test_worker_is_on_the_containers_cpus(container, agent, control_client):
    wanted = processes.status_field(container.pid, "Cpus_allowed_list")
    assert wanted == str(last_cpu())
    [worker] = agent.workers()
    assert processes.status_field(worker, "Cpus_allowed_list") == wanted
    sandbox = control_client.sandbox(container.id)
    assert (sandbox.cpus, sandbox.worker_pid, sandbox.pid) == (wanted, worker, container.pid)


def test_exec_is_served_by_the_same_worker(container, agent, control_client):
    """An exec'd process brings a filter, and so a listener, of its own."""
    before = control_client.sandbox(container.id)
    assert before.listeners == 1
    with container.exec_shell() as second:
        outcome = second.run(NODES)
        assert (outcome.status, outcome.text) == (0, NODES_WORK)
        during = control_client.sandbox(container.id)
        assert (during.listeners, during.worker_pid) == (2, before.worker_pid)
    assert agent.workers() == [before.worker_pid]


def figures(client, container):
    """Of the calls that were made, by name."""
    return {call.name: call for call in client.sandbox(container.id).syscalls if call.calls}


def test_calls_are_counted_by_name_and_verdict(container, control_client):
    container.run("uname -r")
    before = figures(control_client, container)["uname"]
    container.run("uname -r; uname -r")
    container.run(NODES)
    container.run("mknod /tmp/disk b 8 0")
    after = figures(control_client, container)
    assert after["uname"].values - before.values == 2
    node = after.get("mknod") or after["mknodat"]  # whichever the C library makes of mknod(3)
    assert (node.calls, node.values, node.failures) == (3, 2, 0)
    assert node.errnos + node.continued == 1
    assert 0 < node.latency_p50_ns <= node.latency_p99_ns
