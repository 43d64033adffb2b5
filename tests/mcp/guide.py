"""Runs the commands of docs/guides/agent.md, in the order in which they stand there, on addresses of its own."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / "docs/guides/agent.md"


def commands():
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(), re.S)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bidloop-guide."))
    (folder / "bin").mkdir()
    (folder / "bin/bidloop").symlink_to(os.environ["BIDLOOP_TEST_PROGRAM"])
    (folder / "docs").symlink_to(ROOT / "docs")
    environment = {
        "PATH": f"{folder}/bin:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "BIDLOOP_SERVER__LISTEN": "127.0.0.1:0",
    }
    market = free_address()
    lines = [line.replace("127.0.0.1:9090", market) for line in commands()]
    assert len(lines) == 10, "the guide has other commands: look whether this test still runs them all"
    # What the guide leaves running is ended by its number.
    ends = 'kill $(jobs -p); wait'
    script = "\n".join(["set -euo pipefail", f"trap '{ends}' EXIT", *lines])
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    tried = re.findall(r"^tried: (.*)$", done.stdout, re.M)
    assert len(tried) == 2 and tried == re.findall(r"^bid queued: (.*)$", done.stdout, re.M), done.stdout
    assert done.stdout.count('"personalToken"') >= 4, done.stdout
    print("The agent's guide passed.")


main()
