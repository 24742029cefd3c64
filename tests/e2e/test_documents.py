"""The samples that the documents show are run as they stand."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "runtime/emulators/README.md"]


def blocks(language):
    """(document, text) of each fenced block in that language."""
    return [(path.name, text) for path in DOCUMENTS
            for text in re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)]


def run(programs, *command, **options):
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(command, env=environment, text=True, capture_output=True, timeout=60,
                          **options)


@pytest.mark.parametrize("document,text", blocks("json"))
def test_policy_samples_are_valid(programs, work, document, text):
    json.loads(text)
    policy = work / "sample.json"
    policy.write_text(text)
    outcome = run(programs, "sidecall", "check", policy)
    assert (outcome.returncode, outcome.stderr) == (0, ""), document


def test_the_policy_without_a_container_works(programs):
    [(_, text)] = [each for each in blocks("sh") if "old.json" in each[1]]
    outcome = run(programs, "sh", "-e", input=text)
    assert (outcome.returncode, outcome.stdout) == (0, "5.10.0\n"), outcome.stderr


def test_every_command_that_is_shown_exists(programs):
    shown = {match for _, text in blocks("sh")
             for match in re.findall(r"^sidecall (\w+(?: (?:add|remove|compile|record|set))?)", text, re.M)}
    assert {"run", "ls", "stats", "doctor", "bundle add"} <= shown
    for command in shown:
        assert run(programs, "sidecall", *command.split(), "--help").returncode == 0, command


def test_make_has_what_the_documents_name():
    named = {name for path in [*DOCUMENTS, ROOT / "CONTRIBUTING.md"]
             for name in re.findall(r"(?:^|`)make (\w+)", path.read_text(), re.M)}
    targets = set(re.findall(r"^([\w ]+):", (ROOT / "Makefile").read_text(), re.M))
    assert {"demo", "test"} <= named <= {word for line in targets for word in line.split()}


def test_the_how_to_for_plugins_runs(programs, work):
    text = (ROOT / "examples/README.md").read_text()
    run_it, name_it = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    script = (run_it + "plugin=$!\ntrap 'kill $plugin' EXIT\n" + name_it +
              "until [ -S /run/example.sock ]; do sleep 0.1; done\n")
    for path in ["/tmp/plugin", "/run/example.sock", "/etc/sidecall"]:
        assert path in script
        script = script.replace(path, f"{work}{path}")
    (work / "run").mkdir()
    outcome = run(programs, "sh", "-e", input=script, cwd=ROOT)
    assert outcome.returncode == 0, outcome.stderr
    assert (work / "etc/sidecall/policies/example.json").exists()
