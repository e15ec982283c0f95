"""`xgrad predict` as a part of a pipe: its formats, and that it answers at once."""

import json
import math
import re
import select

from command import XGRAD, CommandTest, subprocess, unittest


class Serve(CommandTest):
    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", "run.dir=run", "-q")

    def predict(self, lines, *words, **options):
        return self.xgrad("predict", "run", *words, stdin="".join(f"{line}\n" for line in lines), **options).stdout.splitlines()

    def test_formats_say_the_same(self):
        lines = ["1 2 3", "4 5 6 7", "0 0", "7 6 5"]
        text, tsv = self.predict(lines), self.predict(lines, "--format", "tsv")
        rows = [json.loads(line) for line in self.predict(lines, "--format", "jsonl")]
        logits = self.predict(lines, "--logits")
        for line, plain, tabbed, row, raw in zip(lines, text, tsv, rows, logits, strict=True):
            self.assertEqual(set(row), {"labels", "probabilities"})
            self.assertEqual(plain.split(), row["labels"])
            labels, probabilities = tabbed.split("\t")
            self.assertEqual(labels, plain)
            self.assertEqual(probabilities, " ".join(f"{p:.6f}" for p in row["probabilities"]))
            values = [float(x) for x in raw.split()]
            for i in range(len(line.split())):
                position = values[8 * i:8 * i + 8]
                best = max(position)
                self.assertEqual(row["labels"][i], str(position.index(best)))
                softmax = 1 / sum(math.exp(x - best) for x in position)
                self.assertAlmostEqual(row["probabilities"][i], softmax, places=8)  # the logits are text of 9 digits
        self.assertEqual(text, self.predict(lines, "--format", "text"))
        self.assertIn("csv", self.xgrad("predict", "run", "--format", "csv", exit_code=2).stderr)
        self.xgrad("predict", "run", "--format", "tsv", "--logits", exit_code=2)

    def test_answers_as_soon_as_it_is_asked(self):
        with subprocess.Popen([XGRAD, "predict", "run"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              bufsize=0) as process:
            expected = self.predict(["1 2 3", "4 5", "6"])
            for line, answer in zip((b"1 2 3\n", b"4 5\n"), expected):
                process.stdin.write(line[:2])  # half a line is not yet one
                process.stdin.write(line[2:])
                self.assertTrue(select.select([process.stdout], [], [], 30)[0], "no answer")
                self.assertEqual(process.stdout.readline().decode(), answer + "\n")
            process.stdin.write(b"6")  # the last line lacks its line feed
            process.stdin.close()
            self.assertEqual(process.stdout.read().decode(), expected[2] + "\n")
            self.assertEqual(process.wait(), 0)

    def test_many_lines_at_once_are_answered_as_each_alone(self):
        lines = [" ".join(str((i * j) % 8) for j in range(2 + i % 5)) for i in range(300)]
        together = self.predict(lines, "--logits")
        self.assertEqual(len(together), 300)
        for i in (0, 1, 63, 64, 65, 299):
            alone, = self.predict([lines[i]], "--logits")
            self.assertEqual(alone, together[i])

    def test_a_bad_line_is_named_after_what_came_before(self):
        done = subprocess.run([XGRAD, "predict", "run"], cwd=self.folder, input="1 2 3\n" * 100 + "1 2 9\n4 5\n", text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout.count("\n"), 100)
        self.assertIn("standard input, line 101: reverse: ", done.stderr)
        self.assertEqual(self.predict([]), [])

    def test_a_line_has_a_limit(self):
        longest = "1 2 3".ljust(1 << 20)
        expected = self.predict(["1 2 3"])
        for end in ("\n", "\r\n"):
            self.assertEqual(self.xgrad("predict", "run", stdin=longest + end).stdout.splitlines(), expected)
            for too_long in (longest + " ", longest + "x" * 5_000_000):
                done = self.xgrad("predict", "run", stdin=f"1 2 3{end}{too_long}{end}1 2 3{end}", exit_code=3)
                self.assertEqual(done.stdout.splitlines(), expected)
                self.assertEqual(done.stderr, "xgrad: standard input, line 2: has more than 1048576 bytes, the limit of a line\n")

    def test_keep_going_answers_the_lines_after_a_bad_one(self):
        long, unknown = "1" * 5_000_000, "1 2 99"
        expected = self.predict(["1 2 3", "4 5"])
        for words in ((), ("--format", "tsv"), ("--logits",), ("--format", "jsonl")):
            first, last = self.predict(["1 2 3", "4 5"], *words)
            done = self.xgrad("predict", "run", "--keep-going", *words, stdin=f"1 2 3\n{long}\n{unknown}\n\n4 5\n", exit_code=3)
            answers = done.stdout.splitlines()
            self.assertEqual((answers[0], answers[4], len(answers)), (first, last, 5))
            errors = [json.loads(x)["error"] if "jsonl" in words else x.removeprefix("error: ") for x in answers[1:3]]
            self.assertEqual(errors[0], "has more than 1048576 bytes, the limit of a line")
            self.assertIn("99", errors[1])
            self.assertIn("2 of 5 lines are not valid inputs; the first:\nxgrad: standard input, line 2: ", done.stderr)
        self.assertEqual(self.xgrad("predict", "run", "--keep-going", stdin="1 2 3\n4 5\n").stdout.splitlines(), expected)
        done = self.xgrad("predict", "run", "--keep-going", stdin="1 2 3\n" + long, exit_code=3)
        self.assertEqual(done.stdout.splitlines(), [expected[0], "error: has more than 1048576 bytes, the limit of a line"])

    def test_an_endless_line_is_refused(self):
        with open("/dev/zero") as endless:
            done = subprocess.run([XGRAD, "predict", "run"], cwd=self.folder, stdin=endless, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("line 1: has more than 1048576 bytes", done.stderr)

    def test_an_empty_line_is_answered_by_one(self):
        for words, nothing in (((), ""), (("--format", "tsv"), ""), (("--format", "jsonl"), "{}"), (("--logits",), "")):
            self.assertEqual(self.predict(["", ""], *words), [nothing, nothing])
            first, second = self.predict(["1 2 3", "4 5"], *words)
            self.assertEqual(self.predict(["", "1 2 3", "", "", "4 5", ""], *words),
                             [nothing, first, nothing, nothing, second, nothing])
        done = subprocess.run([XGRAD, "predict", "run"], cwd=self.folder, input="\n1\n\n \n1\n", text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout.count("\n")), (3, 3))
        self.assertIn("line 4", done.stderr, "white space is not nothing")

    def test_a_message_cuts_what_it_quotes(self):
        done = self.xgrad("predict", "run", stdin="1 " + "x" * 1_000_000 + "\n", exit_code=3)
        self.assertEqual(done.stderr.count("x" * 40), 1)
        self.assertLess(len(done.stderr), 300)

    def test_who_does_not_listen(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([XGRAD, "predict", "run"], cwd=self.folder, input="1 2\n", stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 6, done.stderr)


class Labels(CommandTest):
    def test_any_text_may_be_a_label(self):
        labels = ["plain", "two words", "a\ttab and a \\", 'quote "']
        rows = [{"x": f"w{i % 4}", "y": labels[i % 4]} for i in range(80)]
        self.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        self.write("d.toml", '[task]\nname = "files"\ntrain = "d.jsonl"\nvalidation = "d.jsonl"\ntest = "d.jsonl"\n'
                   'input = "x"\ntarget = "y"\n[model]\nwidth = 16\nheads = 1\nlayers = 1\n[optim]\nlr = 1e-2\n'
                   '[train]\nsteps = 60\n')
        self.xgrad("train", "d.toml", "run.dir=run", "-q")
        asked = "w0\nw1\nw2\nw3\n"
        found = [json.loads(line)["labels"] for line in
                 self.xgrad("predict", "run", "--format", "jsonl", stdin=asked).stdout.splitlines()]
        self.assertEqual(found, [[label] for label in labels])
        shown = [line.split("\t") for line in self.xgrad("predict", "run", "--format", "tsv", stdin=asked).stdout.splitlines()]
        self.assertEqual([row[0] for row in shown], ["plain", "two words", "a\\ttab and a \\\\", 'quote "'])
        self.assertTrue(all(0.25 < float(row[1]) <= 1 for row in shown))

    def test_numbers(self):
        self.write("n.toml", '[task]\nname = "mean_of_marked"\nlength = 3\nexamples = 200\nvalidation = 30\ntest = 30\n'
                   '[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 5\n')
        self.xgrad("train", "n.toml", "run.dir=run", "-q")
        asked = "0.5 1, -1 0, 2 1\n"
        number = float(self.xgrad("predict", "run", "--logits", stdin=asked).stdout)
        self.assertAlmostEqual(json.loads(self.xgrad("predict", "run", "--format", "jsonl", stdin=asked).stdout)["numbers"][0],
                               number, delta=1e-7 * abs(number))
        self.assertAlmostEqual(float(self.xgrad("predict", "run", "--format", "tsv", stdin=asked).stdout), number,
                               delta=1e-7 * abs(number))


if __name__ == "__main__":
    unittest.main()
