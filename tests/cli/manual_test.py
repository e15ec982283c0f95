"""What tells of commands, options and keys: the manual page and completion in bash."""

import json
import re
import shutil

from command import CommandTest, subprocess, unittest


class Manual(CommandTest):
    def commands(self):
        """{command: its long options}, as --help shows them."""
        names = re.findall(r"(?m)^  ([a-z][\w-]*)  ", self.xgrad("--help").stdout)
        self.assertGreater(len(names), 15)
        return {name: set(re.findall(r"--[a-z][\w-]*", self.xgrad(name, "--help").stdout)) for name in names}

    def test_man_names_everything(self):
        page = self.xgrad("man").stdout.replace("\\-", "-")
        for name, options in self.commands().items():
            section = page.split(f".SS {name}\n")[1].split(".SS ")[0]
            for option in options:
                self.assertIn(option, section, name)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=self.xgrad("man").stdout, text=True,
                                  capture_output=True)
            self.assertEqual(done.stderr, "")

    def test_commands_stand_under_five_headings(self):
        """The same in --help and in the manual page."""
        heads = ["Train", "Look inside", "Use a trained model", "Check", "Get help"]
        text, page = self.xgrad("--help").stdout, self.xgrad("man").stdout.replace("\\-", "-")
        told = {}
        for head, lines in re.findall(r"(?m)^([A-Z].*):\n((?:  [a-z].*\n(?:   .*\n)*)+)", text):
            told[head] = re.findall(r"(?m)^  ([a-z][\w-]*)  ", lines)
        self.assertEqual(list(told), heads)
        printed = {head: re.findall(r"(?m)^\.SS (.*)$", lines) for head, lines in re.findall(r'(?s)\.SH "(.*?)"\n(.*?)(?=\.SH )', page)}
        self.assertEqual(printed, told)
        self.assertLessEqual({"train", "resume", "check", "sweep"}, set(told["Train"]))

    def test_everything_has_help_and_a_name_of_its_own(self):
        sections = re.findall(r"(?s)\.SS (.*?)\n(.*?)(?=\.S[SH] )", self.xgrad("man").stdout)
        names = [name for name, _ in sections]
        self.assertGreater(len(names), 15)
        self.assertEqual(sorted(set(names)), sorted(names))
        for name, text in sections:
            told, *options = text.split(".TP\n")
            self.assertRegex(told, r"^[A-Z].{8,}\.\n$", name)
            words = []
            for option in options:
                head, told = option.split("\n", 1)
                self.assertRegex(told, r"^\S.{4,}\n$", f"{name} {head}")
                words += head.removesuffix(" VALUE").split(" ", 1)[1].split(", ")
            self.assertEqual(sorted(set(words)), sorted(words), name)

    def complete(self, *words):
        script = self.write("completion", self.xgrad("completion", "bash").stdout)
        line = " ".join(f"'{word}'" for word in words)
        ask = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _xgrad; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", ask], cwd=self.folder, text=True, capture_output=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_completion_knows_everything(self):
        commands = self.commands()
        self.assertEqual(self.complete("xgrad", ""), set(commands) | {"--help", "--version"})
        for name, options in commands.items():
            self.assertLessEqual(options, self.complete("xgrad", name, "--"), name)
        self.assertEqual(self.complete("xgrad", "eval", "run", "--split", "t"), {"train", "test"})
        self.assertEqual(self.complete("xgrad", "train", "sm"), {"small.toml"})

    def test_completion_knows_the_keys_of_a_config(self):
        keys = {f"optim.{key}=" for key in self.keys_of("optim")}
        self.assertIn("optim.lr=", keys)
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "optim."), keys)
        self.assertEqual(self.complete("xgrad", "sweep", "small.toml", "optim.lr"), {"optim.lr="})
        self.assertEqual(self.complete("xgrad", "eval", "run", "train.precision="), {"train.precision=float", "train.precision=double", "train.precision=bf16"})
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "train.recompute", "=", "t"), {"true"})
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "train.recompute", "="), {"true", "false"})
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "task.name=reve"), {"task.name=reverse"})
        self.assertIn("task.symbols=", self.complete("xgrad", "train", "small.toml", "task."))
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "optim.lr="), set())
        self.assertEqual(self.complete("xgrad", "train", ""), {"small.toml", "completion"})

    def keys_of(self, section):
        """From the schema."""
        properties = json.loads(self.xgrad("config", "--schema").stdout)["properties"][section]["properties"]
        return [key for key in properties if key != "groups"]

    def test_the_manual_has_every_key(self):
        page = self.xgrad("man").stdout.split(".SH CONFIGURATION KEYS")[1].split(".SH EXIT STATUS")[0]
        for section in ("model", "optim", "schedule", "train", "log", "mpi", "expect"):
            for key in self.keys_of(section):
                self.assertRegex(page, rf"(?m)^  {key} ")


if __name__ == "__main__":
    unittest.main()
