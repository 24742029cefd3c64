"""Real engines: crun and runc on bundles, podman with either below it."""

import json
import os
import shutil
import subprocess

from . import bundle, cgroup
from .shell import Outcome, Shell, ShellEnded
from .wait import eventually

PATIENCE_SECONDS = 120
CGROUP = f"sidecall-e2e-{os.getpid()}"  # of this session alone


class StartFailed(Exception):
    """A container did not start. `text` is what its user would read."""

    def __init__(self, text):
        super().__init__(text)
        self.text = text


def run(command, **options):
    done = subprocess.run([str(word) for word in command], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=PATIENCE_SECONDS, **options)
    return Outcome(done.returncode, done.stdout.strip())


def must(command):
    outcome = run(command)
    if outcome.status != 0:
        raise StartFailed(outcome.text)
    return outcome.text


class Container:
    """A running container whose first process is a shell that we feed. A context manager."""

    def __init__(self, engine, name, shell):
        self._engine = engine
        self.name = name
        self.shell = shell
        self.id = engine.container_id(name)
        self.pid = engine.container_pid(name)

    def run(self, script):
        """Runs `script` below the container's first process."""
        return self.shell.run(script)

    def exec(self, script, user=0):
        """Runs `script` in a process that the engine brings into the container."""
        return run(self._engine.exec_command(self.name, user) + ["sh", "-c", script])

    def exec_shell(self):
        """A second shell in the container, in a process that the engine brings there."""
        return Shell([str(word) for word in self._engine.exec_command(self.name, 0) + ["sh"]])

    def stop(self):
        """Lets the first process end, and with it the container, as containers mostly do."""
        self.shell.close()
        self._engine.clean_up(self.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Engine:
    """What all engines share. `agent` says where hooks find the agent and the policies; it need not
    run. `namespace` is where the engine's own commands run."""

    def __init__(self, label, agent, namespace, work):
        self.label = label
        self._agent = agent
        self._namespace = namespace
        self._work = work
        self._started = 0

    def update_cpus(self, container, cpus):
        """What changes the CPUs of a running container; by default, whoever manages cgroups."""
        cgroup.set_cpus(container.pid, cpus)

    def start(self, wish):
        self._started += 1
        name = f"{self.label}-{self._started}"
        shell = None
        try:
            shell = Shell([str(word) for word in self._start_command(name, wish)])
            return Container(self, name, shell)
        except BaseException as reason:
            if shell:
                shell.close()
            self.clean_up(name)
            if isinstance(reason, ShellEnded):
                raise StartFailed(reason.text) from None
            raise


class Runtime(Engine):
    """crun or runc on a plain bundle that `sidecall bundle add` has prepared."""

    def __init__(self, runtime, agent, namespace, work):
        super().__init__(runtime, agent, namespace, work)
        self._runtime = runtime
        self._command = [*namespace.prefix, runtime, "--root", work / f"{runtime}-state"]

    def prepare(self, name, wish, command=("sh",)):
        """Makes the bundle without starting it. Returns its directory."""
        directory = self._work / name
        directory.mkdir(mode=0o711)
        bundle.make_bundle(directory, self._runtime, wish, list(command), f"/{CGROUP}/{name}")
        if wish.served:
            must(self._agent.client("bundle", "add", directory))
        return directory

    def run_bundle(self, name, directory):
        """Runs a prepared bundle to its end, without a shell to feed."""
        return run([*self._command, "run", "--bundle", directory, name])

    def root(self, name):
        """The container's root directory on the host."""
        return self._work / name / "rootfs"

    def _start_command(self, name, wish):
        directory = self.prepare(name, wish)
        return [*self._command, "run", "--bundle", directory, name]

    def exec_command(self, name, user):
        return [*self._command, "exec", "--user", str(user), name]

    def update_cpus(self, container, cpus):
        must([*self._command, "update", f"--cpuset-cpus={cpus}", container.name])

    def container_id(self, name):
        return name

    def container_pid(self, name):
        # A runtime in the foreground writes the state only after it has let the container run.
        state = eventually(lambda: self._state(name), f"{self.label} knows the state of {name}")
        return state["pid"]

    def _state(self, name):
        outcome = run([*self._command, "state", name])
        return json.loads(outcome.text) if outcome.status == 0 else None

    def clean_up(self, name):
        run([*self._command, "delete", "--force", name])
        shutil.rmtree(self._work / name, ignore_errors=True)

    def close(self):
        cgroup.remove(CGROUP)


class NamedContainers(Engine):
    """What podman and docker share: `_command` is either of them with its places."""

    def exec_command(self, name, user):
        return [*self._command, "exec", "--interactive", "--user", str(user), name]

    def update_cpus(self, container, cpus):
        must([*self._command, "update", f"--cpuset-cpus={cpus}", container.name])

    def container_id(self, name):
        return self._inspect(name, "{{.Id}}")

    def container_pid(self, name):
        return int(self._inspect(name, "{{.State.Pid}}"))

    def _inspect(self, name, what):
        return must([*self._command, "container", "inspect", "--format", what, name])


class Podman(NamedContainers):
    """podman with a precreate hook, `runtime` below it and every path of its own."""

    IMAGE = "localhost/sidecall-busybox"

    def __init__(self, runtime, agent, namespace, work):
        super().__init__(f"podman-{os.path.basename(runtime)}", agent, namespace, work)
        self._command = [
            *namespace.prefix, "podman", "--root", work / "podman",
            "--runroot", work / "podman-run", "--tmpdir", work / "podman-tmp",
            "--runtime", shutil.which(runtime), "--cgroup-manager=cgroupfs",
            "--storage-driver=vfs", "--events-backend=none"]
        self._image = None

    def _import_image(self):
        if run([*self._command, "image", "exists", self.IMAGE]).status != 0:
            archive = bundle.make_image(self._work)
            must([*self._command, "import", archive, self.IMAGE])

    def _hooks(self, wish):
        """A hooks directory as an administrator would fill it; an empty one where not served."""
        directory = self._work / ("hooks" if wish.served else "no-hooks")
        directory.mkdir(exist_ok=True)
        if wish.served:
            hook = self._agent.hook("precreate")
            (directory / "sidecall.json").write_text(json.dumps({
                "version": "1.0.0",
                "hook": {"path": hook[0], "args": hook},
                "when": {"always": True},
                "stages": ["precreate"]}))
        return directory

    def _start_command(self, name, wish):
        self._import_image()
        options = [
            "--hooks-dir", self._hooks(wish), "run", "--interactive", "--name", name,
            "--network=none", f"--uidmap=0:{bundle.FIRST_ID}:{bundle.IDS}",
            # A host's root may not be allowed to raise what podman raises by default.
            "--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000",
            "--cap-drop=all", f"--cap-add={','.join(wish.capabilities)}",
            f"--cgroup-parent=/{CGROUP}", f"--memory={wish.memory}"]
        if wish.cpus:
            options.append(f"--cpuset-cpus={wish.cpus}")
        options += [f"--annotation={key}={value}" for key, value in wish.all_annotations().items()]
        return [*self._command, *options, self.IMAGE, "sh"]

    def clean_up(self, name):
        run([*self._command, "rm", "--force", "--time=0", name])

    def close(self):
        run([*self._command, "rm", "--all", "--force", "--time=0"])
        run([*self._command, "rmi", "--all", "--force"])
        cgroup.remove(CGROUP)


# One for each way into a container that is in use. Each takes the arguments of Engine.
KINDS = {
    "crun": lambda *rest: Runtime("crun", *rest),
    "runc": lambda *rest: Runtime("runc", *rest),
    "podman-crun": lambda *rest: Podman("crun", *rest),
    "podman-runc": lambda *rest: Podman("runc", *rest),
}
