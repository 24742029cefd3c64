"""Fixtures: the machine once per session; an agent, an engine and a container once per test."""

import functools
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from harness import cgroup, control, daemons, engines  # noqa: E402
from harness.agent import Agent  # noqa: E402
from harness.bundle import Wish  # noqa: E402
from harness.wait import NeverHappened, eventually  # noqa: E402

ALL_KINDS = engines.KINDS | daemons.KINDS
RELEASE = "6.1.0-sidecall"
SERVING_RULES = [
    {"emulate": "mknod", "options": {"devices": ["c 1:3", "c 1:5"]}},
    {"emulate": "sysinfo"},
    {"emulate": "uname", "options": {"release": RELEASE}},
]


def pytest_sessionfinish(session):
    """A run in which nothing ran is a failure, not a success."""
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if not stats.get("passed") and not session.config.option.collectonly:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def programs():
    """The directory of the programs under test."""
    directory = Path(os.environ.get("SIDECALL_PROGRAMS", ""))
    if not (directory / "sidecalld").exists():
        pytest.exit("SIDECALL_PROGRAMS must name the directory that holds sidecalld", 1)
    if os.geteuid() != 0:
        pytest.skip("containers with user namespaces of their own are made by root")
    return directory


@pytest.fixture(scope="session")
def namespace():
    namespace = cgroup.EngineNamespace()
    yield namespace
    namespace.close()


def make_work():
    """A directory that container users may pass through."""
    work = Path(tempfile.mkdtemp(prefix="sidecall-e2e-"))
    work.chmod(0o711)
    return work


@pytest.fixture
def work():
    work = make_work()
    yield work
    shutil.rmtree(work, ignore_errors=True)


@pytest.fixture(scope="session")
def messages():
    work = make_work()
    yield control.load_messages(work)
    shutil.rmtree(work)


@functools.cache
def why_not(kind, namespace):
    """Why this engine cannot be used here, without sidecall: None where it can."""
    work = make_work()
    engine = None
    try:
        engine = ALL_KINDS[kind](None, namespace, work)
        with engine.start(Wish(served=False, cpus=str(last_cpu()))):
            pass
    except (OSError, engines.StartFailed) as reason:
        return f"{kind} runs no container here: {reason}"
    finally:
        if engine:
            engine.close()
        shutil.rmtree(work, ignore_errors=True)
    return None


def last_cpu():
    return max(os.sched_getaffinity(0))


@pytest.fixture
def stopped_agent(programs, messages, work):
    """An agent that the test may start. Whatever is left of it afterwards fails the test."""
    agent = Agent(programs, work, messages)
    agent.write_policy("serving", *SERVING_RULES)
    yield agent
    agent.stop()
    try:
        eventually(lambda: not agent.workers(), "every worker has ended")
    except NeverHappened:
        for pid in agent.workers():
            os.kill(pid, signal.SIGKILL)
        raise
    finally:
        agent.end_keepers()


@pytest.fixture
def agent(stopped_agent):
    stopped_agent.start()
    return stopped_agent


@pytest.fixture
def control_client(agent):
    with agent.control() as client:
        yield client


def skip_without(kind, namespace):
    reason = why_not(kind, namespace)
    if reason:
        pytest.skip(reason)


def make_engine(kind, agent, namespace, work):
    skip_without(kind, namespace)
    return ALL_KINDS[kind](agent, namespace, work)


@pytest.fixture(params=list(engines.KINDS))
def engine(request, stopped_agent, namespace, work):
    """Each engine in turn."""
    engine = make_engine(request.param, stopped_agent, namespace, work)
    yield engine
    engine.close()


@pytest.fixture(params=["crun", "runc"])
def runtime(request, stopped_agent, namespace, work):
    """Each OCI runtime in turn, on bundles."""
    engine = make_engine(request.param, stopped_agent, namespace, work)
    yield engine
    engine.close()


@pytest.fixture
def crun(stopped_agent, namespace, work):
    """One engine, for what does not depend on which."""
    engine = make_engine("crun", stopped_agent, namespace, work)
    yield engine
    engine.close()


@pytest.fixture
def container(agent, engine):
    """A container under the policy "serving", on one CPU."""
    with engine.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        yield container
