"""I4: SIGTERM and SIGINT at random times, before the first step, inside evaluations, two inside one save, and after
the row of the test. A checkpoint of the last completed step verifies, the exit code says which signal it was, and the run goes
on to the bits of one that nobody stopped."""

import collections
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import time

from runs import FULL, OF_MEMORY, RunTest, count, main, owes_validation, strace, tier, trained

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# A job that a shell puts into the background ignores SIGINT, and so would what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
SHORT = ("train.steps=14",)
# An evaluation of many batches: of a quarter of a second, or in the full tier of more than two seconds.
EXAMPLES = tier(40_000, 400_000)
LONG = (*SHORT, f"task.validation={EXAMPLES}", f"task.test={EXAMPLES}")
# Calls that begin and end the process, and those whose number differs from run to run: by the length of /proc/self/maps, that of reads.
VARYING = OF_MEMORY | {"execve", "exit_group", "read"}


class Stop(RunTest):
    def judge(self, run, code, said, why, *overrides):
        """128 + n once the run is at work; before, and after its results are written, the signal ends it as it ends any process."""
        self.check(run, why, *overrides)
        self.assertEqual(self.latest(run), trained(run), f"the last step is not saved: {why}")
        if code > 128:
            self.assertIn(code - 128, SIGNALS, f"{why}: {said}")
            self.assertIn(f"stopped and saved at step {self.latest(run)};", said, why)
        elif code != 0:
            self.assertIn(-code, SIGNALS, f"{why}: {said}")

    def test_at_random_times(self):
        before = time.monotonic()
        self.whole()
        longest = 1.1 * (time.monotonic() - before)
        codes = collections.Counter()
        while codes.total() - codes[0] < tier(20, 500):
            run = self.new_run()
            for _ in range(10):
                how = self.random.choice(SIGNALS)
                process = subprocess.Popen(self.words(run), cwd=self.folder, text=True,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                time.sleep(self.random.uniform(0, longest))
                process.send_signal(how)
                said = process.communicate()[1]
                codes[process.returncode] += 1
                self.judge(run, process.returncode, said, f"{how!r}, {self.seed}")
                if process.returncode == 0:
                    break
            self.finish(run, self.seed)
            shutil.rmtree(run)
        count(codes.total() - codes[0], "signals at random times that ended a run")
        for code, number in sorted(codes.items()):
            count(number, f"exit code {code}" if code >= 0 else f"ended by signal {-code}, before the first step or after the last")

    def calls(self):
        """(name, ordinal) of the calls of a short run: those between its config and its first row, those of its last save, and those
        after the row of the test."""
        run, log = self.new_run(), self.folder / "log"
        self.execute([*strace(log), *self.words(run, *SHORT)])
        numbers, before, save, after = collections.Counter(), [], [], []
        place = None
        for line in log.read_text().splitlines():
            name = line.partition("(")[0]
            numbers[name] += 1
            if name == "openat" and '"tiny.toml"' in line:
                place = before
            elif name == "write" and '"{\\"step\\":1,' in line:
                place = None
            elif name == "openat" and f'".step-{14:010}' in line and "O_CREAT" in line:
                place = save
            elif place is save and "metrics.jsonl" in line:  # for the row of the test, which a signal breaks off
                place = None
            elif name == "write" and '\\"split\\":\\"test' in line:
                place = after
            if place is not None and name.isidentifier() and name not in VARYING:
                place.append((name, numbers[name]))
        return before, save, after

    def stopped_at(self, *calls):
        """A run with a signal at the N-th call of each of these names."""
        run = self.new_run()
        why = " and ".join(f"{how!r} at {name} {number}" for name, number, how in calls)
        inject = [o for name, number, how in calls for o in ("-e", f"inject={name}:signal={how.value}:when={number}")]
        names = ",".join(name for name, _, _ in calls)
        done = self.execute([*strace("/dev/null", "-e", f"trace={names}", *inject), *self.words(run, *SHORT)])
        self.judge(run, done.returncode, done.stderr, why, *SHORT)
        self.finish(run, why, *SHORT)
        shutil.rmtree(run)
        return done.returncode

    def test_before_the_first_step(self):
        before, _, _ = self.calls()
        chosen = before if FULL else self.random.sample(before, 8)
        codes = {self.stopped_at((name, number, how)) for (name, number), how in zip(chosen, itertools.cycle(SIGNALS))}
        self.assertTrue(codes <= {-2, -15, 130, 143}, codes)
        count(len(chosen), "signals at calls before the first step")

    def test_two_inside_one_save(self):
        _, save, _ = self.calls()
        self.assertTrue({"write", "fsync", "renameat2"} <= {name for name, _ in save}, save)
        pairs = [pair for pair in itertools.combinations(save, 2) if pair[0][0] != pair[1][0]]
        last = 0
        for (a, b), (first, second) in zip(pairs if FULL else self.random.sample(pairs, 8),
                                           itertools.cycle(itertools.product(SIGNALS, repeat=2))):
            code = self.stopped_at((*a, first), (*b, second))
            # Now and then a run has a call of one name more, and the two come in the other order.
            self.assertIn(code, (128 + first, 128 + second), f"{a} and {b}; the test is still to come")
            last += code == 128 + second and first != second
        self.assertGreater(last, 0, "the last signal counts")
        count(len(pairs) if FULL else 8, "pairs of signals inside one save")

    def test_after_the_row_of_the_test(self):
        """All is kept by then: a signal ends the process as it ends any other, or comes too late to change the exit code."""
        _, _, after = self.calls()
        self.assertTrue({"openat", "write", "rt_sigaction"} <= {name for name, _ in after}, after)
        chosen = after if FULL else self.random.sample(after, 3)
        codes = {self.stopped_at((name, number, how)) for (name, number), how in zip(chosen, itertools.cycle(SIGNALS))}
        self.assertTrue(codes <= {0, -2, -15, 130, 143}, codes)
        count(len(chosen), "signals at calls after the row of the test")

    def rows(self, run):
        """(step, split) of the rows of evaluations."""
        metrics = (run / "metrics.jsonl").read_text() if (run / "metrics.jsonl").exists() else ""
        return re.findall(r'"step":(\d+),"split":"(validation|test)"', metrics)

    def broken_off(self, before, how, has_begun, rows):
        """A run that got the signal inside the evaluation that follows `has_begun` and these rows; begins, or goes on from a copy."""
        for _ in range(10):  # again where the evaluation was over first: the tester had to wait for a processor
            run = shutil.copytree(before, self.new_run()) if before else self.new_run()
            process = subprocess.Popen(self.words(run, *(() if before else LONG)), cwd=self.folder, text=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            said = "".join(itertools.takewhile(lambda line: line != "\n", process.stderr))  # the table ends in an empty line
            while process.poll() is None and not has_begun(run):
                pass
            time.sleep(self.random.uniform(0, 0.05))
            process.send_signal(signal.SIGSTOP)  # so that nothing happens between the look at the rows and the signal
            with contextlib.suppress(ChildProcessError):  # where it has ended
                os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            inside = self.rows(run) == rows
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
            said += process.communicate()[1]
            if inside and self.rows(run) == rows:
                self.assertEqual(process.returncode, 128 + how, said)
                self.judge(run, process.returncode, said, f"{how!r} inside an evaluation", *LONG)
                return run
        self.fail(f"no evaluation was broken off: {self.rows(run)}, {said}")

    def test_inside_evaluations(self):
        """That of step 9, the last of the run, and the test, each broken off twice in one run."""
        def owing(run):
            paths = {path.name: path.read_bytes() for path in (run / "checkpoints").glob("step-*.h5")}
            return [name for name, data in paths.items() if owes_validation(data)]

        nine, last = ("9", "validation"), ("14", "validation")
        steps = [(lambda run: trained(run) >= 9, [], ["step-0000000009.h5"]),
                 (lambda run: trained(run) >= 14, [nine], ["step-0000000014.h5"]),
                 (lambda run: (run / "checkpoints/step-0000000014.h5").exists() and not owing(run), [nine, last], [])]
        hows = itertools.cycle((*SIGNALS, *reversed(SIGNALS)))
        for _ in range(tier(1, 30)):
            run = None
            for has_begun, rows, names in steps:
                for _ in range(2):
                    run = self.broken_off(run, next(hows), has_begun, rows)
                    self.assertEqual(owing(run), names)
            self.finish(run, self.seed, *LONG)
            self.assertEqual(owing(run), [])
            listed = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "--ignore-missing", "manifest.sha256"],
                                    cwd=run / "checkpoints", capture_output=True, text=True)
            self.assertEqual(listed.returncode, 0, listed.stdout + listed.stderr)
        count(tier(6, 180), "signals inside evaluations")

    def test_killed_while_it_makes_good(self):
        """kill -9 of what goes on from inside a validation, between the row of it and the next step."""
        owing, log = self.stopped_inside_validation(9, *SHORT), self.folder / "log"
        self.execute([*strace(log), *self.words(shutil.copytree(owing, self.new_run()))])
        numbers, calls, inside = collections.Counter(), [], False
        for line in log.read_text().splitlines():
            name = line.partition("(")[0]
            numbers[name] += 1
            inside = (inside or r'"{\"step\":9,\"split\":\"val' in line) and r'"{\"step\":10,' not in line
            if inside and name.isidentifier() and name not in VARYING:
                calls.append((name, numbers[name]))
        self.assertIn("renameat", {name for name, _ in calls})
        chosen = calls if FULL else self.random.sample(calls, 3)
        for name, number in chosen:
            run, why = shutil.copytree(owing, self.new_run()), f"killed at {name} {number}"
            kill = ["-e", f"trace={name}", "-e", f"inject={name}:signal=SIGKILL:when={number}"]
            done = self.execute([*strace("/dev/null", *kill), *self.words(run)])
            self.assertEqual(done.returncode, -signal.SIGKILL, why)
            self.assertEqual(self.check(run, why, *SHORT), 9, why)
            self.finish(run, why, *SHORT)
            shutil.rmtree(run)
        count(len(chosen), "kills while a validation that was owed is saved")

    def test_two_inside_the_save_of_a_stop(self):
        """The first signal makes the run save, the second comes in that save."""
        run, log = self.new_run(), self.folder / "log"
        stop = ["-e", "inject=write:signal=SIGTERM:when=9"]  # at a row of the log
        done = self.execute([*strace(log, *stop), *self.words(run, *SHORT)])
        self.assertEqual(done.returncode, 143, done.stderr)
        numbers, save, at_work = collections.Counter(), [], False
        for line in log.read_text().splitlines():
            name = line.partition("(")[0]
            numbers[name] += 1
            at_work = at_work or "SIGTERM" in line
            if at_work and name != "write" and name.isidentifier() and name not in VARYING:
                save.append((name, numbers[name]))
        chosen = save if FULL else self.random.sample(save, 8)
        for name, number in chosen:
            run, why = self.new_run(), f"SIGINT at {name} {number}"
            done = self.execute([*strace("/dev/null", *stop, "-e", f"inject={name}:signal=SIGINT:when={number}"),
                                 *self.words(run, *SHORT)])
            self.assertIn(done.returncode, (130, 143, -2), why)
            self.check(run, why, *SHORT)
            self.assertEqual(self.latest(run), trained(run), why)
            self.finish(run, why, *SHORT)
            shutil.rmtree(run)
        count(len(chosen), "second signals inside the save of the first")


if __name__ == "__main__":
    main()
