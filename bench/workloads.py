"""What is measured: pre-norm encoders over tokens that learn a class for each token, and what is aimed at."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Workload:
    """Sizes of a model and its batch; there are as many classes as words."""

    batch: int
    tokens: int
    width: int
    heads: int
    layers: int
    vocabulary: int
    dropout: float

    def options(self):
        """As words of a command line."""
        return [word for name, value in dataclasses.asdict(self).items() for word in (f"--{name}", str(value))]


WORKLOADS = {
    "micro": Workload(8, 8, 16, 2, 1, 8, 0.1),
    "tiny": Workload(32, 16, 64, 4, 2, 16, 0.1),
    "small": Workload(32, 64, 128, 4, 4, 32, 0.1),
    "vit": Workload(32, 65, 384, 8, 7, 10, 0.1),
    "long": Workload(2, 1024, 256, 4, 2, 32, 0.1),
    "long4k": Workload(1, 4096, 128, 2, 1, 32, 0.0),
}
QUICK = ("micro", "tiny")  # what --quick measures
PREDICTED = ("tiny", "small", "vit")  # whose forward pass is measured, too
IN_BF16 = ("tiny", "small", "vit")  # whose step is measured in bfloat16, too
BATCHES = (1, 64)  # and with how many examples

# How many times as long the best peer should take for a step, by the class of the processor, on one thread and on two. Where a class has
# none of its own, those of AVX-512 hold.
AVX512_GOALS = {"micro": (8, 8), "tiny": (3.5, 3.5), "small": (2.5, 2.5), "vit": (1.35, 1.35), "long": (2.5, 2.5), "long4k": (1.1, 1.1)}
STEP_GOALS = {
    "avx2": {"micro": (6, 6.5), "tiny": (2.6, 3.1), "small": (1.9, 2.2), "vit": (1.25, 1.45), "long": (2.2, 2.5), "long4k": (1.05, 1.05)},
    "avx512": AVX512_GOALS, "avx512_bf16": AVX512_GOALS, "amx": AVX512_GOALS,
}
# ... and for one in bfloat16 the best of PyTorch's, in bfloat16 or float32.
BF16_GOALS = {
    "amx": {"small": 1.8, "vit": 1.2},
    "avx512_bf16": {"tiny": 3.5, "small": 2.5, "vit": 1.6},
}
# How many times as long onnxruntime should take for a forward pass.
PREDICT_GOALS = {"tiny": 1.5, "small": 1.5, "vit": 1}
# Our peak memory in bfloat16 as a part of that in float32.
BF16_MEMORY_GOALS = {"vit": 0.75}
# Our peak memory as a part of PyTorch's.
MEMORY_GOALS = {"vit": 0.4}
MEMORY_GOAL = 1 / 3  # elsewhere
# Of PyTorch's peak, what CUDA's libraries take, which nothing here uses: 507 MiB are resident after the import of 2.14.1 from
# the package index, 226 MiB after that of Debian's 1.13, which has none.
CUDA_MIB = 281
# Seconds from the start of the process to the end of its first step.
START_GOALS = {"tiny": 0.3}
# How many times as long as its matrix products a step should take at most.
PRODUCTS_GOALS = {"small": 1.25, "vit": 1.25}
# Per cent by which a step takes longer with batches from its data, at most.
DATA_GOAL = 2
# How many times as long PyTorch should take to learn to reverse, from the start of the process.
ACCURACY_GOAL = 5


def step_goal(machine, result):
    """Of a step on that machine; None where its class has none."""
    goals = STEP_GOALS.get(machine["instructions"])
    return goals and goals[result["workload"]][result["threads"] > 1]


def memory_goal(name):
    return MEMORY_GOALS.get(name, MEMORY_GOAL)


def bf16_goal(machine, result):
    return BF16_GOALS.get(machine["instructions"], {}).get(result["workload"])


def with_batch(name, batch):
    return dataclasses.replace(WORKLOADS[name], batch=batch)
