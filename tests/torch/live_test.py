"""A model that xgrad trained is the same model in PyTorch: live_test.py XGRAD."""

import h5py
import torch
from harness import TorchTest, main
from model import Model


class Live(TorchTest):
    def check(self, norm, activation):
        self.write_config("config.toml", norm=norm, activation=activation)
        self.xgrad("train", "config.toml", "run.dir=run", "--quiet")
        checkpoint = sorted((self.folder / "run" / "checkpoints").glob("*.h5"))[-1]

        # How docs/checkpoint-format.md tells users to read one.
        with h5py.File(checkpoint) as f:
            weights = {f"{m}.{p}": torch.from_numpy(d[...])
                       for m in f.attrs["layer_names"].astype(str) for p, d in f[m].items()}

        vocabulary, width = weights["embedding.token.weight"].shape
        length = weights["embedding.position.weight"].shape[0]
        model = Model(width=width, heads=2, layers=2, feedforward=24, classes=weights["head.bias"].shape[0], norm=norm,
                      activation=activation, vocabulary=vocabulary, length=length)
        self.assertEqual(str(model.load_state_dict(weights)), "<All keys matched successfully>")
        self.check_close(checkpoint, model, 1e-5)

    def test_pre_norm(self):
        self.check("pre", "gelu")

    def test_post_norm(self):
        self.check("post", "gelu_tanh")


if __name__ == "__main__":
    main()
