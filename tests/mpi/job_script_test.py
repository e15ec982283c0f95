"""The job scripts of docs/clusters.md train on several processes, with stand-ins for Slurm's commands."""

import os
import pathlib
import re
import subprocess
import tempfile

from mpi_runs import ENVIRONMENT, MPIRUN, XGRAD_MPI

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "clusters.md").read_text()
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
# The first job is told that its time is over. `srun` says which word of xgrad it ran.
SRUN = f"""#!/bin/bash
while [[ $1 == --* ]]; do shift; done
echo "$2" >> words
{' '.join(MPIRUN)} -n 4 "$@" || exit $?
if [ ! -e late ]; then touch late; exit 143; fi
"""
SCONTROL = '#!/bin/bash\necho "$*" >> requeued\n'


def job(folder, script):
    """Runs a job script, and returns its exit code."""
    (folder / "job").write_text(script)
    environment = dict(ENVIRONMENT, PATH=f"{folder / 'bin'}:{os.environ['PATH']}", SLURM_JOB_ID="12")
    return subprocess.run(["bash", "-e", "job"], cwd=folder, env=environment, check=False, timeout=300).returncode


def container_names_what_exists():
    post, = re.findall(r"%post\n(.*?)\n\n", PAGE, re.DOTALL)
    sections = set(re.findall(r"^\[(\w+)\]$", (ROOT / "packages.txt").read_text(), re.MULTILINE))
    asked, = re.findall(r"\./run install (.*)", post)
    assert set(asked.split()) <= sections, asked
    preset, march = re.search(r"cmake --preset (\w+) -DXGRAD_MARCH=(\S+)", post).groups()
    assert f'"name": "{preset}"' in (ROOT / "CMakePresets.json").read_text()
    assert march in PAGE.split("%runscript")[1]


def main():
    container_names_what_exists()
    wide, sweep = re.findall(r"```text\n(#!/bin/bash\n.*?)```", PAGE, re.DOTALL)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for below in ("build/mpi", "configs", "bin"):
            (folder / below).mkdir(parents=True)
        (folder / "build/mpi/xgrad").symlink_to(XGRAD_MPI)
        for config in ("fashion_mnist", "reverse"):
            (folder / f"configs/{config}.toml").write_text(CONFIG)
        for program, text in (("srun", SRUN), ("scontrol", SCONTROL)):
            (folder / "bin" / program).write_text(text)
            (folder / "bin" / program).chmod(0o755)
        assert job(folder, wide) == 143
        assert (folder / "requeued").read_text() == "requeue 12\n"
        assert job(folder, wide) == 0
        assert (folder / "words").read_text() == "train\nresume\n"
        assert (folder / "requeued").read_text() == "requeue 12\n"
        assert (folder / "runs/wide/checkpoints/step-0000000006.h5").exists()
        assert "shards = 16" in (folder / "runs/wide/config.toml").read_text()
        assert job(folder, sweep) == 0
        assert (folder / "runs/shared/results.csv").read_text().count("\n") == 7


if __name__ == "__main__":
    main()
