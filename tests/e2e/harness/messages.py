"""Messages of a protocol, generated for one run."""

import importlib
import subprocess
import sys


def load(work, root, file, module):
    """The Python module `module` of `file`, a proto file below `root`, generated in `work`."""
    subprocess.run(["protoc", f"--proto_path={root}", f"--python_out={work}", root / file],
                   check=True)
    sys.path.insert(0, str(work))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(str(work))
