"""A model that writes sequences: trained, scored and asked on the command line."""

import json
import math
import random

from command import CommandTest, unittest

CONFIG = """
[task]
name = "distinct"
length = 5
min_length = 1
symbols = 5
[model]
kind = "encoder_decoder"
width = 32
heads = 2
layers = 1
dropout = 0.0
attention_dropout = 0.0
[optim]
lr = 5e-3
[schedule]
warmup = 20
[train]
steps = 400
threads = 1
"""


def distinct(row):
    return list(dict.fromkeys(row))


class Generate(CommandTest):
    def test_trains_scores_and_writes(self):
        self.write("distinct.toml", CONFIG)
        plan = self.xgrad("train", "distinct.toml", "run.dir=run").stderr
        self.assertIn("encoder_decoder: 1 layer, width 32, 2 heads,", plan)
        exact = json.loads(self.xgrad("eval", "run", "--json").stdout)["exact_match"]
        self.assertGreater(exact, 0.9)

        rows = [[str(random.randrange(5)) for _ in range(random.randint(1, 5))] for _ in range(200)]
        text = "".join(" ".join(row) + "\n" for row in rows)
        written = [line.split() for line in self.xgrad("predict", "run", stdin=text).stdout.splitlines()]
        self.assertEqual(len(written), len(rows))
        right = sum(found == distinct(row) for found, row in zip(written, rows)) / len(rows)
        self.assertGreater(right, exact - 0.1)  # what it writes by itself is as right as its score says
        # A row of logits for each class that was written, the end among them.
        logits = self.xgrad("predict", "run", "--logits", stdin="3 3 3\n").stdout.split()
        self.assertEqual(len(logits) % 6, 0)

    def train(self, task, steps=400, *overrides):
        """Trains a small model to write the answers of a task."""
        self.write("run.toml", CONFIG.replace('name = "distinct"\nlength = 5\nmin_length = 1\nsymbols = 5', task))
        self.xgrad("train", "run.toml", "run.dir=run", f"train.steps={steps}", "-q", *overrides)
        return json.loads(self.xgrad("eval", "run", "--json").stdout)["exact_match"]

    def answers(self, lines, *options):
        return [json.loads(line) for line in
                self.xgrad("predict", "run", "--format", "jsonl", *options, stdin="".join(line + "\n" for line in lines)).stdout.splitlines()]

    def test_writes_the_answers_of_a_task_with_a_class_for_each_token(self):
        exact = self.train('name = "reverse"\nlength = 5\nmin_length = 2\nsymbols = 5', 600)
        self.assertGreater(exact, 0.9)
        rows = [[str(random.randrange(5)) for _ in range(random.randint(2, 5))] for _ in range(200)]
        answers = self.answers([" ".join(row) for row in rows])
        right = sum(answer["labels"] == row[::-1] for answer, row in zip(answers, rows)) / len(rows)
        self.assertGreater(right, exact - 0.1)
        # Each answer is the same alone, to the bit, whatever lines come with it.
        for i in range(0, 200, 40):
            self.assertEqual(self.answers([" ".join(rows[i])]), [answers[i]])

        # Every answer of a beam comes with its probability, and the best one first.
        wide = self.answers([" ".join(row) for row in rows], "--beam", 4)
        for answer, greedy in zip(wide, answers):
            beam = answer["beam"]
            self.assertEqual(len(beam), 4)
            self.assertEqual(answer["labels"], beam[0]["labels"])
            self.assertEqual(answer["log_probability"], beam[0]["log_probability"])
            scores = [one["log_probability"] for one in beam]
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertGreaterEqual(scores[0], greedy["log_probability"] - 1e-6)
            self.assertLess(sum(map(math.exp, scores)), 1 + 1e-6)
            self.assertEqual(len({tuple(one["labels"]) for one in beam}), 4)
            # What is missing is the end, whose probability is not listed.
            self.assertLessEqual(answer["log_probability"], sum(map(math.log, answer["probabilities"])) + 1e-5)
        for answer, greedy in zip(self.answers([" ".join(row) for row in rows], "--beam", 1), answers):
            self.assertEqual(answer["labels"], greedy["labels"])
        text = self.xgrad("predict", "run", "--beam", 4, "--length-penalty", 0.6, stdin="1 2 3\n").stdout
        self.assertEqual(len(text.split()), 3)
        columns = self.xgrad("predict", "run", "--format", "tsv", stdin="1 2 3\n").stdout.rstrip("\n").split("\t")
        self.assertEqual(len(columns), 3)
        self.assertLess(float(columns[2]), 0)
        self.assertIn("--length-penalty", self.xgrad("predict", "run", "--length-penalty", 1, exit_code=2).stderr)

    def test_places_for_the_output_are_left_out(self):
        self.train('name = "addition"', 20)
        slots, none = self.answers(["4 7 + 3 5 = _ _ _", "4 7 + 3 5 ="])
        self.assertEqual(slots, none)
        self.assertIn("expected two numbers", self.xgrad("predict", "run", stdin="4 7 + 3 5 = _\n", exit_code=3).stderr)
        self.xgrad("train", "run.toml", "model.kind=encoder", "run.dir=fills", "train.steps=20", "-q")
        for line in ("4 7 + 3 5 = _ _ _\n", "4 7 + 3 5 =\n"):
            self.assertEqual(len(self.xgrad("predict", "fills", stdin=line).stdout.split()), 3)
        self.assertIn("needs a model that generates its output", self.xgrad("predict", "fills", "--beam", 2, exit_code=2).stderr)

    def test_the_model_and_the_task_must_fit(self):
        self.write("distinct.toml", CONFIG.replace("encoder_decoder", "encoder"))
        self.assertIn("encoder cannot generate a sequence", self.xgrad("train", "distinct.toml", exit_code=2).stderr)


if __name__ == "__main__":
    random.seed(1)
    unittest.main()
