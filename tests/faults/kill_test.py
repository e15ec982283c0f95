"""C1: kill -9 at random times and at every system call of a run. Whatever is left loads, is no older than the last completed
save, and goes on to the bits of a run that nobody killed."""

import collections
import re
import shutil
import signal
import subprocess
import time

from runs import FULL, OF_MEMORY, RunTest, checkpoints, count, main, strace, temporaries, tier

CHAIN = 12  # kills of one run before it may end
SHORT = ("train.steps=14",)


def phase(run):
    if not (run / "config.toml").exists():
        return "before the config was written"
    if temporaries(run):
        return "inside a save"
    if not checkpoints(run):
        return "before the first save"
    return "after the last save" if checkpoints(run)[-1].name == "step-0000000060.h5" else "between saves"


class Kill(RunTest):
    def killed_after(self, run, seconds):
        process = subprocess.Popen(self.words(run), cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        process.kill()
        self.assertIn(process.wait(), (0, -signal.SIGKILL), self.seed)
        return process.returncode != 0

    def test_at_random_times(self):
        before = time.monotonic()
        self.whole()
        longest = 1.1 * (time.monotonic() - before)
        kills, phases = 0, collections.Counter()
        while kills < tier(40, 2000):
            run, latest = self.new_run(), 0
            for _ in range(CHAIN):
                if not self.killed_after(run, self.random.uniform(0, longest)):
                    break
                kills += 1
                phases[phase(run)] += 1
                why = f"kill {kills}, {phase(run)}, {self.seed}"
                self.assertGreaterEqual(self.check(run, why), latest, why)
                latest = self.latest(run)
            self.finish(run, self.seed)
            shutil.rmtree(run)
        count(kills, "kills at random times")
        for name, number in phases.items():
            count(number, f"of them {name}")
        if FULL:
            self.assertEqual(len(phases), 5, phases)

    def calls(self):
        """(name, ordinal) of every system call of a short run from the reading of its config on, and whether it is in a save."""
        run, log = self.new_run(), self.folder / "log"
        self.execute([*strace(log), *self.words(run, *SHORT)])
        numbers, calls, begun, saving = collections.Counter(), [], False, False
        for line in log.read_text().splitlines():
            begun = begun or re.match(r'openat\(.*"tiny.toml"', line)
            saving = saving or f'checkpoints/.step-{14:010}' in line or f'".step-{14:010}' in line
            name = re.match(r"\w+(?=\()", line)
            if not name:
                continue
            numbers[name.group()] += 1
            if begun and name.group() not in OF_MEMORY:
                calls.append((name.group(), numbers[name.group()], saving))
            saving = saving and '"split\\":\\"test' not in line
        return calls

    def test_at_every_system_call(self):
        calls = [call for call in self.calls() if FULL or call[2]]
        self.assertTrue({"write", "fsync", "renameat2", "close"} <= {name for name, _, saving in calls if saving}, calls)
        for name, number, _ in calls:
            run, why = self.new_run(), f"killed at {name} {number}"
            done = self.execute([*strace("/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:signal=SIGKILL:when={number}"),
                                 *self.words(run, *SHORT)])
            self.assertEqual(done.returncode, -signal.SIGKILL, why)
            self.check(run, why, *SHORT)
            self.finish(run, why, *SHORT)
            shutil.rmtree(run)
        count(len(calls), "kills, one at every system call of a run" if FULL else "kills, one at every system call of a save")


if __name__ == "__main__":
    main()
