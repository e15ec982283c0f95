"""A causal language model: trained on a text, compared with n-grams that are counted here, and asked to write."""

import json
import math
import random
import re

from command import CommandTest, unittest

CONFIG = """
[task]
name = "files"
train = "train.txt"
validation = "validation.txt"
test = "test.txt"
format = "lines"
tokens = "characters"
labels = "next"
unknown = 0.0
[model]
width = 32
heads = 2
layers = 1
mask = "causal"
positions = "rotary"
dropout = 0.0
attention_dropout = 0.0
[optim]
lr = 1e-2
[schedule]
warmup = 10
[train]
steps = 150
threads = 1
"""


def sentences(count, seed):
    rng = random.Random(seed)
    who, does, what = ["the dog", "a cat", "old Ben", "she"], ["sees", "eats", "hides"], ["it", "a bone", "the door", "some tea"]
    return [f"{rng.choice(who)} {rng.choice(does)} {rng.choice(what)}{rng.choice(['.', '!'])}" for _ in range(count)]


def witten_bell(train, vocabulary, longest):
    """A function of a context and a token: P(token | context), by the formula and nothing else."""
    follows = {}  # what follows each context, with its counts
    for text in train:
        for i in range(1, len(text)):
            for n in range(0, longest):
                if n > i:
                    break
                counts = follows.setdefault(tuple(text[i - n:i]), {})
                counts[text[i]] = counts.get(text[i], 0) + 1

    def probability(context, token):
        shorter = probability(context[1:], token) if context else 1 / vocabulary
        counts = follows.get(tuple(context))
        if counts is None:
            return shorter
        return (counts.get(token, 0) + len(counts) * shorter) / (sum(counts.values()) + len(counts))

    return probability


class LanguageModel(CommandTest):
    def train(self, *overrides):
        for name, count in (("train", 300), ("validation", 40), ("test", 60)):
            self.write(f"{name}.txt", "\n".join(sentences(count, name)) + "\n")
        self.write("lm.toml", CONFIG)
        return self.xgrad("train", "lm.toml", "run.dir=run", *overrides).stdout

    def generate(self, *options, exit_code=0):
        done = self.xgrad("generate", "run", *options, exit_code=exit_code)
        return done.stdout if exit_code == 0 else done.stderr

    def test_is_scored_beside_interpolated_n_grams(self):
        printed = self.train("expect.bits_per_character=1.5", "expect.bits_below_rule=-0.2")
        test = json.loads(self.xgrad("eval", "run", "--json").stdout)
        self.assertAlmostEqual(test["bits_per_character"], test["loss"] / math.log(2), places=9)
        self.assertAlmostEqual(test["bits_per_character_se"], test["loss_se"] / math.log(2), places=9)
        self.assertAlmostEqual(test["perplexity"], math.exp(test["loss"]), places=9)
        self.assertAlmostEqual(test["perplexity_se"], math.exp(test["loss"]) * test["loss_se"], places=9)
        self.assertIn("bits per character", printed)
        self.assertIn("expect  bits_per_character <= 1.5", printed)

        # The rule, counted here: its length is the best on the validation rows.
        texts = {name: [["<end>", *line, "<end>"] for line in (self.folder / f"{name}.txt").read_text().splitlines()]
                 for name in ("train", "validation", "test")}
        vocabulary = len({token for text in texts["train"] for token in text}) + 1  # and <unk>

        def loss(n, split):
            model = witten_bell(texts["train"], vocabulary, n)
            known = {token for text in texts["train"] for token in text}
            places = [(text, i) for text in texts[split] for i in range(1, len(text))]
            self.assertTrue(all(token in known for text in texts[split] for token in text))
            return -sum(math.log(model(text[max(0, i - n + 1):i], text[i])) for text, i in places) / len(places)

        best = min(range(1, 8), key=lambda n: loss(n, "validation"))
        expected = loss(best, "test")
        rule = re.search(r"rule +interpolated 1- to (\d)-grams: accuracy ([\d.]+), .*, loss ([\d.]+) \(([\d.]+) bits\)", printed)
        self.assertEqual(int(rule[1]), best)
        self.assertAlmostEqual(float(rule[3]), expected, places=4)
        self.assertAlmostEqual(float(rule[4]), expected / math.log(2), places=4)
        claim = re.search(r"bits_per_character at least -0.2 below the best rule, ([\d.]+)", printed)
        self.assertAlmostEqual(float(claim[1]), expected / math.log(2), places=3)

    def test_writes(self):
        self.train()
        likely = self.generate("--temperature", 0)
        self.assertIn(likely.rstrip("\n"), sentences(100000, "all"))  # of its language, with its end
        # The same text for the same seed, on any number of threads; others for other seeds.
        drawn = [self.generate("--text", "the", "--seed", seed, "--temperature", 1.2) for seed in range(1, 9)]
        self.assertGreater(len(set(drawn)), 4)
        self.assertTrue(all(text.startswith("the") and text.endswith("\n") for text in drawn))
        self.assertEqual(self.generate("--text", "the", "--seed", 3, "--temperature", 1.2), drawn[2])
        # A text that is continued from its middle goes on in the same way: the choice at a place depends on the seed and the place.
        self.assertEqual(self.generate("--text", drawn[2].rstrip("\n")[:8], "--seed", 3, "--temperature", 1.2), drawn[2])
        self.assertEqual(len(self.generate("--text", "she", "--length", 4, "--temperature", 0)), 3 + 4 + 1)
        # Longer than anything it was trained on.
        self.assertGreater(len(self.generate("--temperature", 50, "--length", 300, "--seed", 2)), 4)

        self.assertIn('the character "ß" is not in the vocabulary', self.generate("--text", "sheß", exit_code=3))
        self.assertIn("--temperature: is -1", self.generate("--temperature", "-1", exit_code=2))
        self.assertIn("--temperature: is nan", self.generate("--temperature", "nan", exit_code=2))
        for option, text in (("--seed", "-1"), ("--seed", ""), ("--seed", "18446744073709551616"), ("--length", ""), ("--temperature", "")):
            self.assertRegex(self.generate(option, text, exit_code=2), rf'^{option}: is "{text}", must be a (whole )?number')

    def test_words_have_spaces_between_them(self):
        self.train("task.tokens=words")
        self.assertIn(self.generate("--temperature", 0).rstrip("\n"), sentences(100000, "all"))
        self.assertIn(self.generate("--temperature", 0, "--text", "old Ben").rstrip("\n"), sentences(100000, "all"))

    def test_of_a_long_beginning_the_last_tokens_are_read(self):
        self.train("task.max_length=16", "task.longer=cut")
        beginnings = [words + "she sees the door" for words in ("", "a cat eats it. ", "old Ben hides some tea! ")]
        written = {self.generate("--text", words, "--temperature", 0)[len(words):] for words in beginnings}
        self.assertEqual(len(written), 1, written)
        self.assertRegex(self.xgrad("generate", "--help").stdout.replace("\n", " "), r"reads +only +its +last +task\.max_length +tokens")

    def test_other_models_do_not_write(self):
        self.xgrad("train", "small.toml", "run.dir=run", "train.steps=2", "-q")
        self.assertIn("is a model for the task reverse", self.generate(exit_code=2))
        self.write("train.txt", "\n".join(sentences(100, 1)))
        self.write("lm.toml", CONFIG.replace('validation = "validation.txt"\ntest = "test.txt"\n', ""))
        for override, message in (
            ("model.mask=none", "model.mask: is none"),
            ("model.kind=window_mlp model.mask=none model.positions=learned", "model.kind: is window_mlp"),
            ("model.kind=encoder_decoder", "model.kind: is encoder_decoder"),
            ("model.normalization=batch", "batch lets tokens see later ones"),
            ("model.positions=relative_index", "relative_index tells tokens the length of the text"),
            ("expect.bits_below_rule=0.1 task.tokens=words", "only for language models of characters"),
        ):
            with self.subTest(override):
                self.assertIn(message, self.xgrad("train", "lm.toml", *override.split(), exit_code=2).stderr)

    def test_a_text_of_paragraphs(self):
        self.write("train.txt", "\n\n".join("\n".join(sentences(2, i)) for i in range(200)) + "\n")
        self.write("lm.toml", CONFIG.replace('validation = "validation.txt"\ntest = "test.txt"\n', "").replace('"lines"', '"paragraphs"'))
        self.xgrad("train", "lm.toml", "run.dir=run", "train.steps=250", "task.max_length=64", "task.longer=cut", "-q")
        text = self.generate("--temperature", 0.1)
        self.assertEqual(len(text.splitlines()), 2, text)
        self.assertIn("set task.format to lines or paragraphs", self.xgrad("train", "lm.toml", "task.format=auto", exit_code=3).stderr)
        self.assertIn("plain text has one column", self.xgrad("train", "lm.toml", "task.labels=sequence", exit_code=3).stderr)

    def test_words(self):
        self.train("task.tokens=words", "train.steps=60")
        row = json.loads(self.xgrad("eval", "run", "--json").stdout)
        self.assertIn("bits_per_word", row)
        words = self.generate("--text", "the dog", "--temperature", 0).split()
        self.assertEqual(words[:2], ["the", "dog"])
        self.assertIn('the word "dogs" is not in the vocabulary', self.generate("--text", "the dogs", exit_code=3))


if __name__ == "__main__":
    unittest.main()
