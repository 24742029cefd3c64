"""The policy "observe-only": what a container asks for is seen, and nothing is as it was not."""

from harness import shipped
from harness.bundle import Wish
from test_serving import figures

WORKLOAD = """cd /tmp
mknod null c 1 3; mkdir at; mount -t tmpfs none at && umount at; mount -t ext4 /dev/null at
umount at; echo over
"""


def test_calls_are_counted_and_left_to_the_kernel(agent, crun, control_client):
    agent.write_policy("observe-only", *shipped.rules("observe-only"))
    with crun.start(Wish(served=False)) as container:
        native = container.run(WORKLOAD)
    with crun.start(Wish(policy="observe-only")) as container:
        assert container.run(WORKLOAD) == native
        calls = figures(control_client, container)
    assert "Operation not permitted" in native.text and native.text.endswith("over"), native
    node = calls.get("mknod") or calls["mknodat"]  # whichever the C library makes of it
    assert (node.calls, calls["mount"].calls, calls["umount2"].calls) == (1, 2, 2)
    assert all(call.continued == call.calls for call in calls.values())
