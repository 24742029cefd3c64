"""A program under test: what it gives as root of the host it gives in a served container."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import bundle, cgroup
from .bundle import CAPABILITIES, Wish
from .image import NO_IMAGE
from .native import NativeRoot


@dataclass(frozen=True)
class Program:
    """A script whose result and output are wanted to be those of root of the host."""

    script: str
    rules: tuple  # of the policy
    prepare: Callable[[Path], Path] | None = None  # makes a file or tree of root's below the root
    look: Callable[[Path], object] = lambda root: None  # what is wanted to be the same besides
    capabilities: tuple = tuple(CAPABILITIES)
    same_off: bool = False  # the kernel does it without sidecall as well
    needs: str | None = None  # a file of the host

    def check(self, agent, engine, work, image=NO_IMAGE):
        """Runs it natively, with sidecall off and on, and asserts what must be of the three. The
        device of `image` is at /image."""
        agent.write_policy("program", *self.rules)

        def contained(wish):
            with engine.start(wish) as container:
                cgroup.allow_real_time(container.pid)
                return self._run(container, engine.root(container.name), bundle.FIRST_ID, image)

        with NativeRoot(work) as native:
            wanted = self._run(native, native.root, 0, image)
        assert wanted[0].status == 0, f"natively: {wanted}"
        wish = {"host_programs": True, "capabilities": self.capabilities}
        off = contained(Wish(served=False, **wish))
        assert (off == wanted) == self.same_off, f"off: {off}, natively: {wanted}"
        on = contained(Wish(policy="program", **wish))
        assert on == wanted, f"on: {on}, natively: {wanted}"

    def _run(self, place, root, owner, image):
        """In a place whose root directory is `root`, where `owner` is root."""
        if self.prepare:
            bundle.give_to(self.prepare(root), owner)
        image.put_node(root / "image", owner)
        outcome = place.run(f"mkdir /tmp/work && cd /tmp/work && {self.script}")
        return outcome, self.look(root)
