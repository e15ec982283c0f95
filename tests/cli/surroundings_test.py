"""What stands around a run: locale, umask, clock and PATH do not change its results, and a disk too full ends it at once."""

import os
import struct

from command import CommandTest, subprocess, unittest

KIRITIMATI = {"TZ": "Pacific/Kiritimati"}
# What may choose other instructions, and so other bits (tests/every_cpu.py).
PROCESSOR = {name: value for name, value in os.environ.items() if name == "XGRAD_CPU"}


class Surroundings(CommandTest):
    def train(self, run, **options):
        self.xgrad("train", "small.toml", f"run.dir={run}", "log.tensorboard=true", **options)
        return self.final(run)

    def setUp(self):
        super().setUp()
        self.plain = self.train("plain")

    def german(self):
        """An environment whose numbers have a decimal comma; its messages and its order of letters differ too."""
        subprocess.run(["localedef", "-c", "-i", "de_DE", "-f", "UTF-8", self.folder / "de_DE.UTF-8"], check=True,
                       capture_output=True)
        german = os.environ | {"LOCPATH": str(self.folder), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
        printed = subprocess.run(["/bin/bash", "-c", "printf %.1f 1,5"], env=german, capture_output=True, text=True)
        self.assertEqual(printed.stdout, "1,5")  # the locale is at work
        return german

    def test_locale(self):
        german = self.german()
        self.assertEqual(self.train("german", env=german), self.plain)
        self.assertEqual((self.folder / "german/config.toml").read_text().replace("german", "plain"),
                         (self.folder / "plain/config.toml").read_text())
        plain = self.xgrad("eval", "plain", "--json").stdout
        self.assertEqual(self.xgrad("eval", "plain", "--json", env=german).stdout, plain)

    def test_umask(self):
        self.assertEqual(self.train("private", umask=0o077), self.plain)
        self.assertEqual(self.train("open", umask=0), self.plain)
        modes = {run: {path.stat().st_mode & 0o777 for path in (self.folder / run).rglob("*") if path.is_file()}
                 for run in ("private", "open")}
        self.assertEqual(modes, {"private": {0o600}, "open": {0o666}})

    def test_clock_and_zone(self):
        self.assertEqual(self.train("elsewhere", env=os.environ | KIRITIMATI), self.plain)  # and later

    def test_path(self):
        self.assertEqual(self.train("alone", env=PROCESSOR), self.plain)
        lost = {name: "/nonexistent" for name in ("PATH", "HOME", "TMPDIR")}
        self.assertEqual(self.train("lost", env=PROCESSOR | lost), self.plain)

    def test_a_disk_without_room_is_told_before_the_first_step(self):
        """strace lets statfs() report ten free blocks of 4096 bytes."""
        full = struct.pack("<5Q", 0x01021994, 4096, 100, 10, 10).hex()
        for words, names in (("train small.toml run.dir=new", "new"), ("resume plain train.steps=90 --allow-change train.steps", "plain")):
            with self.subTest(words):
                done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=statfs:poke_exit=@arg2={full}",
                                       os.environ["XGRAD"], *words.split()], cwd=self.folder, capture_output=True, text=True)
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertRegex(done.stderr, rf"^xgrad: {names}.*: two checkpoints need \d+ bytes, but only 40960 are free\n$")
        self.assertFalse((self.folder / "new").exists())
        self.assertEqual(self.final("plain"), self.plain)


if __name__ == "__main__":
    unittest.main()
