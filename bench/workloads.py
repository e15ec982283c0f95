"""The models that are measured, pre-norm encoders with a class for each token, and the goals."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Workload:
    """The sizes of a model and its batch. The number of classes is the size of the vocabulary."""

    batch: int
    tokens: int
    width: int
    heads: int
    layers: int
    vocabulary: int
    dropout: float

    def options(self):
        """The sizes as command-line options."""
        return [word for name, value in dataclasses.asdict(self).items() for word in (f"--{name}", str(value))]


WORKLOADS = {
    "micro": Workload(8, 8, 16, 2, 1, 8, 0.1),
    "tiny": Workload(32, 16, 64, 4, 2, 16, 0.1),
    "small": Workload(32, 64, 128, 4, 4, 32, 0.1),
    "vit": Workload(32, 65, 384, 8, 7, 10, 0.1),
    "long": Workload(2, 1024, 256, 4, 2, 32, 0.1),
    "long4k": Workload(1, 4096, 128, 2, 1, 32, 0.0),
}
QUICK = ("micro", "tiny")  # measured with --quick
PREDICTED = ("tiny", "small", "vit")  # with a measurement of the forward pass
IN_BF16 = ("tiny", "small", "vit")  # with a measurement of the step in bfloat16
BATCHES = (1, 64)  # batch sizes of forward passes

# Goals for the ratio of the best peer's time of a step to xgrad's, by class of processors, on one thread and on two. Classes above AVX-512
# have the goals of AVX-512.
AVX512_GOALS = {"micro": (8, 8), "tiny": (3.5, 3.5), "small": (2.5, 2.5), "vit": (1.35, 1.35), "long": (2.5, 2.5), "long4k": (1.1, 1.1)}
STEP_GOALS = {
    "avx2": {"micro": (6, 6.5), "tiny": (2.6, 3.1), "small": (1.9, 2.2), "vit": (1.25, 1.45), "long": (2.2, 2.5), "long4k": (1.05, 1.05)},
    "avx512": AVX512_GOALS, "avx512_bf16": AVX512_GOALS, "amx": AVX512_GOALS,
}
# The same for a step in bfloat16; the peer is PyTorch in bfloat16 or float32.
BF16_GOALS = {
    "amx": {"small": 1.8, "vit": 1.2},
    "avx512_bf16": {"tiny": 3.5, "small": 2.5, "vit": 1.6},
}
# Goals for the ratio of onnxruntime's time of a forward pass to xgrad's.
PREDICT_GOALS = {"tiny": 1.5, "small": 1.5, "vit": 1}
# Maximum ratio of xgrad's peak memory in bfloat16 to its peak memory in float32.
BF16_MEMORY_GOALS = {"vit": 0.75}
# Maximum ratio of xgrad's peak memory to PyTorch's.
MEMORY_GOALS = {"vit": 0.4}
MEMORY_GOAL = 1 / 3  # of other workloads
# The memory of CUDA's libraries in PyTorch's peak, which is subtracted because nothing uses them here. After the import of PyTorch 2.14.1
# from the package index, 507 MiB are resident; after the import of Debian's 1.13, which has no CUDA, 226 MiB.
CUDA_MIB = 281
# Maximum seconds from the start of the process to the end of its first step.
START_GOALS = {"tiny": 0.3}
# Maximum ratio of the time of a step to the time of its matrix products.
PRODUCTS_GOALS = {"small": 1.25, "vit": 1.25}
# Maximum slowdown of a step by waiting for data, in per cent.
DATA_GOAL = 2
# Goal for the ratio of PyTorch's time to learn to reverse to xgrad's, from the start of the process.
ACCURACY_GOAL = 5


def step_goal(machine, result):
    """The goal for a step on this machine; None if its class has no goals."""
    goals = STEP_GOALS.get(machine["instructions"])
    return goals and goals[result["workload"]][result["threads"] > 1]


def memory_goal(name):
    return MEMORY_GOALS.get(name, MEMORY_GOAL)


def bf16_goal(machine, result):
    return BF16_GOALS.get(machine["instructions"], {}).get(result["workload"])


def with_batch(name, batch):
    return dataclasses.replace(WORKLOADS[name], batch=batch)
