"""PyTorch's side: eager or compiled, with attention written out or fused, in float32 or by autocast in bfloat16."""

import functools

import torch
import worker
from torch_model import Model, loss


class Torch(worker.Peer):
    def __init__(self, w):
        super().__init__()
        torch.set_num_threads(w.threads)
        torch.set_num_interop_threads(1)
        torch.manual_seed(1)
        self.model = Model(w)
        # Versions before 2.4 have no fused optimizer for CPUs.
        fused = {"fused": True} if torch.torch_version.TorchVersion(torch.__version__) >= (2, 4) else {}
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, **fused)
        self.ids = torch.randint(w.vocabulary, (w.batch, w.tokens))
        self.targets = torch.randint(w.vocabulary, (w.batch, w.tokens))
        self.autocast = functools.partial(torch.autocast, "cpu", torch.bfloat16, enabled=w.bf16)
        self.loss = torch.compile(loss) if w.compile else loss

    def save(self, path, names_path):
        weights = {name: p.detach().numpy() for name, p in self.model.named_parameters()}
        self.names = worker.write(path, names_path, weights, self.ids.numpy(), self.targets.numpy())
        return {}

    def gradients(self):
        self.optimizer.zero_grad()
        with self.autocast():
            value = self.loss(self.model, self.ids, self.targets)
        value.backward()
        return value

    def check(self, path, their_loss):
        import numpy

        self.model.eval()
        value = self.gradients()
        found = {name: p.grad.numpy() for name, p in self.model.named_parameters()}
        self.model.train()
        return worker.worst(numpy, path, self.names, found, value.item(), their_loss)

    def compare(self, path):
        self.model.eval()
        with torch.inference_mode(), self.autocast():
            ours = self.model(self.ids).float().flatten()
        return worker.difference(ours, torch.from_file(path, size=ours.numel()))

    def train(self):
        value = self.gradients()
        self.optimizer.step()
        return value.item()

    def forward(self):
        with torch.inference_mode(), self.autocast():
            return float(self.model(self.ids)[0, 0, 0])

    def step(self, count):
        self.model.train()
        return self.timed(count, self.train)

    def predict(self, count):
        self.model.eval()
        return self.timed(count, self.forward)


if __name__ == "__main__":
    parser = worker.options()
    parser.add_argument("--attention", choices=("explicit", "fused"), required=True)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    worker.serve(Torch(parser.parse_args()))
