"""The certificate of a model's gradients compared with PyTorch's: certificate_test.py XGRAD."""

import json

import harness
import numpy as np
import torch
from cases import CASES, WEIGHTS, config_of, data_of, settings_of
from harness import TorchTest, main
from loop import batch_of, count, loss_sum, model_of


class Certificate(TorchTest):
    def check(self, name):
        case = CASES[name]
        data = data_of(case)
        data.write(self.folder)
        model = model_of(case, data)
        np.savez(self.folder / WEIGHTS, **{name: x.numpy() for name, x in model.state_dict().items()})
        (self.folder / "model.toml").write_text(config_of(case))
        self.xgrad("gradcheck", "model.toml", "--certificate", "certificate.json")
        found = json.loads((self.folder / "certificate.json").read_text())
        self.assertTrue(found["passed"])

        # The first example, and the next of another length.
        words = data.train.words
        other = next(i for i in range(1, len(words)) if len(words[i]) != len(words[0]))
        self.assertEqual(found["lengths"], [len(words[0]), len(words[other])])
        batch = batch_of(data.train, [0, other])
        s = settings_of(case, harness.XGRAD)
        outputs = model(*batch) if data.train.labels == "generated" else model(*batch[:2])
        (loss_sum(outputs, batch[2], s, s["train.label_smoothing"]) / count(batch[2])).backward()

        *rows, together = found["tensors"]
        self.assertEqual(together["name"], "all")
        parameters = dict(model.named_parameters())
        self.assertEqual({row["name"] for row in rows}, set(parameters))
        for row in rows:
            gradient = parameters[row["name"]].grad
            self.assertEqual(row["shape"], list(gradient.shape))
            self.assertEqual((row["entries"], row["directions"]), (min(32, gradient.numel()), 1))
            worst = row["worst"]
            if worst["at"].startswith("["):
                self.entries += 1
                expected = float(gradient[tuple(json.loads(worst["at"]))])
                for kind in ("backward", "difference"):
                    self.assertAlmostEqual(worst[kind], expected, delta=1e-10 * float(gradient.abs().max()), msg=row["name"])
        # No direction changes faster than with all entries at their largest speed, 1.5.
        steepest = 1.5 * sum(float(x.grad.abs().sum()) for x in parameters.values())
        self.assertLess(abs(together["worst"]["difference"]), steepest)

    def test_the_first_pair_of_examples_has_padding(self):
        torch.set_num_threads(1)
        self.entries = 0  # that were the worst of their tensors: of the others, the certificate names no place
        names = ("adamw", "label_smoothing", "binary_cross_entropy", "huber", "encoder_decoder")
        for name in names:
            with self.subTest(name):
                (self.folder / "certificate.json").unlink(missing_ok=True)
                self.check(name)
        self.assertGreater(self.entries, 3 * len(names))


if __name__ == "__main__":
    main()
