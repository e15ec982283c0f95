"""D1, D2: a run that stops after step k with some number of threads and goes on with another ends with the same checkpoint and
metrics.jsonl, byte for byte; also with every block of memory elsewhere (shifted_blocks.cpp, whose path is in SHIFTED_BLOCKS), on
one processor, and under load."""

import itertools
import os
import re
import shutil
import signal
import subprocess

from runs import RunTest, count, final, main, strace, tier

THREADS = (1, 2, 3)
STEPS = range(1, 61)
# Large enough that its loops have several blocks.
WIDE = ("task.length=10", "task.symbols=8", "task.examples=1000", "model.width=16", "train.batch=64")


class Matrix(RunTest):
    def setUp(self):
        super().setUp()
        self.rows = self.rows_of_steps()

    def rows_of_steps(self):
        """Which of the run's calls of write is the row of a step."""
        run, log, found = self.new_run(), self.folder / "log", {}
        self.execute([*strace(log, "-s", 64, "-e", "trace=write"), *self.words(run, *WIDE)])
        writes = [line for line in log.read_text().splitlines() if line.startswith("write(")]
        for number, line in enumerate(writes, 1):
            text = line.partition('"')[2]
            if text.startswith(r'{\"step\":') and r'\"split\":\"train\"' in text:
                found[int(text[len(r'{\"step\":'):].partition(",")[0])] = number
        self.assertEqual(sorted(found), [*STEPS])
        return found

    def stopped(self, step, threads):
        run = self.new_run()
        stop = ["-e", "trace=write", "-e", f"inject=write:signal=SIGTERM:when={self.rows[step]}"]
        done = self.execute([*strace("/dev/null", *stop), *self.words(run, *WIDE, f"train.threads={threads}")])
        self.assertEqual(done.returncode, 128 + signal.SIGTERM, done.stderr)
        self.assertEqual(self.latest(run), step)
        return run

    def test_stopped_anywhere(self):
        whole = self.whole(*WIDE)
        pairs = [*itertools.product(STEPS, THREADS)]
        for step, threads in tier(self.random.sample(pairs, 2), pairs):
            stopped = self.stopped(step, threads)
            for others in THREADS:
                run = shutil.copytree(stopped, self.new_run())
                done = self.execute([*self.words(run), f"train.threads={others}"])
                why = f"stopped after {step} with {threads} threads, resumed with {others}: {done.stderr}"
                self.assertEqual((done.returncode, final(run)), (0, whole), why)
                shutil.rmtree(run)
            shutil.rmtree(stopped)
        count(tier(2, len(pairs)) * len(THREADS), "stops and resumes with 1, 2 and 3 threads, one hash")

    def test_threads_are_used(self):
        """Otherwise the others show nothing."""
        begun = {}
        for threads in THREADS:
            run, log = self.new_run(), self.folder / "log"
            self.execute([*strace(log, "-f", "-e", "trace=clone,clone3"), *self.words(run, *WIDE, f"train.threads={threads}")])
            begun[threads] = len(re.findall(r"clone3?\(", log.read_text()))
        self.assertEqual(begun[1], 1, "that which makes batches")
        self.assertEqual([begun[threads] > begun[1] for threads in THREADS], [threads > 1 for threads in THREADS], begun)

    def under(self, what, seeds, threads, **options):
        """Runs, and stops and resumes, in other circumstances."""
        whole = self.whole(*WIDE)
        for seed in range(seeds):
            run = self.stopped(self.random.choice(STEPS), self.random.choice(THREADS)) if seed % 2 else self.new_run()
            environment = {**os.environ, **options.get("environment", {}), "XGRAD_SHIFT_SEED": str(seed + 1)}
            overrides = () if seed % 2 else WIDE
            done = subprocess.run([*self.words(run, *overrides), f"train.threads={threads}"], cwd=self.folder, env=environment,
                                  capture_output=True, text=True, preexec_fn=options.get("before"))
            self.assertEqual((done.returncode, final(run)), (0, whole), f"{what}, seed {seed}, {self.seed}: {done.stderr}")
            shutil.rmtree(run)
        count(seeds, f"runs {what}")

    def test_with_other_addresses(self):
        number = self.folder / "count"
        preload = {"LD_PRELOAD": os.environ["SHIFTED_BLOCKS"], "XGRAD_SHIFT_COUNT": str(number)}
        self.under("with every block of memory elsewhere", tier(2, 50), 2, environment=preload)
        self.assertGreater(int(number.read_text()), 10000)

    def test_on_one_processor(self):
        one = min(os.sched_getaffinity(0))
        self.under("on one processor", tier(1, 20), 3, before=lambda: os.sched_setaffinity(0, {one}))

    def test_under_load(self):
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(tier(1, 2 * os.cpu_count()))]
        self.addCleanup(lambda: [(p.kill(), p.wait()) for p in busy])
        self.under("under load", tier(1, 20), 2)


if __name__ == "__main__":
    main()
