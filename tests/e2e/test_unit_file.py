"""What config/systemd/sidecalld.service gives away. tests/unit/agent/unit_file_test.cc has the other
side: what it must not take."""

import subprocess
from pathlib import Path

UNIT = Path(__file__).resolve().parents[2] / "config/systemd/sidecalld.service"
MOST_EXPOSED = 67  # tenths: what is left is what workers do for their callers


def test_the_unit_is_not_more_exposed_than_it_was():
    done = subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true",
                           f"--threshold={MOST_EXPOSED}", UNIT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
