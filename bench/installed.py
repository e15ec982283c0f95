"""The Python that has the peers, of the versions in bench/requirements.txt."""

import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "bench" / "requirements.txt"


def lacks(python):
    """Lines of the requirements that are not fulfilled."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"], capture_output=True, text=True,
                            check=True).stdout.splitlines()
    return set(REQUIREMENTS.read_text().split()) - set(listed)


def python_with_peers():
    """Installs what is missing into build/bench-venv, by name; what cannot be installed is said, and its peer fails later."""
    folder = ROOT / "build" / "bench-venv"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    for package in sorted(lacks(python)):
        print(f"installing {package} into {folder}", file=sys.stderr)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package])
    return str(python)
