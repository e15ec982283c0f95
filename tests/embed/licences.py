"""Adds the licences of what a wheel holds beside xgrad, from the packages of this Debian: licences.py WHEEL OUTPUT.

auditwheel has put shared libraries into xgrad.libs; the headers of others are compiled in. Each package gets the file
licenses/PACKAGE in the wheel's .dist-info.
"""

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys

HEADERS = ("libcli11-dev", "libtomlplusplus-dev", "libxtensor-dev", "nlohmann-json3-dev", "xtl-dev")


def package_of(library):
    """The Debian package of a library, into whose name auditwheel has put a hash, as in libz-01234567.so.1."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.)", "", library)
    found = subprocess.run(["dpkg-query", "--search", f"*/{name}"], check=True, capture_output=True, text=True).stdout
    return re.match(r"[^:, ]+", found).group()


def add(wheel, output):
    from auditwheel.wheeltools import InWheel  # here, since package_test.py, which reads HEADERS, lacks it
    with InWheel(wheel, output) as folder:
        place = next(pathlib.Path(folder).glob("*.dist-info")) / "licenses"
        place.mkdir(exist_ok=True)
        for package in {*HEADERS, *(package_of(path.name) for path in pathlib.Path(folder, "xgrad.libs").iterdir())}:
            shutil.copy(f"/usr/share/doc/{package}/copyright", place / package)
        nanobind = next(path for path in importlib.metadata.files("nanobind") if path.name == "LICENSE")
        shutil.copy(nanobind.locate(), place / "nanobind")


if __name__ == "__main__":
    add(*map(pathlib.Path, sys.argv[1:]))
