"""Classes of processors: those of `xgrad info`, and how a faster processor is held to one of them, xgrad and its peers alike."""

import argparse
import os
import pathlib

from installed import ROOT

# Variables that hold each program to the instructions of a class. onnxruntime knows none.
HELD = {"avx2": {"XGRAD_CPU": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                 "XLA_FLAGS": "--xla_cpu_max_isa=AVX2", "OPENBLAS_CORETYPE": "Haswell"}}


def parser(description):
    """Of the command line of a script that measures what lies in a build folder."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--class", dest="held", choices=HELD, help="holds this machine's programs to the instructions of a class; "
                      "default build: the preset of that name")
    made.add_argument("--build", type=pathlib.Path, help="default: build/release")
    return made


def parsed(made):
    """The options; the programs that are started from now on are held."""
    options = made.parse_args()
    if options.held:
        os.environ |= HELD[options.held]
    options.build = options.build or ROOT / "build" / (options.held or "release")
    return options
