"""The certificate of a run's gradients: gradcheck, verify, inspect and report."""

import hashlib
import json
import os
import shutil
import subprocess

from command import CommandTest, unittest

FILE = "run/gradcheck.json"
CHANGES = ("train.steps=12",)
OWN = """
[task]
name = "files"
train = "own/data/train.csv"
[model]
width = 8
heads = 1
layers = 1
[train]
steps = 4
keep_best = false
"""


class Certificate(CommandTest):
    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet", *CHANGES)
        self.manifest = self.folder / "run/checkpoints/manifest.sha256"

    def list_anew(self, text):
        """Replaces the certificate as the run itself would."""
        (self.folder / FILE).write_text(text)
        lines = [line for line in self.manifest.read_text().splitlines() if not line.endswith("gradcheck.json")]
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.manifest.write_text("\n".join([*lines, f"{digest}  ../gradcheck.json", ""]))

    def test_a_run_keeps_its_certificate(self):
        checkpoints = {path.name: path.read_bytes() for path in self.folder.glob("run/checkpoints/*.h5")}
        shown = self.xgrad("gradcheck", "run").stdout
        self.assertIn("differences in long double; examples of length", shown)
        found = json.loads((self.folder / FILE).read_text())
        config = subprocess.run([os.environ["XGRAD"], "inspect", "--config", "run"], cwd=self.folder, capture_output=True, check=True).stdout
        self.assertEqual(found["config_sha256"], hashlib.sha256(config).hexdigest())  # the text that checkpoints hold
        self.assertEqual(len(set(found["lengths"])), 2)
        self.assertEqual({row["name"] for row in found["tensors"][:-1]}, {line.split()[0] for line in shown.splitlines()[1:-2]})
        self.assertEqual({path.name: path.read_bytes() for path in self.folder.glob("run/checkpoints/*.h5")}, checkpoints)
        subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "--ignore-missing", self.manifest.name], cwd=self.manifest.parent, check=True)

        said = self.xgrad("verify", "run").stdout.splitlines()
        self.assertEqual(said[:-1], [f"run/checkpoints/{name}: ok" for name in sorted(checkpoints)])
        self.assertRegex(said[-1], rf"^run/gradcheck\.json: ok, [5-8] of {len(found['tensors'])} rows checked again$")
        sentence = f"the gradients of {len(found['tensors']) - 1} tensors passed their check; worst error"
        self.assertIn(f"gradcheck.json: {sentence}", self.xgrad("inspect", "run").stdout)
        self.xgrad("report", "run", "--out", "page.html")
        self.assertIn(sentence, (self.folder / "page.html").read_text())

        # A second certificate replaces the first; a resumed run keeps it, and saves the same bytes as without.
        self.xgrad("gradcheck", "run")
        self.assertEqual(self.manifest.read_text().count("gradcheck.json"), 1)
        self.assertEqual(json.loads((self.folder / FILE).read_text()), found)
        more = ("train.steps=20", "--allow-change", "train.steps")
        self.xgrad("train", "small.toml", "run.dir=other", "--quiet", *CHANGES)
        for run in ("run", "other"):
            self.xgrad("resume", run, *more)
        for path in self.folder.glob("other/checkpoints/*.h5"):
            self.assertEqual((self.folder / "run/checkpoints" / path.name).read_bytes(), path.read_bytes())
        # More steps and another choice of the model have the same gradients; another loss has others.
        self.xgrad("resume", "run", "train.keep_best=false", "--allow-change", "train.keep_best")
        self.assertIn("rows checked again", self.xgrad("verify", "run").stdout)
        self.xgrad("resume", "run", "train.steps=30", "train.label_smoothing=0.1", "--allow-change", "train.steps", "--allow-change",
                   "train.label_smoothing")
        self.assertIn("checked the gradients of another config; write a new one", self.xgrad("verify", "run", exit_code=4).stdout)

    def test_certificates_that_do_not_hold(self):
        self.xgrad("gradcheck", "run")
        text = (self.folder / FILE).read_text()
        found = json.loads(text)
        (self.folder / FILE).write_text(text.replace("long double", "long-double"))
        self.assertIn("is not the file that the run lists", self.xgrad("verify", "run", exit_code=4).stdout)
        self.assertIn("is not the file that the run lists", self.xgrad("inspect", "run", exit_code=4).stderr)
        self.xgrad("report", "run", "--out", "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertIn("is not the file that the run lists", page)
        self.assertNotIn("passed their check", page)
        self.list_anew(text)
        self.xgrad("verify", "run")

        def change(what, **keys):
            changed = json.loads(text)
            for row in changed["tensors"]:
                what(row)
            self.list_anew(json.dumps(changed | keys))
            return self.xgrad("verify", "run", exit_code=4).stdout

        def other(key):
            return lambda row: row["worst"].update({key: row["worst"][key] * (1 + 1e-6) + 1e-9})

        self.assertIn("as derivatives of", change(other("backward")))
        self.assertIn("as derivatives of", change(other("difference")))
        self.assertIn("does not have", change(lambda row: row.update(name="no." + row["name"])))
        self.assertIn("says that the check failed", change(lambda row: row.update(failed=1)))
        self.assertIn("another config", change(lambda row: None, config_sha256="0" * 64, checked_sha256="0" * 64))
        # Certificates of older versions have the digest of the whole config only.
        del found["checked_sha256"]
        self.list_anew(json.dumps(found))
        self.assertIn("rows checked again", self.xgrad("verify", "run").stdout)
        self.list_anew(json.dumps(found | {"config_sha256": "0" * 64}))
        self.assertIn("another config", self.xgrad("verify", "run", exit_code=4).stdout)
        self.assertIn("format 2, which only a newer xgrad reads", change(lambda row: None, format=2))
        for bad in ("", "[]", "{}", text[:-9], json.dumps(found | {"tensors": []}), json.dumps(found | {"lengths": "x"})):
            self.list_anew(bad)
            self.assertRegex(self.xgrad("verify", "run", exit_code=4).stdout, r"(?m)^run/gradcheck\.json: (is not a certificate|lists no)")

    def test_a_run_with_its_own_data_may_move(self):
        """The data of a run that Python started from arrays are in its directory."""
        (self.folder / "own/data").mkdir(parents=True)
        (self.folder / "other").mkdir(parents=True)
        rows = "text,label\n" + "".join(f"a{n % 7} b{n % 11},{'xyz'[n % 3]}\n" for n in range(200))
        self.write("own/data/train.csv", rows)
        self.write("own.toml", OWN)
        self.xgrad("train", "own.toml", "run.dir=own", "--quiet")

        def verify(run, exit_code=0):
            return self.xgrad("verify", run, exit_code=exit_code).stdout.splitlines()[-1]

        def resume(run, key, value):
            self.xgrad("resume", run, f"{key}={value}", "--allow-change", key, "--quiet")

        self.xgrad("gradcheck", "own")
        for run, before in (("moved", "own"), ("again", "moved")):
            (self.folder / before).rename(self.folder / run)
            self.assertIn("rows checked again", verify(run))
        resume("again", "train.steps", 6)  # which stores where the data are now
        self.assertIn("rows checked again", verify("again"))
        shutil.copytree(self.folder / "again", self.folder / "copy")
        resume("copy", "train.steps", 8)
        self.assertIn("rows checked again", verify("copy"))
        before = (self.folder / "again/gradcheck.json").read_bytes()
        self.xgrad("gradcheck", "again")
        self.assertEqual(json.loads((self.folder / "again/gradcheck.json").read_text())["checked_sha256"], json.loads(before)["checked_sha256"])
        # Other files count, even with the same rows.
        self.write("other/rows.csv", rows)
        resume("again", "task.train", "other/rows.csv")
        self.assertIn("checked the gradients of another config", verify("again", exit_code=4))

    def test_damage_in_a_run(self):
        path = sorted(self.folder.glob("run/checkpoints/*.h5"))[0]
        self.write(path, path.read_bytes()[:-1] + b"x")
        said = self.xgrad("verify", "run", exit_code=4).stdout
        self.assertNotIn(f"{path.name}: ok", said)
        self.assertIn(": ok\n", said)

    def test_a_run_without_checkpoints(self):
        self.write("config.toml", (self.folder / "run/config.toml").read_text())
        self.assertEqual(self.xgrad("verify", ".", exit_code=4).stdout, ".: there is no checkpoint\n")
        self.xgrad("gradcheck", ".")
        said = self.xgrad("verify", ".", exit_code=4).stdout
        self.assertRegex(said, r"^\.: there is no checkpoint\n\./gradcheck\.json: ok, ")

    def test_a_new_file_for_a_config(self):
        self.xgrad("gradcheck", "small.toml", *CHANGES, "--certificate", "made.json")
        self.xgrad("gradcheck", "run")
        self.assertEqual((self.folder / "made.json").read_bytes(), (self.folder / FILE).read_bytes())
        self.assertIn("made.json", self.xgrad("gradcheck", "small.toml", "--certificate", "made.json", exit_code=6).stderr)
        for words in (["--certificate", "new.json"], ["train.seed=2"]):
            self.assertIn("run is a run", self.xgrad("gradcheck", "run", *words, exit_code=2).stderr)
        self.assertIn("config.toml", self.xgrad("gradcheck", "run/checkpoints", exit_code=6).stderr)
        self.assertIn("nowhere", self.xgrad("verify", "nowhere", exit_code=6).stdout)

    def test_a_run_that_somebody_uses(self):
        process = self.start("train", "small.toml", "run.dir=busy", "train.steps=100000")
        try:
            while not (self.folder / "busy/config.toml").exists():
                self.assertIsNone(process.poll())
            self.assertIn("in use", self.xgrad("gradcheck", "busy", exit_code=7).stderr)
        finally:
            process.kill()
            process.communicate()


if __name__ == "__main__":
    unittest.main()
