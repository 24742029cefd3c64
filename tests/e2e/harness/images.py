"""Images for engines that pull theirs from elsewhere: a root file system and a default command."""

import hashlib
import io
import json
import tarfile

from . import bundle


def _add(archive, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def make_archive(work, name, command):
    """The busybox root in the form of `docker save`, which docker and containerd both load."""
    layer = bundle.make_image(work).read_bytes()
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "config": {"Cmd": command},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    path = work / "archive.tar"
    with tarfile.open(path, "w") as archive:
        _add(archive, config_name, config)
        _add(archive, "layer.tar", layer)
        _add(archive, "manifest.json", json.dumps([
            {"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())
    (work / "image.tar").unlink()
    return path
