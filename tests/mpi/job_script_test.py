"""The job script of docs/many-machines.md trains on several processes, with a stand-in for Slurm's srun."""

import os
import pathlib
import re
import subprocess
import tempfile

from mpi_runs import ENVIRONMENT, MPIRUN, XGRAD_MPI

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "many-machines.md"
CONFIG = """
[task]
name = "reverse"
length = 4
examples = 64
validation = 10
test = 10
[model]
width = 8
[schedule]
warmup = 2
[train]
steps = 6
batch = 32
"""


def main():
    script, = re.findall(r"```text\n(#!/bin/bash\n.*?)```", PAGE.read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for below in ("build/mpi", "configs", "bin"):
            (folder / below).mkdir(parents=True)
        (folder / "build/mpi/xgrad").symlink_to(XGRAD_MPI)
        (folder / "configs/fashion_mnist.toml").write_text(CONFIG)
        srun = folder / "bin/srun"
        srun.write_text(f"#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec {' '.join(MPIRUN)} -n 4 \"$@\"\n")
        srun.chmod(0o755)
        (folder / "job").write_text(script)
        environment = dict(ENVIRONMENT, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
        subprocess.run(["bash", "-e", "job"], cwd=folder, env=environment, check=True, timeout=120)
        assert (folder / "runs/wide/checkpoints/step-0000000006.h5").exists()
        assert "shards = 16" in (folder / "runs/wide/config.toml").read_text()


if __name__ == "__main__":
    main()
