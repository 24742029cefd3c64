"""The same job through every engine: served, placed, followed, and nothing left."""

import pytest
from conftest import ALL_KINDS, RELEASE, last_cpu, make_engine
from harness import engines, processes
from harness.bundle import MEBIBYTE, Wish
from harness.cgroup import ROOT
from harness.wait import eventually_equal
from test_serving import NODES, NODES_WORK

MEMORY = 96 * MEBIBYTE


@pytest.fixture(params=list(ALL_KINDS))
def any_engine(request, stopped_agent, namespace, work):
    engine = make_engine(request.param, stopped_agent, namespace, work)
    yield engine
    engine.close()


def test_the_same_job(any_engine, agent, control_client):
    wish = Wish(policy="serving", cpus=str(last_cpu()), memory=MEMORY)
    with any_engine.start(wish) as container:
        # The first process, and one that the engine brings into the container.
        for run in [container.run, container.exec]:
            assert run("uname -r").text == RELEASE
            total = run("free -k").text.splitlines()[1]
            assert total.startswith("Mem:") and int(total[4:19]) == MEMORY // 1024
        nodes = container.run(NODES)
        assert (nodes.status, nodes.text) == (0, NODES_WORK)

        [sandbox] = control_client.sandboxes()
        assert (sandbox.id, sandbox.policy) == (container.id, "serving")
        [worker] = agent.workers()
        for cpus in ["0", str(last_cpu())]:
            any_engine.update_cpus(container, cpus)
            eventually_equal(lambda: processes.status_field(worker, "Cpus_allowed_list"), cpus,
                             "the worker's CPUs")
        assert container.run("uname -r").text == RELEASE
    agent.wait_until_empty(control_client)
    left = [path for top in [ROOT / engines.CGROUP, *ROOT.glob(f"*/{engines.CGROUP}")]
            for path in top.glob("*")
            if path.is_dir() and path.name != "conmon"]  # podman's, which it keeps
    assert not left, left
