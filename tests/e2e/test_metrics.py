"""What Prometheus scrapes, and that dashboard and alerts ask for what there is."""

import json
import re
import socket
import urllib.request
from pathlib import Path

from conftest import last_cpu
from harness.bundle import Wish
from prometheus_client.parser import text_string_to_metric_families

CONFIG = Path(__file__).resolve().parents[2] / "config"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def scrape(port):
    """Families by name; a histogram's and a counter's samples have names of their own."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as response:
        text = response.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(families, sample_name, **labels):
    return sum(sample.value for family in families.values() for sample in family.samples
               if sample.name == sample_name and labels.items() <= sample.labels.items())


def expressions():
    """Every query of the dashboard, and every condition of an alert."""
    dashboard = json.loads((CONFIG / "grafana/sidecall.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]
    rules = (CONFIG / "prometheus/sidecall.rules.yml").read_text()
    yield from re.findall(r"expr: (?:\|\n)?((?:.|\n)*?)\n +(?:for|labels):", rules)


def test_dashboard_and_alerts_query_what_exists(stopped_agent, crun):
    port = free_port()
    stopped_agent.start("--metrics", str(port))
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        container.run("uname -r")
        families = scrape(port)
    samples = {}
    for family in families.values():
        for sample in family.samples:
            samples.setdefault(sample.name, set()).update(sample.labels)
    wanted = list(expressions())
    assert len(wanted) > 20
    for expression in wanted:
        names = re.findall(r"\bsidecall_[a-z_]+", expression)
        assert names or expression.startswith("up{"), expression
        for name in names:
            assert name in samples, expression
            # What Prometheus itself adds: job and instance.
            for group in re.findall(r"by \(([^)]*)\)", expression):
                labels = {label.strip() for label in group.split(",")} - {"instance"}
                assert labels <= samples[name], expression


def test_counts_what_was_called_and_keeps_it_when_the_sandbox_has_ended(stopped_agent, crun):
    port = free_port()
    stopped_agent.start("--metrics", f"127.0.0.1:{port}")
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        container.run("uname -r; uname -r; uname -r")
        families = scrape(port)
        served = value(families, "sidecall_calls_total", syscall="uname", verdict="value")
        assert served >= 3
        assert value(families, "sidecall_call_duration_seconds_count", syscall="uname") > 0
        assert value(families, "sidecall_listeners") == 1
        assert value(families, "sidecall_sandboxes", state="serving") == 1
        assert not any("sandbox" in sample.labels for family in families.values()
                       for sample in family.samples)
    with stopped_agent.control() as control:
        stopped_agent.wait_until_empty(control)
    families = scrape(port)
    assert value(families, "sidecall_calls_total", syscall="uname", verdict="value") >= served
    assert value(families, "sidecall_listeners") == 0
