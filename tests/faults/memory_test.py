"""I6: memory that ends. One allocation of a run's own code fails (failing_blocks.cpp, whose path is in FAILING_BLOCKS), or the system
allows the run few addresses. It then ends with exit code 8, or it does without and all results are right; never by a signal. In
either case every checkpoint verifies, no completed save is lost, and the run goes on to the bits of one that had enough."""

import os
import resource
import shutil

from runs import XGRAD, RunTest, count, final, main, tier

SHORT = ("train.steps=14",)
# The last message of a run without memory, if its exit code is not 8: for a file, for work after the results, and for a number in a
# config (in a file or a checkpoint), which toml++ reads by a stream that tells only that it failed.
SAID = r"""(?x)^xgrad:\ (out\ of\ memory(:\ cannot\ allocate\ \d+\ bytes\ for\ .*)? | .*:\ does\ not\ fit\ into\ memory:\ \d+\ bytes
    | .*:\ Cannot\ allocate\ memory
    | .*(\.toml|\.h5:config):\d+:\d+:\ Error\ while\ parsing\ .*)$"""


class Memory(RunTest):
    def setUp(self):
        super().setUp()
        self.whole(*SHORT)
        self.results = self.execute(self.words(self.new_run(), *SHORT)).stdout

    def judge(self, run, done, why):
        """Whether the run did without."""
        self.assertIn(done.returncode, (0, 2, 6, 8), f"{why}: {done.stderr}")
        if done.returncode == 0:
            self.assertEqual(done.stdout, self.results, why)
            self.assertEqual(final(run), self.whole(*SHORT), why)
        else:
            self.assertRegex(done.stderr.splitlines()[-1], SAID, why)
        self.check(run, why, *SHORT)
        self.finish(run, why, *SHORT)
        return done.returncode == 0

    def with_failing(self, words, **variables):
        environment = {**os.environ, "LD_PRELOAD": os.environ["FAILING_BLOCKS"]}
        return self.execute(words, env=environment | {key: str(value) for key, value in variables.items()})

    def sweep(self, name, begin):
        """Fails the first allocation of each chain of callers, and others at random."""
        run, places, told = begin(), self.folder / "places", self.folder / "told"
        self.assertEqual(self.with_failing(self.words(run, *SHORT), XGRAD_FAIL_PLACES=places).returncode, 0)
        firsts = sorted(map(int, places.read_text().split()))
        self.assertGreater(len(firsts), 1000)
        chosen = self.random.sample(firsts, tier(15, 500)) + [self.random.randrange(1, firsts[-1]) for _ in range(tier(5, 100))]
        failed, without = 0, 0
        for number in chosen:
            run, why = begin(), f"{name}: allocation {number}, {self.seed}"
            done = self.with_failing(self.words(run, *SHORT), XGRAD_FAIL_AT=number, XGRAD_FAIL_TOLD=told)
            without += self.judge(run, done, why) and told.exists()
            failed += told.exists()
            told.unlink(missing_ok=True)
            shutil.rmtree(run)
        # Threads change how many allocations come before a number, and a late one may never come: most must, not all.
        self.assertGreater(failed, 0.6 * len(chosen))
        count(failed, f"allocations of {name} that fail, {without} of which it could do without")

    def test_each_allocation_while_a_config_is_parsed(self):
        faulty = self.folder / "faulty.toml"
        faulty.write_text((self.folder / "tiny.toml").read_text() + "[train\n")
        for words in (["train", faulty.name], ["train", "tiny.toml", "run.dir=word", "optim.lr=]"]):
            self.assertEqual(self.with_failing([XGRAD, *words]).returncode, 2)
            for number in range(1, 121):  # a parsed config makes some 3,500 more
                done = self.with_failing([XGRAD, *words], XGRAD_FAIL_AT=number)
                self.assertIn(done.returncode, (2, 8), f"{words}: allocation {number}: {done.stderr}")

    def test_an_allocation_of_a_run(self):
        self.sweep("a run", self.new_run)

    def test_an_allocation_of_a_resume(self):
        killed = self.killed_at(12, *SHORT)
        self.assertEqual(self.latest(killed), 9)
        self.sweep("a resume", lambda: shutil.copytree(killed, self.new_run()))

    def least(self, few, *words):
        """The fewest kilobytes of addresses, to 64, with which this command ends well; `few` are too few."""
        enough = 1 << 20
        while enough - few > 64:
            middle = (few + enough) // 2
            shutil.rmtree(self.folder / "run-0", ignore_errors=True)
            few, enough = (few, middle) if self.limited(middle, *words).returncode == 0 else (middle, enough)
        return enough

    def limited(self, kilobytes, *words):
        return self.execute(words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, 2 * (kilobytes << 10,)))

    def test_limits(self):
        """Between what is enough to begin and what is enough to end."""
        begins = self.least(1 << 14, XGRAD, "--version") + 512  # with less its libraries do not load, or now and then
        ends = self.least(begins, *self.words(self.folder / "run-0", *SHORT))
        limits = [*range(begins, ends, (ends - begins) // tier(10, 200) + 1), *range(ends - 2048, ends, tier(400, 20))]
        without = 0
        for limit in limits:
            run = self.new_run()
            without += self.judge(run, self.limited(limit, *self.words(run, *SHORT)), f"{limit} KiB")
            shutil.rmtree(run)
        count(len(limits), f"limits of memory, {without} of which it could do with")


if __name__ == "__main__":
    main()
