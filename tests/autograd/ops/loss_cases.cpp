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
                CrossEntropy options{.label_smoothing = kind.smoothing};
                for (std::size_t c = 0; kind.weighted && c <= n; ++c) {
                  options.class_weights.push_back(0.2 + rng.uniform(c));
                }
                if (rng.uniform(99) < 0.3) options.normalizer = 5;
                return Sample([=](const auto& x) { return cross_entropy(x[0], targets, options); },
                              {random_tensor({shape[0], shape[1], n + 1}, rng / "x", -kind.range,
                                             kind.range)});
              },
          .wrong_calls = wrong_cross_entropies()};
}

OpCase mse_loss_case() {
  return {.op = "mse_loss",
          .sample =
              [](const Rng& rng, std::size_t n) {
                const Shape shape{random_size(rng / "B", 1, 3), n};
                return Sample(
                    [](const auto& x) { return mse_loss(x[0], x[1]); },
                    {random_tensor(shape, rng / "x"), random_tensor(shape, rng / "y", 1.5, 3)});
              },
          .wrong_calls = {[] {
                            mse_loss(V(full({2, 3}, 1.0)), V(full({3}, 1.0)));
                          },
                          [] {
                            mse_loss(V(full({2, 1}, 1.0)), V(full({2}, 1.0)));
                          }}};
}

}  // namespace

std::vector<OpCase> loss_cases() {
  return {
      cross_entropy_case({.variant = ""}),
      cross_entropy_case({.variant = "ignoring", .ignoring = true}),
      cross_entropy_case({.variant = "smooth", .smoothing = 0.1}),
      cross_entropy_case({.variant = "weighted", .weighted = true, .ignoring = true}),
      cross_entropy_case({.variant = "all", .smoothing = 0.3, .weighted = true, .ignoring = true}),
      cross_entropy_case({.variant = "wide", .smoothing = 0.1, .range = 40}),
      mse_loss_case()};
}

}  // namespace xgrad::test
