"""I9: a long run. Memory, open files and the directory do not grow with the steps, and a run that is stopped and resumed all the time
ends with the bits of one that nobody stopped."""

import os
import pathlib
import signal
import statistics
import subprocess
import time

from runs import RunTest, checkpoints, count, final, main, sealed_step, tier

STEPS, STOPS = tier((8_000, 5), (200_000, 100))
EVERY = 50  # steps for a row of metrics.jsonl
LONG = (f"train.steps={STEPS}", "train.patience=0", "train.save_every=500", "train.evaluate_every=1200", f"log.every={EVERY}")


def last_step(run):
    """That of the newest whole row of a step."""
    try:
        with open(run / "metrics.jsonl", "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - 2000))
            rows = [row for row in log.read().split(b"\n")[:-1] if row.startswith(b'{"step":') and b'"train"' in row]
    except FileNotFoundError:
        return 0
    return int(rows[-1][len(b'{"step":'):].partition(b",")[0]) if rows else 0


def size(run):
    return sum(path.stat().st_size for path in run.rglob("*") if path.is_file())


class Soak(RunTest):
    def start(self, run):
        process = subprocess.Popen([*self.words(run, *(() if run.exists() else LONG)), "--quiet"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def watch(self, process, run):
        """(step, KiB that are resident, open files) every few milliseconds, to the end."""
        proc, looks = pathlib.Path(f"/proc/{process.pid}"), []
        while process.poll() is None:
            try:
                pages, files = int((proc / "statm").read_text().split()[1]), len(os.listdir(proc / "fd"))
            except (OSError, IndexError):  # it has just ended
                break
            looks.append((last_step(run), pages * os.sysconf("SC_PAGE_SIZE") // 1024, files))
            time.sleep(0.01)
        self.assertEqual(process.wait(), 0)
        return [look for look in looks if STEPS // 10 < look[0] < STEPS]  # neither the beginning nor the page at the end

    def test_nothing_grows(self):
        run = self.new_run()
        steps, kilobytes, files = zip(*self.watch(self.start(run), run))
        slope = 1000 * statistics.linear_regression(steps, kilobytes).slope
        # Of few steps the slope says little: a page or two that are touched late.
        self.assertLess(slope, tier(32, 1), "KiB in 1,000 steps")
        self.assertLessEqual(max(kilobytes) - kilobytes[0], tier(512, 1024))
        half = len(files) // 2
        self.assertEqual(min(files[:half]), min(files[half:]), "files stay open")
        self.assertLessEqual(max(files), min(files) + 3)  # a log; or a save's file and its directory
        count(STEPS, f"steps: {slope:.2f} KiB more in 1,000 of them, {min(files)} to {max(files)} open files")

        stopped = self.new_run()
        for target in sorted(self.random.sample(range(1, STEPS - EVERY), STOPS)):
            self.stop(stopped, target)
        self.assertEqual(self.start(stopped).wait(), 0)
        self.assertEqual(final(stopped), final(run), self.seed)
        self.assertEqual(len(checkpoints(stopped)), len(checkpoints(run)))
        self.assertLess(size(stopped), 1.25 * size(run))
        count(STOPS, f"stops of as many steps, to the same bits; {size(run):,} bytes are left of the one run, {size(stopped):,} of the other")

    def stop(self, run, target):
        """Once it has logged that step, or a little later."""
        process = self.start(run)
        while last_step(run) < target:
            self.assertIsNone(process.poll(), "it ended before it could be stopped")
            time.sleep(0.001)
        time.sleep(self.random.uniform(0, 0.005))
        process.send_signal(signal.SIGTERM)
        # By the signal itself where it came before the first step: what another stop has logged is beyond this one.
        self.assertIn(process.wait(), (143, -15), self.seed)
        steps = [sealed_step(path.name, path.read_bytes()) for path in checkpoints(run)]
        self.assertNotIn(None, steps)
        self.assertGreaterEqual(max(steps, default=0), last_step(run))


if __name__ == "__main__":
    main()
