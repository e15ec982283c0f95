"""onnxruntime's side: forward passes of a model that xgrad exported. `weights` is an archive with the same weights."""

import numpy
import onnxruntime
import worker


class OnnxRuntime(worker.Peer):
    def __init__(self, w):
        super().__init__()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = w.threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(w.model, options, providers=["CPUExecutionProvider"])
        self.weights = w.weights
        ids = numpy.random.default_rng(1).integers(w.vocabulary, size=(w.batch, w.tokens))
        self.inputs = {"ids": ids, "mask": numpy.ones(ids.shape, bool)}

    def save(self, path, names_path):
        ids = self.inputs["ids"]
        worker.write(path, names_path, dict(numpy.load(self.weights)), ids, ids)
        return {}

    def logits(self):
        return self.session.run(None, self.inputs)[0]

    def compare(self, path):
        return worker.difference(self.logits().ravel(), numpy.fromfile(path, "float32"))

    def predict(self, count):
        return self.timed(count, lambda: float(self.logits()[0, 0, 0]))


if __name__ == "__main__":
    parser = worker.options()
    parser.add_argument("--model", required=True)
    parser.add_argument("--weights", required=True)
    worker.serve(OnnxRuntime(parser.parse_args()))
