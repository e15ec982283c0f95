"""Runs on several processes for the tests of this folder.

In the environment: XGRAD, the command without MPI; XGRAD_MPI, the command with MPI; NETWORK, the module of network.cpp.
"""

import hashlib
import os
import pathlib
import struct
import subprocess
import tempfile

XGRAD = os.environ["XGRAD"]
XGRAD_MPI = os.environ["XGRAD_MPI"]
# mpirun keeps its session in a folder of TMPDIR that all mpirun of one user share; one that ends may remove it while another starts.
SESSIONS = tempfile.TemporaryDirectory()
# More ranks than cores, as root, in a container: what ./run mpi sets too.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none", TMPDIR=SESSIONS.name)
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]
# Before the program: the settings of network.cpp in the environment count.
NETWORK = ["env", f"LD_PRELOAD={os.environ.get('NETWORK', '')}"]


def words(ranks, *arguments):
    """The command line for a number of ranks; 0: the command without MPI."""
    return [XGRAD, *arguments] if ranks == 0 else [*MPIRUN, "-n", str(ranks), XGRAD_MPI, *arguments]


def start(ranks, *arguments, **more):
    """A run in the background, with what it prints in one stream."""
    return subprocess.Popen(words(ranks, *arguments), env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def run(ranks, *arguments, code=0):
    """Runs to its end, expects this exit code, and returns what was printed."""
    process = start(ranks, *arguments)
    try:
        printed, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == code, f"{' '.join(process.args)}: exit code {process.returncode}, not {code}\n{printed}"
    return printed


def digests(directory):
    """SHA-256 of a run's metrics and of its newest checkpoint, and the step of the latter."""
    newest = sorted(pathlib.Path(directory, "checkpoints").glob("step-*.h5"))[-1]
    metrics = pathlib.Path(directory, "metrics.jsonl")
    return [newest.name, *(hashlib.sha256(path.read_bytes()).hexdigest() for path in (newest, metrics))]


def board(directory):
    """What a run gave to TensorBoard of its weights, gradients and attention: records without their 9 bytes of the time."""
    path, = pathlib.Path(directory).glob("events.out.tfevents.*")
    data, at, records = path.read_bytes(), 0, []
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        records.append(data[at + 12:at + 12 + size])
        at += size + 16
    return [record[9:] for record in records if any(mark in record for mark in (b"weights/", b"gradients/", b"attention/"))]
