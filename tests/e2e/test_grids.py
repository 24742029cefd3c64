"""The grids of tests/grid in real containers: natively, with sidecall off and on.

tests/grid/case.h says what a grid is. Here the same cases run below crun and are served by an agent;
each grid program itself judges the three transcripts."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import cgroup
from harness.bundle import ALL_CAPABILITIES, FIRST_ID, Wish
from harness.image import Image

# "mknod_cases" and "mknod_i386" are the cases of grid_mknod, alone, for the two ABIs.
PROGRAMS = Path(os.environ.get("SIDECALL_PROGRAMS", ""))
CASES = sorted(path.name for abi in ["cases", "i386"] for path in PROGRAMS.glob(f"grid_*_{abi}"))


def run_natively(cases, work, image):
    scratch = work / "scratch"
    scratch.mkdir()
    image.put_node(scratch / "image")
    done = subprocess.run(["unshare", "--mount", "--uts", cases, "run-cases", "--native", scratch],
                          capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def run_in_container(cases, engine, wish, image):
    with engine.start(wish) as container:
        cgroup.allow_real_time(container.pid)
        root = engine.root(container.name)
        shutil.copy(cases, root / "cases")
        image.put_node(root / "tmp" / "image", FIRST_ID)
        outcome = container.run("/cases run-cases --container /tmp > /transcript")
        assert outcome.status == 0, outcome.text
        return (root / "transcript").read_text()


@pytest.mark.parametrize("cases", CASES)
def test_grid(cases, programs, agent, crun, work, capsys):
    grid = programs / cases.rpartition("_")[0]
    policy = subprocess.run([grid, "policy"], capture_output=True, text=True, check=True).stdout
    agent.write_policy("grid", *json.loads(policy)["rules"])
    wish = {"capabilities": tuple(ALL_CAPABILITIES)}
    cases = programs / cases
    with Image(work) as image:
        transcripts = {
            "native": run_natively(cases, work, image),
            "off": run_in_container(cases, crun, Wish(served=False, **wish), image),
            "on": run_in_container(cases, crun, Wish(policy="grid", **wish), image),
        }
    for place, text in transcripts.items():
        (work / place).write_text(text)
    judged = subprocess.run([grid, "judge", *(work / place for place in transcripts)],
                            capture_output=True, text=True, timeout=60)
    with capsys.disabled():
        print(f"\n{cases.name} in crun: {judged.stdout.strip()}")
    if judged.returncode != 0:
        pytest.fail(judged.stdout + judged.stderr, pytrace=False)


def test_there_are_grids(programs):
    assert CASES, f"no grid_*_cases in {programs}"
