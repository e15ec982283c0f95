"""Classes of processors, as `xgrad info` names them. On a faster processor, limits xgrad and its peers to the instructions of a class."""

import argparse
import os
import pathlib

from installed import ROOT

# Environment variables that limit each program to the instructions of a class. onnxruntime has no such variable.
HELD = {"avx2": {"XGRAD_CPU": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                 "XLA_FLAGS": "--xla_cpu_max_isa=AVX2", "OPENBLAS_CORETYPE": "Haswell"}}


def parser(description):
    """The command-line parser of a script that measures programs of a build folder."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--class", dest="held", choices=HELD, help="limits all programs to the instructions of a class; "
                      "the default of --build is then the build of that preset")
    made.add_argument("--build", type=pathlib.Path, help="default: build/release")
    return made


def parsed(made):
    """Parses the options. With --class, programs that are started from now on use only the instructions of that class."""
    options = made.parse_args()
    if options.held:
        os.environ |= HELD[options.held]
    options.build = options.build or ROOT / "build" / (options.held or "release")
    return options
