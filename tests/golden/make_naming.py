"""Loads what `xgrad export --naming` writes into timm, torchvision and Hugging Face's transformers, strictly, compares
logits, and writes down names, shapes, digests and logits for tests/clients/naming_test.py, with the newest versions of the libraries:

    pip install torch timm torchvision transformers safetensors
    XGRAD=build/release/xgrad PYTHONPATH=tests/cli:tests/clients python3 tests/golden/make_naming.py
"""

import functools  # noqa: F401, for the constructors
import hashlib
import json
import os
import pathlib

os.environ["XGRAD"] = os.path.abspath(os.environ["XGRAD"])

import naming
import numpy
import timm
import torch
import torchvision
import transformers
from command import CommandTest, unittest

GOLDEN = pathlib.Path(__file__).resolve().parent / "naming.json"
EXAMPLES = 12


class Naming(CommandTest):
    def library_logits(self, weights, constructor, reference):
        scope = dict(globals())
        exec(f"model = {constructor}", scope)  # and what the lines behind it do to that
        model = scope["model"].eval()
        state = {name: torch.tensor(x) for name, x in weights.items()}
        self.assertEqual(str(model.load_state_dict(state, strict=True)), "<All keys matched successfully>")
        with torch.no_grad():
            if "image" in reference:
                return model(torch.tensor(reference["image"], dtype=torch.float32).permute(0, 3, 1, 2)).numpy()
            ids, mask = reference["ids"], reference["mask"]
            if reference["logits"].ndim == 2:
                first = numpy.full((len(ids), 1), int(constructor.rsplit(", ", 1)[1]))  # the class token
                ids, mask = numpy.hstack([first, ids]), numpy.hstack([first >= 0, mask])
            ids, mask = (torch.tensor(x.astype(numpy.int64)) for x in (ids, mask))
            return model(input_ids=ids, attention_mask=mask).logits.numpy()

    def made(self):
        versions = {m.__name__: m.__version__ for m in (timm, torch, torchvision, transformers)}
        golden = {"versions": versions, "cases": {}}
        for case in naming.CASES:
            weights, constructor, reference = naming.export(self, case)
            logits = self.library_logits(weights, constructor, reference)
            difference = numpy.abs(logits - reference["logits"])
            if logits.ndim == 3:  # a target for each token
                difference = difference[reference["mask"]]
            print(f"{case}: {len(weights)} tensors, logits within {difference.max():.1e}")
            self.assertLess(float(difference.max()), 1e-5)
            golden["cases"][case] = {
                "constructor": constructor,
                "shapes": {n: list(x.shape) for n, x in sorted(weights.items())},
                "sha256": {n: hashlib.sha256(x.tobytes()).hexdigest() for n, x in sorted(weights.items())},
                "logits": numpy.round(logits[:EXAMPLES].astype(float), 7).tolist(),
            }
        return golden

    def test_libraries(self):
        GOLDEN.write_text(json.dumps(self.made(), indent=None).replace('}, "', '},\n"') + "\n")


if __name__ == "__main__":
    unittest.main()
