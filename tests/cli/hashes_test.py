"""The hashes of training states: those of hashes.txt on this machine, what they are made of, and where two runs first differ."""

import hashlib
import os
import re
import sys
import time

import h5py
from command import XGRAD, CommandTest, unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "golden"))
import hashes  # noqa: E402

ARITHMETIC = "fma-1"


class Hashes(CommandTest):
    def arithmetic(self, **environment):
        told = self.xgrad("info", env={**os.environ, **environment}).stdout
        return re.search(r"(?m)^arithmetic +(\S+)$", told).group(1)

    def hash_of(self, run):
        return self.xgrad("inspect", run, "--hash").stdout.strip()

    def test_every_training_has_its_hash(self):
        """On processors without fused multiply-add, that of another number of threads."""
        expected = hashes.golden()
        for i, name in enumerate(hashes.RUNS):
            with self.subTest(name):
                found = hashes.hash_of(name, XGRAD, threads=1 + i % 3)
                if self.arithmetic() != ARITHMETIC:
                    expected[name] = hashes.hash_of(name, XGRAD, threads=1 + (i + 1) % 3)
                self.assertEqual(found, expected[name])

    def test_the_hash_is_of_step_names_shapes_types_and_bytes(self):
        printed = re.search(r"(?m)^hash +(\w+)$", self.xgrad("train", "small.toml", "run.dir=run").stdout).group(1)
        self.assertEqual(self.hash_of("run"), printed)
        self.assertIn(f"\nhash {printed}\n", self.xgrad("inspect", "run").stdout)
        with h5py.File(sorted((self.folder / "run/checkpoints").glob("*.h5"))[-1]) as file:
            digest = hashlib.sha256(f"step {file['trainer/step'][()]}\n".encode())
            for kind in ("parameter", "optimizer"):
                for name in file[f"trainer/{kind}s" if kind == "parameter" else "trainer/optimizer"][()].decode().split():
                    group, member = name.rsplit(".", 1) if kind == "parameter" else name.split(".", 1)
                    data = file[f"{group}/{member}" if kind == "parameter" else f"optimizer/{group}/{member}"][()]
                    digest.update(f"{kind} {name} {data.dtype} {'x'.join(map(str, data.shape))}\n".encode() + data.tobytes())
        self.assertEqual(digest.hexdigest(), printed)

    def test_other_config_keys_of_the_same_training_change_nothing(self):
        one = self.xgrad("train", "small.toml", "run.dir=one")
        two = self.xgrad("train", "small.toml", "run.dir=two", "log.csv=true", "train.keep=2", "train.threads=3")
        self.assertEqual(self.hash_of("one"), self.hash_of("two"), one.stdout + two.stdout)

    def test_a_claim(self):
        self.xgrad("train", "small.toml", "run.dir=run")
        here, small = self.hash_of("run"), (self.folder / "small.toml").read_text()
        for claim, end in ((here, "ok"), ("0" * 64, "FAILED")):
            self.write("claim.toml", f'{small}\n[expect]\nsha256 = "{claim}"\n')
            judged = f"expect  sha256 = {claim}: "
            if self.arithmetic() != ARITHMETIC:
                end = "ok"
            done = self.xgrad("check", "claim.toml", exit_code=0 if end == "ok" else 1)
            self.assertRegex(done.stdout, rf"(?m)^{judged}.*  {end}$")
            self.assertNotIn(judged, self.xgrad("train", "claim.toml", "train.seed=2").stdout)
            self.assertIn(judged, self.xgrad("train", "claim.toml", "train.threads=2", "expect.loss=9.0").stdout)

    def test_a_claim_of_another_arithmetic_is_not_judged(self):
        if self.arithmetic(XGRAD_CPU="baseline") == ARITHMETIC:  # ARM64, where all is fused
            return self.assertIn("neon", self.xgrad("info").stdout)
        self.write("claim.toml", (self.folder / "small.toml").read_text() + f'\n[expect]\nsha256 = "{"0" * 64}"\n')
        done = self.xgrad("check", "claim.toml", env={**os.environ, "XGRAD_CPU": "baseline"})
        self.assertIn(": not judged in the arithmetic no-fma-1  ok\n", done.stdout)

    def test_digests_name_the_first_difference(self):
        train = ["train", "small.toml", "log.digests=true", "train.steps=9"]
        for name, more in (("one", []), ("two", []), ("other", ["train.clip_value=0.01"])):
            self.xgrad(*train, f"run.dir={name}", *more)
        self.assertEqual((self.folder / "one/digests.jsonl").read_bytes(), (self.folder / "two/digests.jsonl").read_bytes())
        self.assertNotIn("first at", self.xgrad("diff", "one", "two").stdout)
        # Clipping changes what the first update makes of equal gradients.
        self.assertRegex(self.xgrad("diff", "one", "other", exit_code=1).stdout, r"\nfirst at step 1: updated \S+\n$")
        lowest = self.xgrad(*train, "run.dir=lowest", env={**os.environ, "XGRAD_CPU": "baseline"})
        first = re.search(r"(?m)^first at .*$", self.xgrad("diff", "one", "lowest", exit_code=int(self.differs("lowest"))).stdout)
        if self.differs("lowest"):  # its products round twice
            self.assertRegex(first.group(), r"^first at step 1: op \d+ \w+ in \S+: output$", lowest.stderr)

    def differs(self, run):
        return self.hash_of(run) != self.hash_of("one")

    def test_digests_of_a_resumed_run(self):
        train = ["train", "small.toml", "log.digests=true"]
        self.xgrad(*train, "run.dir=whole")
        process = self.start(*train, "run.dir=cut")
        while process.poll() is None and not any((self.folder / "cut").glob("checkpoints/*.h5")):
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.xgrad("resume", "cut")
        self.assertEqual((self.folder / "whole/digests.jsonl").read_bytes(), (self.folder / "cut/digests.jsonl").read_bytes())


if __name__ == "__main__":
    unittest.main()
