"""Commands that look into a model or a run."""

import re

from command import CommandTest, unittest


class Summary(CommandTest):
    def test_counts_what_the_config_says(self):
        out = self.xgrad("summary", "small.toml", "model.layers=2", "train.batch=5").stdout
        self.assertRegex(out, r"a batch of \(5, \d\) token ids")
        self.assertEqual(len(re.findall(r"(?m)^ +self_attn ", out)), 2)
        # 8 symbols and 6 places of 16 features, two blocks of 12 * 16^2 and 13 * 16 - 3 * 16, norm, head
        block = 12 * 16 ** 2 + 10 * 16
        self.assertIn(f"parameters  {(8 + 6) * 16 + 2 * block + 2 * 16 + 8 * 17:,}\n", out)

    def test_leaves_nothing_behind(self):
        self.xgrad("summary", "small.toml")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["small.toml"])


if __name__ == "__main__":
    unittest.main()
