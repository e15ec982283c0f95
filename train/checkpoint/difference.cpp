#include <xgrad/train/checkpoint/checkpoint.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>

#include <xgrad/train/config/config.hpp>

namespace xgrad {

using Lines = std::vector<std::string>;

// Maps numbers to integers in the same order: neighbours differ by 1, and both zeros are 0.
template <class T>
static std::int64_t place_of(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const Bits bits = std::bit_cast<Bits>(x);
  return bits < 0 ? std::int64_t(std::numeric_limits<Bits>::min()) - bits : std::int64_t(bits);
}

template <class T>
static std::string how_numbers_differ(const Tensor<T>& a, const Tensor<T>& b) {
  std::size_t count = 0;
  double largest = 0;
  std::uint64_t ulps = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T x = a.data()[i], y = b.data()[i];
    if (std::memcmp(&x, &y, sizeof x) == 0) continue;
    ++count;
    largest = std::max(largest, std::abs(double(x) - double(y)));
    const auto [p, q] = std::minmax({place_of(x), place_of(y)});
    ulps = std::max(ulps, std::uint64_t(q) - std::uint64_t(p));
  }
  if (count == 0) return "";
  return fmt::format("{} of {} numbers differ, by at most {:.3g} and {} ulp", count, a.size(),
                     largest, ulps);
}

static std::string how_tensors_differ(const AnyTensor& a, const AnyTensor& b) {
  return std::visit(
      [&b]<class T>(const Tensor<T>& x) -> std::string {
        const auto* y = std::get_if<Tensor<T>>(&b);
        if (y == nullptr) return "one is float32, the other float64";
        if (x.shape() != y->shape()) {
          return "shape " + to_string(x.shape()) + " -> " + to_string(y->shape());
        }
        return how_numbers_differ(x, *y);
      },
      a);
}

static void add_tensors(const char* kind, const std::vector<NamedTensor>& a,
                        const std::vector<NamedTensor>& b, Lines& lines) {
  const auto add = [&](const std::string& name, const std::string& what) {
    if (!what.empty()) lines.push_back(fmt::format("{} {}: {}", kind, name, what));
  };
  std::map<std::string, const AnyTensor*> others;
  for (const NamedTensor& t : b) others[t.name] = &t.tensor;
  for (const NamedTensor& t : a) {
    const auto other = others.extract(t.name);
    add(t.name,
        other.empty() ? "only in the first" : how_tensors_differ(t.tensor, *other.mapped()));
  }
  for (const auto& [name, tensor] : others) add(name, "only in the second");
}

static void add_state(const Checkpoint& a, const Checkpoint& b, Lines& lines) {
  const auto text_of = [](const Checkpoint& c, const std::string& name) -> std::string {
    const auto found = c.state.find(name);
    if (found == c.state.end()) return "nothing";
    return std::visit([](const auto& v) { return fmt::format("{}", v); }, found->second);
  };
  const auto add = [&](const std::string& name) {
    lines.push_back(fmt::format("state {}: {} -> {}", name, text_of(a, name), text_of(b, name)));
  };
  auto others = b.state;
  for (const auto& [name, value] : a.state) {
    const auto other = others.extract(name);
    if (other.empty() || other.mapped() != value) add(name);
  }
  for (const auto& [name, value] : others) add(name);
}

static void add_configs(const Checkpoint& a, const Checkpoint& b, Lines& lines) {
  if (a.config == b.config) return;
  const auto read = [](const Checkpoint& c) {
    return parse_config(c.config, "config", {}, ConfigWriter::xgrad);
  };
  const std::vector<ConfigDifference> keys = differences(read(a), read(b));
  for (const ConfigDifference& key : keys) lines.push_back("config " + to_string(key));
  if (keys.empty()) lines.push_back("config: the same keys, written differently");
}

Lines differences(const Checkpoint& a, const Checkpoint& b) {
  Lines lines;
  if (a.step != b.step) lines.push_back(fmt::format("step: {} -> {}", a.step, b.step));
  add_configs(a, b, lines);
  add_state(a, b, lines);
  add_tensors("parameter", a.parameters, b.parameters, lines);
  add_tensors("optimizer", a.optimizer, b.optimizer, lines);
  add_tensors("batch", a.batches, b.batches, lines);
  return lines;
}

}  // namespace xgrad
