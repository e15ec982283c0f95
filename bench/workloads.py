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

# How many times as long the best peer should take for a step, by a part of the processor's name: Zen 5, and Intel with AVX-512.
STEP_GOALS = {
    "family 26": {"micro": 8, "tiny": 4, "small": 3, "vit": 2.5, "long": 3, "long4k": 1.9},
    "Intel": {"micro": 8, "tiny": 3.5, "small": 2.5, "vit": 1.35, "long": 2.5, "long4k": 1.1},
}
# ... and for one in bfloat16 the best of PyTorch's, in bfloat16 or float32, by the class of processors whose kernels run.
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


def step_goal(machine, name):
    """Of a step on that machine; None where nobody has set one."""
    return next((goals[name] for part, goals in STEP_GOALS.items() if part in machine["processor"]), None)


def memory_goal(name):
    return MEMORY_GOALS.get(name, MEMORY_GOAL)


def bf16_goal(machine, name):
    return BF16_GOALS.get(machine["instructions"], {}).get(name)


def with_batch(name, batch):
    return dataclasses.replace(WORKLOADS[name], batch=batch)
