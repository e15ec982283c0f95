"""I4: SIGTERM and SIGINT at random times, before the first step, and two inside one save. A checkpoint of the last completed step
verifies, the exit code says which signal it was, and the run goes on to the bits of one that nobody stopped."""

import collections
import itertools
import shutil
import signal
import subprocess
import time

from runs import ENVIRONMENT, FULL, RunTest, count, main, strace, tier, trained

SIGNALS = (signal.SIGTERM, signal.SIGINT)
SHORT = ("train.steps=14",)


class Stop(RunTest):
    def judge(self, run, code, said, why, *overrides):
        """128 + n once the run is at work; before, and after its results are kept, the signal ends it as it ends any process."""
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
                process = subprocess.Popen(self.words(run), cwd=self.folder, env=ENVIRONMENT, text=True,
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
        """(name, ordinal) of the calls of a short run: those between its config and its first row, and those of its last save."""
        run, log = self.new_run(), self.folder / "log"
        self.execute([*strace(log), *self.words(run, *SHORT)])
        numbers, before, save = collections.Counter(), [], []
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
            elif name == "write" and '\\"split\\":\\"test' in line:
                place = None
            if place is not None and name.isidentifier() and name not in ("execve", "futex", "mmap", "munmap", "brk"):
                place.append((name, numbers[name]))
        return before, save

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
        before, _ = self.calls()
        chosen = before if FULL else self.random.sample(before, 8)
        codes = {self.stopped_at((name, number, how)) for (name, number), how in zip(chosen, itertools.cycle(SIGNALS))}
        self.assertTrue(codes <= {-2, -15, 130, 143}, codes)
        count(len(chosen), "signals at calls before the first step")

    def test_two_inside_one_save(self):
        _, save = self.calls()
        self.assertTrue({"write", "fsync", "renameat2"} <= {name for name, _ in save}, save)
        pairs = [pair for pair in itertools.combinations(save, 2) if pair[0][0] != pair[1][0]]
        for (a, b), (first, second) in zip(pairs if FULL else self.random.sample(pairs, 8),
                                           itertools.cycle(itertools.product(SIGNALS, repeat=2))):
            code = self.stopped_at((*a, first), (*b, second))
            self.assertEqual(code, 0, "the last save of a run: it ends as it would have")
        count(len(pairs) if FULL else 8, "pairs of signals inside one save")

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
            if at_work and name != "write" and name.isidentifier():
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
