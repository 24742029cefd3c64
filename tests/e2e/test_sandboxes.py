"""Several sandboxes at once: each under its own policy, with its own worker."""

import os
import signal

from conftest import RELEASE
from harness import processes
from harness.bundle import MEBIBYTE, Wish


def test_two_policies_at_once(agent, engine, control_client):
    agent.write_policy("old", {"emulate": "uname", "options": {"release": "4.0.0-old"}})
    cpus = sorted(os.sched_getaffinity(0))
    first, second = str(cpus[0]), str(cpus[-1])  # one CPU twice where there is only one
    with engine.start(Wish(policy="serving", cpus=first)) as one, \
         engine.start(Wish(policy="old", cpus=second, memory=32 * MEBIBYTE)) as other:
        assert one.run("uname -r").text == RELEASE
        assert other.run("uname -r").text == "4.0.0-old"
        assert one.run("mknod /tmp/null c 1 3").status == 0
        assert other.run("mknod /tmp/null c 1 3").status != 0
        assert other.exec("uname -r").text == "4.0.0-old"

        places = {sandbox.id: sandbox for sandbox in control_client.sandboxes()}
        assert {places[one.id].policy, places[other.id].policy} == {"serving", "old"}
        assert places[one.id].worker_pid != places[other.id].worker_pid
        for container, cpu in [(one, first), (other, second)]:
            worker = places[container.id].worker_pid
            assert processes.status_field(worker, "Cpus_allowed_list") == cpu


def test_default_policy_is_for_containers_that_name_none(agent, engine):
    agent.write_policy("default", {"emulate": "uname", "options": {"release": "9.9.9-default"}})
    with engine.start(Wish()) as container:
        assert container.run("uname -r").text == "9.9.9-default"


def test_one_sandboxs_dead_worker_is_not_anothers(agent, crun, control_client):
    with crun.start(Wish(policy="serving")) as one, crun.start(Wish(policy="serving")) as other:
        workers = {box.id: box.worker_pid for box in control_client.sandboxes()}
        os.kill(workers[one.id], signal.SIGSTOP)
        try:
            assert other.run("uname -r").text == RELEASE
        finally:
            os.kill(workers[one.id], signal.SIGCONT)
        assert one.run("uname -r").text == RELEASE
        assert control_client.sandbox(other.id).worker_restarts == 0
