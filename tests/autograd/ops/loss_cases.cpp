#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

struct Kind {
  const char* variant;
  double smoothing = 0;
  bool weighted = false, ignoring = false;
  double range = 3;
};

// The first target always counts.
Ids random_targets(const Shape& shape, const Rng& rng, std::size_t classes, bool ignoring) {
  Ids targets = random_ids(shape, rng, std::int32_t(classes));
  for (std::size_t i = 1; ignoring && i < targets.size(); ++i) {
    if (rng.uniform(1000 + i) < 0.4) targets.data()[i] = -100;
  }
  return targets;
}

std::vector<std::function<void()>> wrong_cross_entropies() {
  const V logits(full({2, 3}, 1.0));
  const Ids targets = full<std::int32_t>({2}, 0);
  return {[=] { cross_entropy(logits, full<std::int32_t>({3}, 0)); },
          [=] {
            cross_entropy(logits, full<std::int32_t>({2, 1}, 0));
          },
          [=] { cross_entropy(V(full({}, 1.0)), full<std::int32_t>({}, 0)); },
          [=] { cross_entropy(logits, full<std::int32_t>({2}, 3)); },
          [=] { cross_entropy(logits, full<std::int32_t>({2}, -1)); },
          [=] { cross_entropy(logits, targets, {.label_smoothing = 1}); },
          [=] {
            cross_entropy(logits, targets, {.class_weights = {1, 2}});
          }};
}

OpCase cross_entropy_case(const Kind& kind) {
  return {.op = "cross_entropy",
          .variant = kind.variant,
          .sample =
              [kind](const Rng& rng, std::size_t n) {
                const Shape shape{random_size(rng / "B", 1, 3), random_size(rng / "N", 1, 3)};
                const Ids targets = random_targets(shape, rng / "targets", n + 1, kind.ignoring);
                CrossEntropyOptions options{.label_smoothing = kind.smoothing};
                for (std::size_t c = 0; kind.weighted && c <= n; ++c) {
                  options.class_weights.push_back(0.2 + rng.uniform(c));
                }
                if (rng.uniform(99) < 0.3) options.normalizer = 5;
                return Sample([=](const auto& x) { return cross_entropy(x[0], targets, options); },
                              {random_tensor({shape[0], shape[1], n + 1}, rng / "x", -kind.range,
                                             kind.range)});
              },
          .wrong_calls = wrong_cross_entropies(),
          .zero_extents = {Sample(
              [](const auto& x) {
                return cross_entropy(x[0], zeros<std::int32_t>({2, 0}));
              },
              {zeros<double>({2, 0, 3})})}};
}

// Calls with x in [-size, size), y in [low, high) and a LossOptions.
template <class F>
OpCase elementwise_case(const char* op, const char* variant, F f, double low, double high,
                        bool masked, double size = 1) {
  const auto sample = [=](const Rng& rng, std::size_t n) {
    const Shape shape{random_size(rng / "B", 1, 3), n};
    LossOptions options;
    if (masked) {
      Mask mask = random_mask(shape, rng / "mask");
      mask.data()[0] = 1;
      options.mask = std::make_shared<Mask>(mask);
    }
    if (rng.uniform(99) < 0.3) options.normalizer = 5;
    return Sample(
        [=](const auto& x) { return f(x[0], x[1], options); },
        {random_tensor(shape, rng / "x", -size, size), random_tensor(shape, rng / "y", low, high)});
  };
  const LossOptions none, narrow{.mask = std::make_shared<Mask>(full<std::uint8_t>({3}, 1))};
  return {.op = op,
          .variant = variant,
          .sample = sample,
          .wrong_calls = {[=] {
                            f(ones({2, 3}), ones({3}), none);
                          },
                          [=] {
                            f(ones({2, 1}), ones({2}), none);
                          },
                          [=] {
                            f(ones({2, 3}), ones({2, 3}), narrow);
                          }},
          .zero_extents = {Sample(
              [=](const auto& x) {
                return f(x[0], x[1], {.mask = std::make_shared<Mask>(empty<std::uint8_t>({2, 0}))});
              },
              {zeros<double>({2, 0}), zeros<double>({2, 0})})}};
}

// x lies in [-1, 1], so y keeps away from the kinks of l1 at y = x and of huber at |y - x| = delta.
std::vector<OpCase> elementwise_cases() {
  const auto mse = [](const auto& x, const auto& y, const LossOptions& options) {
    return mse_loss(x, y, options);
  };
  const auto l1 = [](const auto& x, const auto& y, const LossOptions& options) {
    return l1_loss(x, y, options);
  };
  const auto huber = [](double delta) {
    return [delta](const auto& x, const auto& y, const LossOptions& options) {
      return huber_loss(x, y, delta, options);
    };
  };
  const auto binary = [](const auto& x, const auto& y, const LossOptions& options) {
    return binary_cross_entropy_with_logits(x, y, options);
  };
  OpCase refused = elementwise_case("huber_loss", "", huber(6), 1.2, 4, false);
  refused.wrong_calls.push_back([] { huber_loss(ones({2}), ones({2}), 0); });
  return {refused,
          elementwise_case("mse_loss", "", mse, 1.5, 3, false),
          elementwise_case("mse_loss", "masked", mse, -1, 1, true),
          elementwise_case("l1_loss", "", l1, 1.2, 3, false),
          elementwise_case("l1_loss", "masked", l1, -3, -1.2, true),
          elementwise_case("huber_loss", "line", huber(0.05), 1.2, 3, false),
          elementwise_case("huber_loss", "masked", huber(0.05), -3, -1.2, true),
          elementwise_case("binary_cross_entropy_with_logits", "", binary, 0, 1, false, 4),
          elementwise_case("binary_cross_entropy_with_logits", "masked", binary, 0, 1, true, 4)};
}

}  // namespace

std::vector<OpCase> loss_cases() {
  std::vector<OpCase> cases = elementwise_cases();
  for (const Kind& kind :
       {Kind{.variant = ""}, Kind{.variant = "ignoring", .ignoring = true},
        Kind{.variant = "smooth", .smoothing = 0.1},
        Kind{.variant = "weighted", .weighted = true, .ignoring = true},
        Kind{.variant = "all", .smoothing = 0.3, .weighted = true, .ignoring = true},
        Kind{.variant = "wide", .smoothing = 0.1, .range = 40}}) {
    cases.push_back(cross_entropy_case(kind));
  }
  return cases;
}

}  // namespace xgrad::test
