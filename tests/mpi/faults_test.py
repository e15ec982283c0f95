"""Processes that die, are stopped, are told to stop, cannot write, or differ: all ranks end within ten seconds with a message that names the
rank or the fault, no checkpoint is half written, and a run resumed on another number of ranks ends with the bits of one without faults.

python3 faults_test.py [--all]: --all kills 200 times at a random moment instead of 4 times, and around every operation of MPI instead of some.
"""

import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from mpi_runs import ENVIRONMENT, MPIRUN, NETWORK, XGRAD_MPI, digests, run, start

KILLS = 4
EACH = 23  # one of so many operations of MPI; between two of them lies each phase of a step
CONFIG = """
[task]
name = "reverse"
length = 6
min_length = 2
examples = 400
validation = 50
test = 20
[model]
width = 32
heads = 2
layers = 2
dropout = 0.1
[schedule]
warmup = 5
[train]
steps = 300
batch = 16
shards = 4
evaluate_every = 50
save_every = 10
keep = 2
ema = 0.9
"""


def ranks_of(mpirun):
    """Process numbers by rank."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"\nPPid:\t{mpirun.pid}\n" not in (process / "status").read_text():
                continue
            for entry in (process / "environ").read_bytes().split(b"\0"):
                if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(entry.split(b"=")[1])] = int(process.name)
        except OSError:
            continue  # it has ended
    return found


def is_alive(process):
    """Whether it runs; a process that has ended may wait for its parent to notice."""
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.config = cls.folder / "small.toml"
        cls.config.write_text(CONFIG)
        run(0, "train", str(cls.config), f"run.dir={cls.folder / 'whole'}", "--quiet")
        cls.expected = digests(cls.folder / "whole")

    def start(self, name, ranks, *more, **options):
        return start(ranks, *self.words(name, *more), **options)

    def wait_until_at_work(self, name, mpirun, ranks):
        timing = self.folder / name / "metrics.jsonl"
        for _ in range(6000):
            if timing.exists() and timing.stat().st_size > 0 and len(ranks_of(mpirun)) == ranks:
                return ranks_of(mpirun)
            self.assertIsNone(mpirun.poll(), "it ended before its first row")
            time.sleep(0.01)
        self.fail("it does not begin")

    def end_of(self, mpirun, processes):
        """What was printed by the end, which comes within ten seconds for all processes once one of them has ended."""
        while mpirun.poll() is None and all(is_alive(p) for p in processes):
            time.sleep(0.02)
        begin = time.monotonic()
        printed, _ = mpirun.communicate(timeout=30)
        while (alive := [p for p in processes if is_alive(p)]) and time.monotonic() - begin < 10:
            time.sleep(0.02)
        self.assertEqual(alive, [], f"processes that live on; printed:\n{printed}")
        return printed

    def expect_the_same_end(self, name, ranks):
        directory = self.folder / name
        run(ranks, "resume", str(directory), "--quiet")
        self.assertEqual(digests(directory), self.expected)
        run(0, "verify", str(directory))

    def test_a_killed_rank_ends_all_and_the_run_resumes(self):
        for number in range(KILLS):
            name, ranks = f"killed-{number}", random.choice([2, 3, 4])
            victim = random.randrange(ranks)
            with self.subTest(number=number, ranks=ranks, victim=victim):
                mpirun = self.start(name, ranks)
                processes = self.wait_until_at_work(name, mpirun, ranks)
                time.sleep(random.random() * 1.5)
                try:
                    os.kill(processes[victim], signal.SIGKILL)
                except ProcessLookupError:
                    pass  # the run was quicker
                printed = self.end_of(mpirun, processes.values())
                if mpirun.returncode != 0:
                    self.assertIn(f"rank {victim} ", printed)
                self.expect_the_same_end(name, random.choice([0, 1, 2, 3, 4]))

    def test_a_rank_killed_around_each_operation(self):
        """Between the starts of a run's operations lie each phase of its steps, evaluations and saves."""
        short = ("train.steps=6", "train.evaluate_every=3", "train.save_every=2")
        self.train_with_network("each", short, NETWORK_COUNTS=str(self.folder / "counts"))
        expected = digests(self.folder / "each")
        operations = int((self.folder / "counts.0").read_text().split()[2])
        self.assertGreater(operations, 60)
        for number in range(0, operations, EACH):
            for when in ("", " in"):
                name = f"each-{number}{when.strip()}"
                with self.subTest(name):
                    mpirun = self.train_with_network(name, short, NETWORK_KILL=f"{number % 3} {number}{when}")
                    self.assertNotEqual(mpirun.returncode, 0)
                    self.assertIn(f"rank {number % 3} ", mpirun.stdout)
                    again = ("resume", str(self.folder / name)) if (self.folder / name / "config.toml").exists() else self.words(name, *short)
                    run(random.choice([0, 1, 2, 4]), *again, "--quiet")
                    self.assertEqual(digests(self.folder / name), expected)
                    run(0, "verify", str(self.folder / name))

    def words(self, name, *more):
        return ("train", str(self.config), f"run.dir={self.folder / name}", *more)

    def train_with_network(self, name, more, **settings):
        """A run of three ranks to its end, which comes within ten seconds."""
        command = [*MPIRUN, "-n", "3", *NETWORK, XGRAD_MPI, *self.words(name, *more)]
        return subprocess.run(command, env=dict(ENVIRONMENT, **settings), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)

    def test_a_rank_that_is_told_to_stop_stops_all_with_a_checkpoint(self):
        mpirun = self.start("told", 3)
        processes = self.wait_until_at_work("told", mpirun, 3)
        os.kill(processes[2], signal.SIGTERM)
        printed = self.end_of(mpirun, processes.values())
        self.assertIn("rank 2 was told to stop", printed)
        self.assertIn("stopped and saved at step", printed)
        self.assertEqual(mpirun.returncode, 128 + signal.SIGTERM)
        self.expect_the_same_end("told", 2)

    def test_mpirun_that_is_told_to_stop_stops_all_with_a_checkpoint(self):
        mpirun = self.start("all", 3)
        processes = self.wait_until_at_work("all", mpirun, 3)
        mpirun.terminate()
        self.end_of(mpirun, processes.values())
        self.assertNotEqual(mpirun.returncode, 0)
        self.expect_the_same_end("all", 4)

    def test_a_rank_that_stands_still_ends_all(self):
        for victim in (0, 1):
            name = f"still-{victim}"
            mpirun = self.start(name, 3, "mpi.timeout=5")
            processes = self.wait_until_at_work(name, mpirun, 3)
            os.kill(processes[victim], signal.SIGSTOP)
            printed = self.end_of(mpirun, processes.values())
            self.assertIn(f"rank {victim} of 3 has not answered for 5 seconds", printed)
            self.assertEqual(mpirun.returncode, 6)
            self.expect_the_same_end(name, 2)

    # A limit on the size of files stands for a full disk.
    def test_a_rank_that_cannot_write_ends_all(self):
        mpirun = self.start("full", 3, "train.save_every=100")
        processes = self.wait_until_at_work("full", mpirun, 3)
        while not list((self.folder / "full" / "checkpoints").glob("step-*")):
            self.assertIsNone(mpirun.poll())
            time.sleep(0.01)
        resource.prlimit(processes[0], resource.RLIMIT_FSIZE, (60_000, 60_000))
        printed = self.end_of(mpirun, processes.values())
        self.assertIn("File too large", printed)
        self.assertEqual(mpirun.returncode, 6)
        run(0, "verify", str(self.folder / "full"))
        run(3, "resume", str(self.folder / "full"), "--quiet")
        self.assertTrue((self.folder / "full" / "checkpoints" / "step-0000000300.h5").exists())

    def test_too_many_ranks_are_refused(self):
        printed = run(5, "train", str(self.config), f"run.dir={self.folder / 'many'}", code=2)
        self.assertIn("train.shards: is 4, but there are 5 processes; set train.shards=5 or more", printed)

    def test_other_commands_run_on_one_process(self):
        printed = run(3, "summary", str(self.config))
        self.assertEqual(printed.count("xgrad: summary runs on one process; the other 2 wait"), 1)
        self.assertEqual(printed.count("parameters"), run(0, "summary", str(self.config)).count("parameters"))
        printed = run(3, "eval", str(self.folder / "whole"), "--lengths", "4:6:2")
        self.assertEqual(printed.count("xgrad: eval --lengths runs on one process; the other 2 wait"), 1)

    def two_ranks(self, first, second, *words):
        """The end of two ranks that start the same command by different words of a shell."""
        script = self.folder / "start"
        script.write_text(f'if [[ $OMPI_COMM_WORLD_RANK == 1 ]]; then {second} "$@"; fi\n{first} "$@"\n')
        command = [*MPIRUN, "-n", "2", "bash", str(script), *words]
        return subprocess.run(command, env=ENVIRONMENT, text=True, capture_output=True, timeout=60)

    def differing(self, second):
        """What is printed by two ranks, the second one started in another way."""
        done = self.two_ranks(f"exec {XGRAD_MPI}", second, "train", str(self.config), f"run.dir={self.folder / 'differs'}")
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((self.folder / "differs").exists())
        return done.stderr

    def test_a_rank_with_another_program_is_refused(self):
        other = self.folder / "other"
        shutil.copy(XGRAD_MPI, other)
        with other.open("ab") as file:
            file.write(b"0")
        self.assertIn("rank 1 differs from rank 0 in its program", self.differing(f"exec {other}"))

    def test_a_rank_with_another_arithmetic_is_refused(self):
        self.assertIn("rank 1 differs from rank 0 in its arithmetic: no-fma-1, not ",
                      self.differing(f"XGRAD_CPU=baseline exec {XGRAD_MPI}"))

    def test_a_rank_with_other_data_is_refused(self):
        config = '[task]\nname="files"\ntrain="/proc/self/cwd/a.csv"\ninput="text"\ntarget="label"\n' + CONFIG[CONFIG.index("[model]"):]
        for folder, last in (("one", "yes"), ("two", "no")):
            (self.folder / folder).mkdir()
            (self.folder / folder / "c.toml").write_text(config)
            rows = [f"word{i % 7} word{i},{'yes' if i % 2 else 'no'}" for i in range(100)]
            (self.folder / folder / "a.csv").write_text("\n".join(["text,label", *rows[:-1], f"word1 word99,{last}"]) + "\n")
        for folder, message in (("two", "rank 1 differs from rank 0 in its data"), ("one", "")):
            first, second = (f"cd {self.folder / name}; exec {XGRAD_MPI}" for name in ("one", folder))
            done = self.two_ranks(first, second, "train", "c.toml", "run.dir=run", "train.steps=10")
            self.assertIn(message, done.stderr)
            self.assertEqual(done.returncode == 0, folder == "one", done.stderr)
            self.assertEqual((self.folder / "one" / "run").exists(), folder == "one")
        for words in ("eval", "run"), ("resume", "run", "train.steps=20", "--allow-change", "train.steps"):
            for folder, message in (("two", "rank 1: /proc/self/cwd/a.csv: has changed since this run began"), ("one", "test ")):
                first, second = (f"cd {self.folder / name}; exec {XGRAD_MPI}" for name in ("one", folder))
                done = self.two_ranks(first, second, *words)
                self.assertIn(message, done.stdout + done.stderr)
                self.assertEqual(done.returncode == 0, folder == "one", done.stderr)

    def test_errors_of_all_ranks_are_said_once(self):
        printed = run(3, "train", str(self.config), "optim.lr=1e30", "train.clip=0", f"run.dir={self.folder / 'nan'}", code=5)
        self.assertEqual(printed.count("the loss is nan"), 1, printed)
        failed = list((self.folder / "nan").glob("fault-*.h5"))
        self.assertEqual(len(failed), 1)


if __name__ == "__main__":
    if "--all" in sys.argv:
        sys.argv.remove("--all")
        KILLS, EACH = 200, 1
    unittest.main()
