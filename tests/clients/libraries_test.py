"""golden/naming.json is what timm, torchvision and Hugging Face's transformers make of the weights, in the versions of tests/libraries.txt
and of Debian."""

import venv

venv.need("timm", "transformers", environment="venv-libraries")

import json  # noqa: E402

import make_naming  # noqa: E402
import numpy  # noqa: E402
from command import unittest  # noqa: E402

GOLDEN = json.loads(make_naming.GOLDEN.read_text())


class Libraries(make_naming.Naming):
    def test_libraries(self):
        made = self.made()
        self.assertEqual(list(made["cases"]), list(GOLDEN["cases"]))
        for case, golden in GOLDEN["cases"].items():
            for part in ("constructor", "shapes", "sha256"):
                self.assertEqual(made["cases"][case][part], golden[part], case)
            difference = numpy.subtract(made["cases"][case]["logits"], golden["logits"])
            self.assertLess(float(numpy.abs(difference).max()), 2e-6, case)


if __name__ == "__main__":
    unittest.main()
