"""How many bytes a rank sends and receives in a step, counted through MPI's profiling interface.

With R ranks that are a power of two and divide the number of shards, at most 2 (R - 1) / R times the bytes of the parameters, and 1 %. With
others, each rank sends one sum for each largest node of the tree that its shards make up. Prints the table.
"""

import pathlib
import subprocess
import tempfile

from mpi_runs import ENVIRONMENT, MPIRUN, NETWORK, XGRAD_MPI

SHARDS = 8
BLOCK = 8192  # scalars; slices are whole blocks
PARAMETERS = 7_104_778
CONFIG = f"""
[task]
name = "reverse"
length = 8
examples = 64
validation = 4
test = 4
[model]
width = 384
heads = 2
layers = 4
[schedule]
warmup = 0
[train]
batch = 8
shards = {SHARDS}
evaluate_every = 1000
[log]
every = 1000
[expect]
parameters = {PARAMETERS}
"""


def share(count, index, parts):
    """The numbers of a part: sizes differ by at most one, larger ones first."""
    small, larger = divmod(count, parts)
    begin = index * small + min(index, larger)
    return begin, begin + small + (index < larger)


def nodes_within(begin, end, low=0, high=SHARDS):
    """How many of the largest nodes of the tree over the shards lie in a range."""
    if end <= low or high <= begin:
        return 0
    if begin <= low and high <= end:
        return 1
    cut = low + 2 ** ((high - low - 1).bit_length() - 1)
    return nodes_within(begin, end, low, cut) + nodes_within(begin, end, cut, high)


def expected(ranks):
    """Bytes that each rank sends in a step, of gradients and of weights in float32, if any rank may have the larger slices."""
    blocks = -(-PARAMETERS // BLOCK)
    slices = [[min(x * BLOCK, PARAMETERS) for x in share(blocks, r, ranks)] for r in range(ranks)]
    sizes = [end - begin for begin, end in slices]
    return [4 * (nodes_within(*share(SHARDS, r, ranks)) * (PARAMETERS - sizes[r]) + (ranks - 1) * sizes[r]) for r in range(ranks)]


def counted(folder, ranks, steps):
    """Bytes sent and received by each rank."""
    counts = folder / f"{ranks}-{steps}"
    words = [*MPIRUN, "-n", str(ranks), *NETWORK, XGRAD_MPI, "train", str(folder / "c.toml"), f"train.steps={steps}",
             f"run.dir={counts}.run", "--quiet"]
    done = subprocess.run(words, env=dict(ENVIRONMENT, NETWORK_COUNTS=str(counts)), text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [tuple(map(int, pathlib.Path(f"{counts}.{r}").read_text().split()[:2])) for r in range(ranks)]


def main():
    print("| ranks | nodes of each rank | sent by a rank and step, largest | in sizes of the parameters |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "c.toml").write_text(CONFIG)
        for ranks in (2, 3, 4, 5, 6, 8):
            few, many = (counted(folder, ranks, steps) for steps in (1, 3))
            sent, received = ([(b[i] - a[i]) / 2 for a, b in zip(few, many)] for i in (0, 1))
            for r, bytes_expected in enumerate(expected(ranks)):
                assert 0.99 * bytes_expected <= sent[r] <= 1.01 * bytes_expected, (ranks, r, sent[r], bytes_expected)
            # Signs of life, a byte each, may be on their way at the end.
            assert abs(sum(sent) - sum(received)) < 100 and sum(received) >= 0.999 * sum(expected(ranks)), (ranks, sent, received)
            size = 4 * PARAMETERS
            if SHARDS % ranks == 0:
                most = 1.01 * 2 * (ranks - 1) / ranks * size
                assert max(sent + received) <= most, (ranks, sent, received, most)
            nodes = ", ".join(str(nodes_within(*share(SHARDS, r, ranks))) for r in range(ranks))
            print(f"| {ranks} | {nodes} | {max(sent) / 1e6:.2f} MB | {max(sent) / size:.3f} |")


if __name__ == "__main__":
    main()
