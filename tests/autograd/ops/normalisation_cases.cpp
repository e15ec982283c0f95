#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

// Over one element softmax is constant, over two layer_norm nearly so: tests of their own have
// those.
Shape rows_shape(const Rng& rng, std::size_t n) {
  const std::size_t rank = random_size(rng / "rank", 1, 3);
  Shape shape;
  for (std::size_t axis = 1; axis < rank; ++axis) shape.push_back(random_size(rng / axis, 1, 3));
  shape.push_back(n);
  return shape;
}

// Logits within 6 of each other, a row around +-offset. (Where one of them wins by far, the true
// gradient is too small for differences; DominantLogit in softmax_test.cpp has that.)
Tensor<double> logits(const Rng& rng, std::size_t n, double offset) {
  Tensor<double> x = random_tensor(rows_shape(rng, n), rng / "x", -3, 3);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] += i / n % 2 ? offset : -offset;
  return x;
}

OpCase softmax_case(const char* variant, double offset) {
  return {.op = "softmax",
          .variant = variant,
          .sample =
              [offset](const Rng& rng, std::size_t n) {
                return Sample([](const auto& x) { return softmax(x[0]); },
                              {logits(rng, n + 1, offset)});
              },
          .wrong_calls = {[] { softmax(V(full({}, 1.0))); }}};
}

OpCase log_softmax_case(const char* variant, double offset) {
  return {.op = "log_softmax",
          .variant = variant,
          .sample =
              [offset](const Rng& rng, std::size_t n) {
                return Sample([](const auto& x) { return log_softmax(x[0]); },
                              {logits(rng, n + 1, offset)});
              },
          .wrong_calls = {[] { log_softmax(V(full({}, 1.0))); }}};
}

OpCase layer_norm_case(const char* variant, double eps, double offset) {
  return {
      .op = "layer_norm",
      .variant = variant,
      .sample =
          [=](const Rng& rng, std::size_t n) {
            Tensor<double> x = normal_tensor(rows_shape(rng, n + 2), rng / "x");
            for (std::size_t i = 0; i < x.size(); ++i) {
              x.data()[i] += offset + 2 * double(i % (n + 2));  // a variance well above zero
            }
            return Sample(
                [eps](const auto& in) { return layer_norm(in[0], in[1], in[2], eps); },
                {x, normal_tensor({n + 2}, rng / "weight"), normal_tensor({n + 2}, rng / "bias")});
          },
      .wrong_calls = {
          [] { layer_norm(V(full({}, 1.0)), V(full({1}, 1.0)), V(full({1}, 1.0))); },
          [] {
            layer_norm(V(zeros<double>({2, 0})), V(zeros<double>({0})), V(zeros<double>({0})));
          },
          [] {
            layer_norm(V(full({2, 3}, 1.0)), V(full({2}, 1.0)), V(full({3}, 1.0)));
          },
          [] {
            layer_norm(V(full({2, 3}, 1.0)), V(full({3}, 1.0)), V(full({1, 3}, 1.0)));
          },
          [] {
            layer_norm(V(full({2, 3}, 1.0)), V(full({3}, 1.0)), V(full({3}, 1.0)), -1e-5);
          },
      }};
}

OpCase rms_norm_case(const char* variant, double eps) {
  return {.op = "rms_norm",
          .variant = variant,
          .sample =
              [eps](const Rng& rng, std::size_t n) {
                // Away from 0, where r bends sharply; over one feature the result is constant.
                Tensor<double> x = random_tensor(rows_shape(rng, n + 1), rng / "x", -2, 2);
                for (std::size_t i = 0; i < x.size(); ++i)
                  x.data()[i] += x.data()[i] < 0 ? -0.5 : 0.5;
                return Sample([eps](const auto& in) { return rms_norm(in[0], in[1], eps); },
                              {x, normal_tensor({n + 1}, rng / "weight")});
              },
          .wrong_calls = {
              [] { rms_norm(ones({}), ones({1})); },
              [] {
                rms_norm(ones({2, 0}), ones({0}));
              },
              [] {
                rms_norm(ones({2, 3}), ones({2}));
              },
              [] {
                rms_norm(ones({2, 3}), ones({1, 3}));
              },
              [] {
                rms_norm(ones({2, 3}), ones({3}), -1e-5);
              },
          }};
}

// At least two rows count, and each feature varies well among them.
OpCase batch_norm_case(const char* variant, double eps, bool masked) {
  return {.op = "batch_norm",
          .variant = variant,
          .sample =
              [=](const Rng& rng, std::size_t n) {
                const std::size_t batch = random_size(rng / "batch", 1, 3), tokens = 3 + n % 3;
                Tensor<double> x = normal_tensor({batch, tokens, n}, rng / "x");
                for (std::size_t i = 0; i < x.size(); ++i)
                  x.data()[i] += 2 * double(i / n % tokens);
                std::shared_ptr<Mask> mask;
                if (masked) {
                  mask = std::make_shared<Mask>(random_mask({batch, tokens}, rng / "mask"));
                  (*mask)(0, 0) = (*mask)(0, tokens - 1) = 1;
                }
                return Sample(
                    [=](const auto& in) { return batch_norm(in[0], in[1], in[2], mask, eps); },
                    {x, normal_tensor({n}, rng / "weight"), normal_tensor({n}, rng / "bias")});
              },
          .wrong_calls = {
              [] { batch_norm(ones({}), ones({1}), ones({1})); },
              [] {
                batch_norm(ones({2, 3}), ones({2}), ones({3}));
              },
              [] {
                batch_norm(ones({2, 3}), ones({3}), ones({1, 3}));
              },
              [] {
                batch_norm(ones({2, 3}), ones({3}), ones({3}),
                           std::make_shared<Mask>(random_mask({3}, Rng(1))));
              },
              [] {
                batch_norm(ones({2, 3}), ones({3}), ones({3}), nullptr, -1e-5);
              },
          },
          .large = 1003};
}

}  // namespace

std::vector<OpCase> normalisation_cases() {
  return {softmax_case("", 0),
          softmax_case("far_from_zero", 10),
          log_softmax_case("", 0),
          log_softmax_case("far_from_zero", 10),
          layer_norm_case("", 1e-5, 0),
          layer_norm_case("no_eps", 0, 0),
          layer_norm_case("large_eps", 2, 0),
          layer_norm_case("far_from_zero", 1e-5, 8),
          rms_norm_case("", 1e-5),
          rms_norm_case("no_eps", 0),
          rms_norm_case("large_eps", 2),
          batch_norm_case("", 1e-5, false),
          batch_norm_case("masked", 1e-5, true),
          batch_norm_case("no_eps", 0, false),
          batch_norm_case("large_eps", 2, true)};
}

}  // namespace xgrad::test
