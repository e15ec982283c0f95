"""C4: every system call on the files of a run fails once, with each error that a disk gives.

The rule. The run exits with 6 and names the path and the reason; or it does without the call and exits with 0, and then it has
left all it should: the same last checkpoint, metrics.jsonl, results and report.html. In either case every checkpoint verifies, no completed save is lost, no signal ends
the run, and it goes on to the bits of one that nothing befell. What it shows on standard error meanwhile is not a result.
"""

import errno
import os
import re
import resource
import shutil
import subprocess

from runs import ENVIRONMENT, FULL, RunTest, count, main, strace, tier

SHORT = ("train.steps=21", "train.keep=2")  # five saves, of which the first two are removed
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EMFILE")
CALLS = ("openat", "mkdir", "write", "fsync", "close", "fallocate", "renameat2", "ftruncate", "unlink", "flock", "pread64", "read",
         "getdents64")


class RunFaults(RunTest):
    def setUp(self):
        super().setUp()
        self.whole(*SHORT)
        self.results = self.execute(self.words(self.new_run(), *SHORT)).stdout

    def calls(self, words, run):
        """(name, ordinal) of the calls on files of the run and on the standard streams."""
        log, numbers, found = self.folder / "log", {}, []
        self.assertEqual(self.execute([*strace(log, "-y", "-e", "trace=" + ",".join(CALLS)), *words]).returncode, 0)
        for line in log.read_text().splitlines():
            name = line.partition("(")[0]
            numbers[name] = numbers.get(name, 0) + 1
            if re.search(rf"\b{run.name}\b", line) or re.match(r"write\([12]<", line):
                found.append((name, numbers[name]))
        self.assertTrue({"openat", "write", "fsync", "close"} <= {name for name, _ in found}, found)
        return found

    def judge(self, run, done, why, *reasons):
        self.assertIn(done.returncode, (0, 6), f"{why}: {done.stderr}")
        if done.returncode == 6:
            last = done.stderr.splitlines()[-1]
            self.assertRegex(last, rf"^xgrad: .*({run.name}|\.: |standard output)", why)
            self.assertTrue(any(reason in last for reason in reasons), f"{why}: {done.stderr}")
        else:
            self.assertTrue((run / "report.html").exists(), why)
            self.assertEqual(done.stdout, self.results, why)
        self.check(run, why, *SHORT)
        shown = done.returncode == 0 and self.final_is_whole(run, why)
        self.finish(run, why, *SHORT)
        return shown

    def final_is_whole(self, run, why):
        before = [(path, path.read_bytes()) for path in (sorted((run / "checkpoints").iterdir())[-1], run / "metrics.jsonl")]
        self.assertEqual([data for _, data in before], list(self.whole(*SHORT)[1:]), why)
        return True

    def sweep(self, name, begin, words_of):
        """`begin` makes a run's directory, `words_of` the command that is to fail in it."""
        run = begin()
        calls = self.calls(words_of(run), run)
        trials = [(call, number, error) for call, number in calls for error in ERRORS]
        handled = 0
        for call, number, error in trials if FULL else self.random.sample(trials, 25):
            run, why = begin(), f"{name}: {error} at {call} {number}"
            inject = ("-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}")
            with self.subTest(why):
                done = self.execute([*strace("/dev/null", *inject), *words_of(run)])
                handled += bool(self.judge(run, done, why, os.strerror(getattr(errno, error))))
            shutil.rmtree(run)
        count(len(trials) if FULL else 25, f"errors at the calls of {name}, {handled} of which it could do without")

    def test_a_run(self):
        self.sweep("a run", self.new_run, lambda run: self.words(run, *SHORT))

    def test_a_resume(self):
        killed = self.new_run()
        self.execute([*strace("/dev/null", "-e", "trace=renameat2", "-e", "inject=renameat2:signal=SIGKILL:when=5"),
                      *self.words(killed, *SHORT)])
        self.assertEqual(self.latest(killed), 14)

        def begin():
            return shutil.copytree(killed, self.new_run())

        self.sweep("a resume", begin, self.words)

    def test_limits(self):
        """Sizes of files, and numbers of open ones, that the system does not allow."""
        sizes = [(resource.RLIMIT_FSIZE, n) for n in range(0, 80_000, tier(16_000, 1_000))]
        for kind, limit in [*sizes, *((resource.RLIMIT_NOFILE, n) for n in range(4, 10))]:
            run, why = self.new_run(), f"limit {kind} of {limit}"
            done = self.execute(self.words(run, *SHORT), preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)))
            self.judge(run, done, why, "File too large", "Too many open files")
            shutil.rmtree(run)
        count(len(sizes) + 6, "limits of the system")

    def test_standard_streams(self):
        """Results that cannot be printed are an error; what only accompanies a run is not."""
        reader, closed_pipe = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, closed_pipe)
        with open("/dev/full", "w") as full:
            cases = [(">&-", None, 6), ("2>&-", None, 0), ("<&- >&- 2>&-", None, 6), ("", full, 6), ("2>/dev/full", None, 0),
                     ("", closed_pipe, 6)]
            for redirection, stdout, code in cases:
                for more in ("", "--json"):
                    run = self.new_run()
                    words = " ".join([*self.words(run, *SHORT), more])
                    done = subprocess.run(["sh", "-c", f"exec {words} {redirection}"], cwd=self.folder, env=ENVIRONMENT, text=True,
                                          stdout=subprocess.PIPE if stdout is None else stdout, stderr=subprocess.PIPE)
                    self.assertEqual(done.returncode, code, f"{redirection}: {done.stderr}")
                    if code and "2>&-" not in redirection:
                        self.assertRegex(done.stderr, "cannot write to standard output: (No space|Bad file|Broken pipe)")
                    self.assertRegex((run / "run.lock").read_text(), r"^process \d+ on \S+$", redirection)
                    self.final_is_whole(run, redirection)
        count(2 * len(cases), "runs with standard streams that are closed, full or a pipe that nobody reads")


if __name__ == "__main__":
    main()
