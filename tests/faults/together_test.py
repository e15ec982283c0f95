"""I5: many simultaneous starts in one directory: one runs, the others exit with 7 and name it; also after a kill -9 of the one that
had the directory, whose name the lock file still holds, and for several that go on with one run."""

import os
import subprocess
import time

from runs import SAVE_EVERY, RunTest, checkpoints, count, final, main, strace, tier, trained

ENDLESS = ("train.steps=100000000", "train.patience=0")
STARTS = tier(20, 100)


class Together(RunTest):
    def start(self, *words):
        """One command so many times at once; each waits for a line of standard input before it begins."""
        gate, opened = os.pipe()
        started = [subprocess.Popen(["sh", "-c", 'read go; exec "$0" "$@"', *map(str, words)], cwd=self.folder,
                                    stdin=gate, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                   for _ in range(STARTS)]
        os.close(gate)
        os.write(opened, b"go\n" * STARTS)
        os.close(opened)
        self.addCleanup(lambda: [(p.kill(), p.wait(), p.stderr.close()) for p in started])
        return started

    def one_wins(self, started):
        """The process that works in the directory, after all others said whose it is."""
        losers, waiting = [], list(started)
        while len(waiting) > 1:
            for process in [p for p in waiting if p.poll() is not None]:
                waiting.remove(process)
                losers.append((process.returncode, process.stderr.read()))
            try:
                waiting[0].wait(0.01)
            except subprocess.TimeoutExpired:
                pass
        winner = waiting[0]
        for code, said in losers:
            self.assertEqual(code, 7, said)
            self.assertIn(f"is in use by process {winner.pid} on {os.uname().nodename}", said)
        return winner

    def test_one_wins(self):
        run = self.new_run()
        winner = self.one_wins(self.start(*self.words(run, *ENDLESS)))
        while not checkpoints(run):
            self.assertIsNone(winner.poll())
        winner.kill()
        winner.wait()
        count(STARTS, "simultaneous starts of one run, one winner")

        winner = self.one_wins(self.start(*self.words(run)))
        begun = trained(run)
        while trained(run) < begun + SAVE_EVERY:
            self.assertIsNone(winner.poll())
        winner.terminate()
        winner.wait()
        self.assertEqual(winner.returncode, 143)
        self.assertEqual(self.check(run, "after a kill and a stop"), trained(run))
        count(STARTS, "simultaneous resumes after kill -9, one winner")

    def delayed(self, attempt):
        """Calls attempt(microseconds) with longer and longer delays of a process. False: the delay ended before the other was ready."""
        self.assertTrue(any(attempt(seconds * 1_000_000) for seconds in (4, 16, 64)), "it never waited")

    def test_another_begins_while_one_looks_at_the_empty_directory(self):
        def attempt(delay):
            run = self.new_run()
            run.mkdir()
            slow = subprocess.Popen([*strace("/dev/null", "-P", "run.lock", "-e", "trace=newfstatat",
                                             "-e", f"inject=newfstatat:delay_exit={delay}:when=2"),
                                     *map(str, self.words(run, *ENDLESS))],
                                    cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.addCleanup(slow.kill)
            time.sleep(1)
            fast = subprocess.Popen([*map(str, self.words(run, *ENDLESS))], cwd=self.folder, stdout=subprocess.DEVNULL)
            self.addCleanup(fast.kill)
            while not checkpoints(run):
                if fast.poll() is not None or slow.poll() is not None:
                    fast.kill()
                    slow.kill()
                    return False
            _, said = slow.communicate()
            self.assertEqual(slow.returncode, 7, said)
            self.assertIn(f"is in use by process {fast.pid} ", said)
            return True
        self.delayed(attempt)

    def test_a_kill_while_the_name_is_written(self):
        run = self.new_run()
        self.execute(self.words(run))
        (run / "run.lock").write_text("process " + 100 * "1" + " on host")
        kill = [*strace("/dev/null", "-e", "trace=ftruncate", "-e", "inject=ftruncate:signal=SIGKILL:when=1")]
        self.assertEqual(self.execute([*kill, *self.words(run)]).returncode, -9)
        self.finish(run, "after a kill between two names in the lock")

    def test_another_finishes_the_run_before_the_lock_is_free(self):
        """The one that waited goes on from what it finds then, not from what it saw before."""
        def attempt(delay):
            run = self.new_run()
            self.execute([*strace("/dev/null", "-e", "trace=renameat2", "-e", "inject=renameat2:signal=SIGKILL:when=5"),
                          *self.words(run)])
            self.assertEqual(self.latest(run), 2 * SAVE_EVERY)
            waits = subprocess.Popen([*strace("/dev/null", "-e", "trace=flock", "-e", f"inject=flock:delay_enter={delay}"),
                                      *self.words(run)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            self.addCleanup(waits.kill)
            self.finish(run, "while another waits for the lock")
            waited = waits.poll() is None
            self.assertEqual(waits.wait(), 0)
            self.assertEqual(final(run), self.whole())
            self.assertEqual([*run.rglob("*.damaged"), *self.folder.glob("runs")], [])
            return waited
        self.delayed(attempt)


if __name__ == "__main__":
    main()
