"""PyTorch's side of bench/ranks.py: trains a model in one process, or in several by DistributedDataParallel over gloo. Prints the median
seconds of a step.

torch_ranks.py SIZES PROCESSES THREADS STEPS; SIZES is a JSON object with the members of workloads.Workload. Starts the other processes.
"""

import json
import os
import statistics
import subprocess
import sys
import time
import types

import torch
from torch_model import Model, loss


def main():
    sizes, processes, threads, steps = sys.argv[1], *map(int, sys.argv[2:5])
    rank = int(os.environ.get("RANK", 0))
    children = []
    if processes > 1 and "RANK" not in os.environ:
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000), "WORLD_SIZE": str(processes)}
        children = [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=str(r))) for r in range(1, processes)]
        os.environ["RANK"] = "0"
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    w = types.SimpleNamespace(**json.loads(sizes), attention="fused")
    torch.manual_seed(1)
    model = net = Model(w)
    if processes > 1:
        torch.distributed.init_process_group("gloo")
        net = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    ids = torch.randint(0, w.vocabulary, (w.batch // processes, w.tokens))
    targets = ids.flip(1)
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss(net, ids, targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    if rank == 0:
        print(statistics.median(seconds[steps // 4:]))
    if processes > 1:
        torch.distributed.destroy_process_group()
    for child in children:
        child.wait()


if __name__ == "__main__":
    main()
