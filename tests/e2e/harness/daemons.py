"""Engines with a daemon, which call their OCI runtime by a path: sidecall-runtime stands there."""

import json
import shutil
import signal
import subprocess
from pathlib import Path

from . import bundle, cgroup, cri, images
from .engines import CGROUP, Engine, NamedContainers, StartFailed, must, run
from .shell import Outcome
from .wait import PATIENCE_SECONDS, eventually

SAMPLES = Path(__file__).resolve().parents[3] / "config/engines"
IMAGE = "localhost/sidecall-busybox:latest"


def wrapper(agent, runtime, path, *options):
    """A program at `path` that is sidecall-runtime before `runtime`, with this agent's places."""
    words = [*agent.runtime(runtime), *options]
    path.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + ' "$@"\n')
    path.chmod(0o755)
    return path


class Daemon:
    """A program that runs in the engines' namespace until it is stopped."""

    def __init__(self, command, log, is_ready, what):
        with log.open("ab") as output:
            self._process = subprocess.Popen([str(word) for word in command], stdout=output,
                                             stdin=subprocess.DEVNULL, stderr=output)
        try:
            eventually(lambda: self._process.poll() is not None or is_ready(), f"{what} is ready")
        except BaseException:
            self.stop()
            raise
        if self._process.poll() is not None:
            raise StartFailed(f"{what} ended: {log.read_text()[-2000:]}")

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Docker(NamedContainers):
    """docker with a daemon of its own, whose containers have a user namespace (userns-remap)."""

    POLICY = "serving"  # which its containers may name by a label: this docker has no annotations

    def __init__(self, runtime, agent, namespace, work):
        super().__init__(f"docker-{runtime}", agent, namespace, work)
        self._runtime = runtime
        self._socket = work / "docker.sock"
        self._command = ["docker", "--host", f"unix://{self._socket}"]
        config = work / "daemon.json"
        config.write_text(json.dumps({"runtimes": self._runtimes(agent)}))
        self._daemon = Daemon(
            [*namespace.prefix, "unshare", "--mount", "sh", "-c", self._remapped(), "dockerd",
             "--data-root", work / "docker", "--exec-root", work / "docker-run",
             "--host", f"unix://{self._socket}", "--pidfile", work / "docker.pid",
             "--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs",
             "--exec-opt=native.cgroupdriver=cgroupfs", "--userns-remap=daemon:daemon",
             "--config-file", config],
            work / "dockerd.log", lambda: run([*self._command, "version"]).status == 0, "dockerd")
        must([*self._command, "load", "--input", images.make_archive(work, IMAGE, ["sh"])])

    def _runtimes(self, agent):
        """As daemon.json of our documents has them, but for the places and the policy."""
        runtimes = {"plain": {"path": shutil.which(self._runtime)}}
        if agent:
            ours = json.loads((SAMPLES / "docker/daemon.json").read_text())["runtimes"]["sidecall"]
            program, *options = agent.runtime(self._runtime)
            labels = ours["runtimeArgs"][-1].replace("=default", f"={self.POLICY}")
            assert ours["runtimeArgs"][0].startswith("--sidecall-runtime="), ours
            runtimes["sidecall"] = {"path": program, "runtimeArgs": [*options, labels]}
        return runtimes

    def _remapped(self):
        """Gives the daemon, and nobody else, ids to map."""
        ids = self._work / "ids"
        ids.write_text(f"daemon:{bundle.FIRST_ID}:{bundle.IDS}\n")
        return (f'for file in /etc/subuid /etc/subgid; do mount --bind {ids} "$file"; done && '
                'exec "$0" "$@"')

    def _start_command(self, name, wish):
        options = [
            "run", "--interactive", "--name", name, "--network=none",
            f"--runtime={'sidecall' if wish.served else 'plain'}",
            "--ulimit=nofile=1024:1024", "--cap-drop=all",
            *[f"--cap-add={capability}" for capability in wish.capabilities],
            f"--cgroup-parent=/{CGROUP}", f"--memory={wish.memory}",
            *[f"--label={key}={value}" for key, value in wish.all_annotations().items()]]
        if wish.cpus:
            options.append(f"--cpuset-cpus={wish.cpus}")
        return [*self._command, *options, IMAGE, "sh"]

    def update_cpus(self, container, cpus):
        if self._runtime == "crun":
            # docker's update makes crun 1.8 write a memory limit of 0, which fails.
            return cgroup.set_cpus(container.pid, cpus)
        super().update_cpus(container, cpus)

    def clean_up(self, name):
        run([*self._command, "rm", "--force", name])

    def close(self):
        self._daemon.stop()
        cgroup.remove(CGROUP)


class Containerd(Engine):
    """containerd by ctr. The same daemon serves Cri below."""

    NAMESPACE = "sidecall"
    CONFIG = """
version = 2
root = "{work}/containerd"
state = "{work}/containerd-run"
[grpc]
  address = "{work}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  disable_tcp_service = true
  stream_server_port = "0"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
"""

    def __init__(self, agent, namespace, work, label="containerd"):
        super().__init__(label, agent, namespace, work)
        self._runtime = (wrapper(agent, "runc", work / "sidecall-runtime-of-containerd")
                         if agent else shutil.which("runc"))
        self.socket = work / "containerd.sock"
        self._ctr = [*namespace.prefix, "ctr", "--address", self.socket,
                     "--namespace", self.NAMESPACE]
        config = work / "containerd.toml"
        ours = (SAMPLES / "containerd/containerd.toml").read_text()
        config.write_text(self.CONFIG.format(work=work, image=IMAGE) + ours.replace(
            "/usr/local/bin/sidecall-runtime-runc", str(self._runtime)))
        self._daemon = Daemon([*namespace.prefix, "containerd", "--config", config],
                              work / "containerd.log",
                              lambda: run([*self._ctr, "version"]).status == 0, "containerd")
        archive = images.make_archive(work, IMAGE, ["/bin/sleep", "1000000"])
        must([*self._ctr, "images", "import", "--snapshotter=native", archive])

    def _start_command(self, name, wish):
        # In the host's user namespace: with one of its own, containerd before 2.1 forgets which
        # runtime was asked for (containerd issue 11480).
        runtime = self._runtime if wish.served else shutil.which("runc")
        options = ["--rm", "--snapshotter=native", "--runtime=io.containerd.runc.v2",
                   f"--runc-binary={runtime}",
                   f"--cgroup=/{CGROUP}/{name}", f"--memory-limit={wish.memory}",
                   *[f"--cap-add=CAP_{capability}" for capability in wish.capabilities],
                   *[f"--annotation={key}={value}"
                     for key, value in wish.all_annotations().items()]]
        return [*self._ctr, "run", *options, IMAGE, name, "sh"]

    def exec_command(self, name, user):
        self._started += 1
        return [*self._ctr, "tasks", "exec", f"--exec-id=exec-{self._started}", "--user",
                str(user), name]

    def container_id(self, name):
        return name

    def container_pid(self, name):
        for line in must([*self._ctr, "tasks", "list"]).splitlines():
            if line.split()[0] == name:
                return int(line.split()[1])
        raise StartFailed(f"ctr does not list {name}")

    def clean_up(self, name):
        run([*self._ctr, "tasks", "delete", "--force", name])
        run([*self._ctr, "containers", "delete", name])

    def close(self):
        self._daemon.stop()
        cgroup.remove(CGROUP)


class CriContainer:
    """A container of a pod, as kubelet has it made. A context manager."""

    # Feeds its first process, which nobody holds the input of.
    FIRST = "mkfifo /tmp/in /tmp/out; while sh </tmp/in >/tmp/out 2>&1; do :; done"

    def __init__(self, runtime, name, wish):
        self._runtime = runtime
        self.name = name
        self._pod = cri.Pod(name, wish.all_annotations(), f"/{CGROUP}")
        self._sandbox = runtime.run_pod(self._pod, "sidecall" if wish.served else "")
        try:
            self.id = runtime.create_container(
                self._sandbox, self._pod, name, IMAGE, ["sh", "-c", self.FIRST], wish.memory,
                wish.cpus or "")
            runtime.start_container(self.id)
            self.pid = runtime.container_pid(self.id)
        except BaseException:
            runtime.remove_pod(self._sandbox)
            raise

    def exec(self, script):
        return self._runtime.exec(self.id, ["sh", "-c", script])

    def run(self, script):
        feed = f"cat >/tmp/in <<'END'\n{script}\nprintf '\\n:%s' $?; exit 0\nEND\ncat /tmp/out"
        text, _, status = self.exec(feed).text.rpartition("\n:")
        return Outcome(int(status), text.strip())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._runtime.stop_container(self.id)
        self._runtime.remove_pod(self._sandbox)


class Cri(Containerd):
    """containerd as Kubernetes talks to it."""

    NAMESPACE = "k8s.io"  # of the images that its CRI sees

    def __init__(self, agent, namespace, work):
        super().__init__(agent, namespace, work, label="cri")
        self._client = cri.Client(self.socket, work)

    def start(self, wish):
        self._started += 1
        try:
            return CriContainer(self._client, f"{self.label}-{self._started}", wish)
        except cri.Failed as reason:
            raise StartFailed(str(reason)) from None

    def update_cpus(self, container, cpus):
        self._client.update_cpus(container.id, cpus)

    def close(self):
        self._client.close()
        super().close()


# Each takes the arguments of Engine.
KINDS = {
    "docker-crun": lambda *rest: Docker("crun", *rest),
    "docker-runc": lambda *rest: Docker("runc", *rest),
    "containerd": Containerd,
    "cri": Cri,
}
