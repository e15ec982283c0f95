"""Where the system starts no threads, or fewer than asked for: xgrad works with those that there are, to the same bits, and says so."""

import os
import resource
import shutil

from command import SANITIZED, XGRAD, CommandTest, subprocess, unittest

ASKED = 3
# Root has no such limit. A user of its own: the limit counts all processes and threads of a user.
USER = 40000 + os.getpid() % 20000 if os.geteuid() == 0 else None
# Processes and threads that there may be, and the threads that loops then have. Another user's own processes count already.
LIMITS = {1: 1, 2: 1, 3: 2} if USER else {1: 1}


class Threads(CommandTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o777)
        shutil.copy(XGRAD, self.folder / "xgrad-copy")  # where any user can reach it

    def limited(self, processes, *words, stdin=""):
        environment = os.environ | ({"ASAN_OPTIONS": "detect_leaks=0"} if SANITIZED else {})  # LeakSanitizer needs a thread
        return subprocess.run(
            [self.folder / "xgrad-copy", *words], cwd=self.folder, input=stdin, capture_output=True, text=True, user=USER, env=environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes)),
        )

    def test_a_run_needs_no_second_thread(self):
        self.xgrad("train", "small.toml", "run.dir=plain", f"train.threads={ASKED}", "-q")
        for processes, threads in LIMITS.items():
            with self.subTest(processes=processes):
                run = f"limited-{processes}"
                done = self.limited(processes, "train", "small.toml", f"run.dir={run}", f"train.threads={ASKED}")
                told = f"{threads} thread{'' if threads == 1 else 's'} in place of {ASKED} (Resource temporarily unavailable)"
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f", {told}, seed", done.stderr)
                self.assertTrue(done.stderr.endswith(f"xgrad: warning: ran on {told}\n"), done.stderr)
                self.assertEqual(self.final(run), self.final("plain"))

    def test_so_do_evaluation_and_prediction(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        for words in (("eval", "run"), ("predict", "run")):
            expected = self.xgrad(*words, stdin="1 2 3\n").stdout
            done = self.limited(1, *words, stdin="1 2 3\n")
            self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)

    def test_so_does_a_report(self):
        """LAPACK, which draws embeddings, may be OpenBLAS's, which ends a process that may start no threads."""
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        done = self.limited(1, "report", "run", "--out", "page.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("principal components", (self.folder / "page.html").read_text())

    if not SANITIZED:  # AddressSanitizer takes memory of its own
        def test_a_report_needs_no_memory_for_openblas(self):
            """OpenBLAS would wait forever for memory that a limit refuses; the page does without the picture."""
            self.xgrad("train", "small.toml", "run.dir=run", "-q")
            self.xgrad("report", "run", "--out", "page.html", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (150 << 20,) * 2))
            page = (self.folder / "page.html").read_text()
            self.assertEqual([name for name in ("Examples", "Embeddings") if f"<h2>{name}" in page], ["Examples"])

    def test_commands_that_need_processes_say_why_there_are_none(self):
        for words in (("verify-resume", "small.toml"), ("sweep", "small.toml", "--over", "optim.lr=[1e-3, 3e-4]", "--out", "sweep")):
            done = self.limited(1, *words)
            self.assertEqual(done.returncode, 6, done.stderr)
            self.assertRegex(done.stderr, r"cannot start a (process|run): Resource temporarily unavailable\n")

    def test_threads_that_start_are_not_spoken_of(self):
        done = subprocess.run([XGRAD, "train", "small.toml", f"train.threads={ASKED}"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn(f", {ASKED} threads, seed", done.stderr)
        self.assertNotIn("warning", done.stderr)


if __name__ == "__main__":
    unittest.main()
