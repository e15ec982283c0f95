"""Exports a model with the sizes of a workload: as ONNX for onnxruntime, and its weights for the other sides."""

import dataclasses
import os
import subprocess

import as_config


def command(*words):
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {run.stderr}")


def export(xgrad, w, folder):
    """Trains one step. Returns the paths of the model and of its weights."""
    config, run = os.path.join(folder, "reverse.toml"), os.path.join(folder, "run")
    with open(config, "w") as file:
        file.write(as_config.text(dataclasses.replace(w, batch=1), steps=1, examples=64))
    command(xgrad, "train", config, f"run.dir={run}", "--quiet")
    paths = os.path.join(folder, "model.onnx"), os.path.join(folder, "weights.npz")
    for kind, path in zip(("onnx", "npz"), paths):
        command(xgrad, "export", run, "--to", kind, "--out", path)
    return paths
