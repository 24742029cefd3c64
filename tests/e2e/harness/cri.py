"""A client of Kubernetes' container runtime interface, as much of it as kubelet needs for a pod."""

import functools
import json
from pathlib import Path

import grpc

from . import messages
from .shell import Outcome
from .wait import PATIENCE_SECONDS


class Failed(Exception):
    """The runtime refused. What it said."""


@functools.cache
def _messages(work):
    return messages.load(work, Path(__file__).parent, "cri.proto", "cri_pb2")


class Pod:
    """What a pod is: a name, its annotations and its cgroup."""

    def __init__(self, name, annotations, cgroup):
        self.name = name
        self.annotations = annotations
        self.cgroup = cgroup


class Client:
    def __init__(self, socket, work):
        self._channel = grpc.insecure_channel(f"unix:{socket}")
        self._m = _messages(work)

    def _call(self, method, request, response="Nothing"):
        response = getattr(self._m, response)
        try:
            return self._channel.unary_unary(
                f"/runtime.v1.RuntimeService/{method}", type(request).SerializeToString,
                response.FromString)(request, timeout=PATIENCE_SECONDS)
        except grpc.RpcError as error:
            raise Failed(error.details()) from None

    def _config(self, pod):
        m = self._m
        # In the host's network, for which no plugin is needed.
        network = m.PodSecurity(namespace_options=m.NamespaceOption(network=m.NODE))
        return m.PodConfig(metadata=m.PodMetadata(name=pod.name, uid=pod.name, namespace="tests"),
                           annotations=pod.annotations,
                           linux=m.LinuxPod(cgroup_parent=pod.cgroup, security_context=network))

    def run_pod(self, pod, handler):
        request = self._m.RunPodSandboxRequest(config=self._config(pod), runtime_handler=handler)
        return self._call("RunPodSandbox", request, "RunPodSandboxResponse").pod_sandbox_id

    def remove_pod(self, sandbox):
        for method in ["StopPodSandbox", "RemovePodSandbox"]:
            self._call(method, self._m.PodSandboxRequest(pod_sandbox_id=sandbox))

    def create_container(self, sandbox, pod, name, image, command, memory, cpus):
        m = self._m
        resources = m.LinuxResources(memory_limit_in_bytes=memory, cpuset_cpus=cpus)
        config = m.ContainerConfig(
            metadata=m.ContainerMetadata(name=name), image=m.ImageSpec(image=image),
            command=command, linux=m.LinuxContainer(resources=resources))
        request = m.CreateContainerRequest(pod_sandbox_id=sandbox, config=config,
                                           sandbox_config=self._config(pod))
        return self._call("CreateContainer", request, "CreateContainerResponse").container_id

    def start_container(self, container):
        self._call("StartContainer", self._m.ContainerRequest(container_id=container))

    def stop_container(self, container):
        self._call("StopContainer", self._m.StopContainerRequest(container_id=container))
        self._call("RemoveContainer", self._m.ContainerRequest(container_id=container))

    def container_pid(self, container):
        request = self._m.ContainerStatusRequest(container_id=container, verbose=True)
        status = self._call("ContainerStatus", request, "ContainerStatusResponse")
        return json.loads(status.info["info"])["pid"]

    def update_cpus(self, container, cpus):
        self._call("UpdateContainerResources", self._m.UpdateContainerResourcesRequest(
            container_id=container, linux=self._m.LinuxResources(cpuset_cpus=cpus)))

    def exec(self, container, command):
        request = self._m.ExecSyncRequest(container_id=container, cmd=command,
                                          timeout=PATIENCE_SECONDS)
        done = self._call("ExecSync", request, "ExecSyncResponse")
        return Outcome(done.exit_code, (done.stdout + done.stderr).decode().strip())

    def close(self):
        self._channel.close()
