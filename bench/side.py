"""A program that measures itself on request. It runs in a separate process that may use only a given number of cores."""

import json
import os
import subprocess
import tempfile
import time


class Failed(Exception):
    """Raised if a side could not answer a request."""


def cores(threads):
    """As many cores as threads: the last ones that this process may use, because the first core serves interrupts."""
    return sorted(os.sched_getaffinity(0))[-threads:]


class Side:
    """A process that answers each line of its input with a line of JSON."""

    def __init__(self, name, command, threads):
        self.name = name
        self.errors = tempfile.TemporaryFile("w+")
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads),
                           OPENBLAS_NUM_THREADS=str(threads))
        self.started = time.perf_counter()
        self.process = subprocess.Popen([*command, "--threads", str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores(threads)))

    def age(self):
        """Seconds since the process was started."""
        return time.perf_counter() - self.started

    def ask(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().strip().splitlines() or ["nothing was said"]
        raise Failed(f"{words[0]}: {said[-1]}")

    def close(self):
        """Ends the program by closing its input."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()
