"""Models whose weights go to other libraries, with numbers that are the same everywhere."""

import binascii
import re

import numpy
from safetensors.numpy import load_file, save_file

CONFIG = """
[task]
name = "{task}"
{options}
[model]
width = 16
heads = 2
layers = 2
feedforward = 24
[train]
steps = 1
batch = 8
[optim]
lr = 1e-300
"""
TASKS = {"shapes": "", "reverse": "length = 6\nmin_length = 2", "first": "length = 6\nmin_length = 2",
         "files": 'train = "train.jsonl"\ninput = "text"\ntarget = "scores"\nlabels = "numbers"'}
ROWS = "".join(f'{{"text": "{" ".join(format(i * 7919, "b"))}", "scores": [{i % 7}, {i * i % 11}]}}\n' for i in range(2, 400))
# Name: library, task, settings.
CASES = {
    "timm": ("timm", "shapes", "model.qkv_bias=true", "model.norm_eps=1e-6"),
    "timm, mean": ("timm", "shapes", "model.pool=mean", "model.activation=gelu_tanh"),
    "torchvision": ("torchvision", "shapes", "model.norm_eps=1e-6"),
    "torchvision, bias": ("torchvision", "shapes", "model.qkv_bias=true"),
    "hf-bert": ("hf-bert", "reverse", "model.norm=post", "model.final_norm=false", "model.embedding_norm=true",
                "model.norm_eps=1e-12", "model.qkv_bias=true"),
    "hf-bert, no bias": ("hf-bert", "reverse", "model.norm=post", "model.final_norm=false", "model.embedding_norm=true",
                         "model.activation=relu"),
    "hf-bert, sequence": ("hf-bert", "first", "model.norm=post", "model.final_norm=false", "model.embedding_norm=true",
                          "model.norm_eps=1e-12", "model.pool=cls"),
    "hf-bert, numbers": ("hf-bert", "files", "model.norm=post", "model.final_norm=false", "model.embedding_norm=true",
                         "model.norm_eps=1e-12", "model.pool=cls"),
}


def numbers(name, shape):
    """In [-0.2, 0.2), those of norms about 1; exact in float32, so the same on any machine."""
    count = int(numpy.prod(shape))
    mixed = (numpy.arange(count, dtype=numpy.uint64) * 40503 + binascii.crc32(name.encode())) % 65521
    x = mixed.astype(numpy.float32) / numpy.float32(163840) - numpy.float32(0.2)
    return (x + ("norm" in name and name.endswith("weight"))).reshape(shape).astype(numpy.float32)


def export(test, case):
    """{their name: array}, the Python that makes their model, and what xgrad's makes of 100 examples."""
    library, task, *settings = CASES[case]
    test.write("model.toml", CONFIG.format(task=task, options=TASKS[task]))
    test.write("train.jsonl", ROWS)
    stem = re.sub(r"\W+", "-", case)
    test.xgrad("train", "model.toml", f"run.dir={stem}-any", "--quiet", *settings)
    test.xgrad("export", f"{stem}-any", "--to", "safetensors", "--out", f"{stem}-any.safetensors")
    shapes = {name: x.shape for name, x in load_file(test.folder / f"{stem}-any.safetensors").items()}
    save_file({name: numbers(name, shape) for name, shape in shapes.items()}, test.folder / f"{stem}-set.safetensors")
    test.xgrad("train", "model.toml", f"run.dir={stem}", "--quiet", f"model.init_from={stem}-set.safetensors", *settings)
    said = test.xgrad("export", stem, "--to", "safetensors", "--naming", library, "--out", f"{stem}.safetensors").stdout
    with numpy.load(test.folder / f"{stem}.safetensors.reference.npz") as reference:
        return load_file(test.folder / f"{stem}.safetensors"), said.split("\n", 2)[2].strip(), dict(reference)
