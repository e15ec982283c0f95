"""A model that writes sequences: trained, scored and asked on the command line."""

import json
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

    def test_the_model_and_the_task_must_fit(self):
        self.write("distinct.toml", CONFIG.replace("encoder_decoder", "encoder"))
        self.assertIn("encoder cannot generate a sequence", self.xgrad("train", "distinct.toml", exit_code=2).stderr)


if __name__ == "__main__":
    random.seed(1)
    unittest.main()
