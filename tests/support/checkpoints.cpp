#include <support/checkpoints.hpp>

#include <cstdlib>
#include <cstring>

namespace xgrad::test {

namespace {

template <class T>
AnyTensor ramp(const Shape& shape, T first) {
  Tensor<T> tensor = empty<T>(shape);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = first + T(i) / T(7);
  return tensor;
}

bool same(const AnyTensor& a, const AnyTensor& b) {
  return std::visit(
      [&]<class T>(const Tensor<T>& x) {
        const auto* y = std::get_if<Tensor<T>>(&b);
        if (y == nullptr || x.shape() != y->shape()) return false;
        return x.size() == 0 || std::memcmp(x.data(), y->data(), x.size() * sizeof(T)) == 0;
      },
      a);
}

std::string difference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  if (a.size() != b.size()) return "number of tensors";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name) return "name " + a[i].name;
    if (!same(a[i].tensor, b[i].tensor)) return "tensor " + a[i].name;
  }
  return "";
}

}  // namespace

Checkpoint small_checkpoint() {
  Checkpoint c;
  c.step = 1200;
  // The parameters of one module are not adjacent, to test that their order survives.
  c.parameters = {{"encoder.layers.0.attention.in_proj_weight", ramp<float>({3, 2}, -1)},
                  {"encoder.layers.0.norm1.weight", ramp<float>({2}, 1)},
                  {"encoder.layers.0.attention.in_proj_bias", ramp<float>({3}, 0)},
                  {"head.scale", ramp<double>({}, 3)},
                  {"head.weight", ramp<double>({1, 4}, -2)}};
  for (const NamedTensor& p : c.parameters) c.optimizer.push_back({"exp_avg." + p.name, p.tensor});
  c.state = {
      {"best_loss", 0.1}, {"epoch", std::int64_t{-3}}, {"note", "two\nlines"}, {"empty", ""}};
  c.config = "[train]\nseed = 1 # π\n";
  return c;
}

WeightFile weight_file(const Checkpoint& checkpoint) {
  return {checkpoint.parameters, checkpoint.config};
}

std::string difference(const WeightFile& a, const WeightFile& b) {
  return a.text == b.text ? difference(a.tensors, b.tensors) : "text";
}

std::string difference(const Checkpoint& a, const Checkpoint& b) {
  if (a.step != b.step) return "step";
  if (a.config != b.config) return "config";
  if (a.state != b.state) return "state";
  const std::string parameters = difference(a.parameters, b.parameters);
  if (!parameters.empty()) return parameters;
  const std::string optimizer = difference(a.optimizer, b.optimizer);
  return optimizer.empty() ? difference(a.batches, b.batches) : optimizer;
}

int random_edits(int quick) {
  const char* asked = std::getenv("XGRAD_RANDOM_EDITS");
  return asked == nullptr ? quick : std::atoi(asked);
}

}  // namespace xgrad::test
