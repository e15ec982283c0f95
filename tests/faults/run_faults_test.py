"""C4: every system call on the files of a run fails once, with each error that a disk gives.

The rule. The run exits with 6, or with 2 where it cannot read its config, and names the path and the reason; or it does without
the call and exits with 0, and then it has left all it should: the same last checkpoint, metrics.jsonl and results. In
either case every checkpoint verifies, no completed save is lost, no signal ends the run, and resuming it gives the bits of a run
without faults. Its messages on standard error are not compared.
"""

import collections
import errno
import os
import re
import resource
import shutil
import signal
import subprocess

from runs import FULL, RunTest, checkpoints, count, final, main, strace, tier

SHORT = ("train.steps=21", "train.keep=2")  # five saves, of which the first two are removed
CHANGE = ("--allow-change", "optim.lr", "optim.lr=0.003")
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EMFILE")
# All that a run and a resume call with files, but for what begins a process; fcntl and lseek fail for wrong arguments only.
CALLS = ("openat", "mkdir", "mkdirat", "write", "fsync", "close", "fallocate", "renameat2", "renameat", "ftruncate", "unlinkat", "flock", "pread64", "read", "getdents64", "fstat", "newfstatat", "access", "statfs")
OTHERS = {"execve", "mmap", "fcntl", "getcwd", "lseek", "ioctl", "readlink", "uname"}
# A directory that cannot rename without replacement gives a file a second name, and takes the first away.
BY_LINK = ("linkat", "unlinkat", "renameat")

# What a command does: `begin` makes a run's directory, `words` are the command in it, `key` says whose checkpoints it has.
Command = collections.namedtuple("Command", "name begin words key results final finish")


class RunFaults(RunTest):
    def setUp(self):
        super().setUp()
        self.whole(*SHORT)
        self.results = self.execute(self.words(self.new_run(), *SHORT)).stdout

    def command(self, name, begin, words=None):
        return Command(name, begin, words or self.words, SHORT, self.results, self.whole(*SHORT),
                       lambda run, why: self.finish(run, why, *SHORT))

    def calls(self, command, run, names, until, *options):
        """(name, ordinal) of the calls on files of the run and on the standard streams, up to the first line like `until`."""
        log, numbers, found = self.folder / "log", {}, []
        done = self.execute([*strace(log, "-y", "-e", "trace=" + ",".join(["%file", "%desc", *names]), *options), *command.words(run)])
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in log.read_text().splitlines():
            name = line.partition("(")[0]
            if name not in names:
                self.assertIn(name, {*OTHERS, *CALLS}, f"a call that nothing fails: {line}")
                continue
            numbers[name] = numbers.get(name, 0) + 1
            if re.search(rf"\b{run.name}\b|\btiny.toml\b|\(\d+<{self.folder}>|^statfs|^write\([12]<", line):
                found.append((name, numbers[name]))
            if until and re.search(until, line):
                break
        return found

    def judge(self, command, run, done, why, *reasons):
        self.assertIn(done.returncode, (0, 2, 6), f"{why}: {done.stderr}")
        if done.returncode != 0:
            last = done.stderr.splitlines()[-1]
            config = "^xgrad: tiny.toml: cannot (open|read|stat|close)"
            self.assertRegex(last, config if done.returncode == 2 else rf"^xgrad: .*({run.name}|\.: |standard output)", why)
            self.assertTrue(any(reason in last for reason in reasons), f"{why}: {done.stderr}")
        else:
            self.assertEqual(done.stdout, command.results, why)
            self.assertEqual(final(run), command.final, why)
        self.check(run, why, *command.key)
        command.finish(run, why)
        return done.returncode == 0

    def sweep(self, command, must, names=CALLS, until=None, few=25, options=()):
        run = command.begin()
        calls = self.calls(command, run, names, until, *options)
        self.assertLessEqual(must, {name for name, _ in calls})
        trials = [(call, number, error) for call, number in calls for error in ERRORS]
        chosen = trials if FULL else self.random.sample(trials, min(few, len(trials)))
        handled = 0
        for call, number, error in chosen:
            run, why = command.begin(), f"{command.name}: {error} at {call} {number}, {self.seed}"
            inject = (*options, "-e", f"inject={call}:error={error}:when={number}")
            traced = call if not options else f"{call},renameat2"  # nothing befalls another call
            with self.subTest(why):
                done = self.execute([*strace(self.folder / "log", "-e", f"trace={traced}", *inject), *command.words(run)])
                self.assertRegex((self.folder / "log").read_text(), rf"(?m)^{call}\(.*{error} .*\(INJECTED\)$")
                handled += self.judge(command, run, done, why, os.strerror(getattr(errno, error)))
            shutil.rmtree(run, ignore_errors=True)
        count(len(chosen), f"errors at the calls of {command.name}, {handled} of which it could do without")

    def test_a_run(self):
        command = self.command("a run", self.new_run, lambda run: self.words(run, *SHORT))
        self.sweep(command, {"openat", "mkdir", "mkdirat", "write", "fsync", "close", "renameat2", "unlinkat", "flock", "statfs"})

    def test_a_run_where_renaming_replaces(self):
        command = self.command("a run where renaming replaces", self.new_run, lambda run: self.words(run, *SHORT))
        self.sweep(command, {"linkat", "unlinkat"}, BY_LINK, few=4, options=("-e", "inject=renameat2:error=EINVAL"))

    def test_a_resume(self):
        killed = self.killed_at(17, *SHORT)
        self.assertEqual(self.latest(killed), 14)
        self.sweep(self.command("a resume", lambda: shutil.copytree(killed, self.new_run())), {"ftruncate", "renameat2"})

    # The others differ from it until they are at work.
    AT_WORK = r'^write\(.*metrics.jsonl>, "\{\\"step\\":\d+,\\"split\\":\\"train'

    def test_a_resume_that_owes_a_validation(self):
        owing = self.stopped_inside_validation(9, *SHORT)
        command = self.command("a resume that owes a validation", lambda: shutil.copytree(owing, self.new_run()))
        self.sweep(command, {"renameat"}, until=self.AT_WORK, few=8)

    def test_a_resume_that_finds_a_damaged_checkpoint(self):
        whole = self.new_run()
        self.execute(self.words(whole, *SHORT))
        last = checkpoints(whole)[-1]
        self.damaged = {last.read_bytes()[:-1]}
        last.write_bytes(last.read_bytes()[:-1])
        command = self.command("a resume that finds a damaged checkpoint", lambda: shutil.copytree(whole, self.new_run()))
        self.sweep(command, {"renameat", "ftruncate"}, until=self.AT_WORK, few=8)

    def test_a_resume_with_another_config(self):
        killed = self.killed_at(17, *SHORT)
        run = shutil.copytree(killed, self.new_run())
        results, end = self.execute([*self.words(run), *CHANGE]).stdout, final(run)
        self.assertNotEqual(end, self.whole(*SHORT))

        def words(run):
            return [*self.words(run), *CHANGE]

        def finish(run, why):
            done = self.execute(words(run))
            self.assertEqual((done.returncode, final(run)), (0, end), f"{why}: {done.stderr}")

        command = Command("a resume with another config", lambda: shutil.copytree(killed, self.new_run()), words, (*SHORT, *CHANGE), results,
                          end, finish)
        self.sweep(command, {"renameat", "ftruncate"}, until=self.AT_WORK, few=8)

    def test_limits(self):
        """Sizes of files, and numbers of open ones, that the system does not allow."""
        command = self.command("a run", self.new_run)
        sizes = [(resource.RLIMIT_FSIZE, n) for n in range(0, 80_000, tier(16_000, 1_000))]
        for kind, limit in [*sizes, *((resource.RLIMIT_NOFILE, n) for n in range(4, 10))]:
            run, why = self.new_run(), f"limit {kind} of {limit}"
            done = self.execute(self.words(run, *SHORT), preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)))
            self.judge(command, run, done, why, "File too large", "Too many open files")
            shutil.rmtree(run)
        count(len(sizes) + 6, "limits of the system")

    def test_standard_streams(self):
        """Results that cannot be printed are an error; what only accompanies a run is not."""
        reader, closed_pipe = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, closed_pipe)
        with open("/dev/full", "w") as full:
            cases = [(">&-", None, 6), ("2>&-", None, 0), ("<&- >&- 2>&-", None, 6), ("", full, 6), ("2>/dev/full", None, 0),
                     ("", closed_pipe, 128 + signal.SIGPIPE)]
            for redirection, stdout, code in cases:
                for more in ("", "--json"):
                    run = self.new_run()
                    words = " ".join([*self.words(run, *SHORT), more])
                    done = subprocess.run(["sh", "-c", f"exec {words} {redirection}"], cwd=self.folder, text=True,
                                          stdout=subprocess.PIPE if stdout is None else stdout, stderr=subprocess.PIPE)
                    self.assertEqual(done.returncode, code, f"{redirection}: {done.stderr}")
                    if code == 6 and "2>&-" not in redirection:
                        self.assertRegex(done.stderr, "cannot write to standard output: (No space|Bad file)")
                    self.assertNotIn("Broken pipe", done.stderr)
                    self.assertRegex((run / "run.lock").read_text(), r"^process \d+ on \S+$", redirection)
                    self.assertEqual(final(run), self.whole(*SHORT), redirection)
        count(2 * len(cases), "runs with standard streams that are closed, full or a pipe that nobody reads")


if __name__ == "__main__":
    main()
