#include <cmath>
#include <vector>

#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// The loss of a row z with target y is sum_c t_c (lse(z) - z_c), with t_c = w_c (smoothing / V +
// [c = y] (1 - smoothing)) and class weights w. The mean divides by the sum of w_y over the targets
// that count. lse(z) = m + log sum_c exp(z_c - m), with m the largest logit, is kept as two terms:
// in one number, large logits would round the second term away.
template <class T>
struct CrossEntropyOp final : Op<T> {
  using Sum = detail::Sum<T>;

  CrossEntropyOp(const Ids& targets, const CrossEntropyOptions& options)
      : targets(targets), options(options) {}
  const char* name() const override { return "cross_entropy"; }
  const char* arguments() const override { return "logits"; }

  Value<T> forward(const Inputs<T>& in) override {
    rows = detail::rows_of("cross_entropy", in[0].shape());
    check_inputs(in[0].shape());
    logits = in.save(0);
    largest = empty<T>({rows.count});
    log_sum = empty<T>({rows.count});
    spread_smoothing();
    const std::size_t grain = rows.grain();
    std::vector<Sum> blocks((rows.count + grain - 1) / grain);
    parallel_for(rows.count, grain, [&](std::size_t begin, std::size_t end) {
      Sum sum = 0;
      for (std::size_t row = begin; row < end; ++row) {
        if (counts(row)) sum += Sum(forward_row(row));
      }
      blocks[begin / grain] = sum;
    });
    Sum total = 0;
    for (const Sum sum : blocks) total += sum;
    const Sum divisor = options.normalizer ? Sum(*options.normalizer) : weight_of_targets();
    inverse = divisor > 0 ? Sum(1) / divisor : Sum(0);
    auto loss = make_value<T>({});
    *loss->data() = divisor > 0 ? T(total / divisor) : T(0);
    return loss;
  }

  T forward_row(std::size_t row) {
    const T* z = logits->data() + row * rows.width;
    const T m = largest(row) = detail::row_max(z, rows.width);
    const T log = log_sum(row) = detail::log(detail::exp_sum(z, rows.width, m));
    const auto y = std::size_t(targets.data()[row]);
    T loss = T(1 - options.label_smoothing) * class_weight(y) * (log - (z[y] - m));
    if (options.label_smoothing > 0) {
      const T* rest = smoothing.data();
      loss += detail::sum_terms<T>(rows.width,
                                   [=](std::size_t c) { return rest[c] * (log - (z[c] - m)); });
    }
    return loss;
  }

  // d lse/dz_c = p_c = exp(z_c - lse), so dz_c = (p_c sum_k t_k - t_c) dloss / divisor.
  void backward(Tensor<T> dloss, Grads<T>& dx) const override {
    const auto target = dx.target(0);
    const T scale = T(Sum(*dloss.data()) * inverse);
    parallel_for(rows.count, rows.grain(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        if (scale != T(0) && counts(row)) {
          backward_row(row, scale, target);
        } else {
          target.sums(row * rows.width, rows.width);
        }
      }
    });
  }

  void backward_row(std::size_t row, T scale, const typename Grads<T>::Target& target) const {
    const std::size_t n = rows.width;
    const auto y = std::size_t(targets.data()[row]);
    const T own = T(1 - options.label_smoothing) * class_weight(y);
    const T all = T(Sum(own) + smoothing_sum), m = largest.data()[row], log = log_sum.data()[row];
    const T *z = logits->data() + row * n, *rest = smoothing.data();
    target.add(row * n, n, [=](std::size_t c) {
      return scale * (all * detail::exp((z[c] - m) - log) - rest[c]);
    });
    target.data()[row * n + y] -= scale * own;
  }

  void spread_smoothing() {
    smoothing = empty<T>({rows.width});
    for (std::size_t c = 0; c < rows.width; ++c) {
      smoothing(c) = T(options.label_smoothing) / T(rows.width) * class_weight(c);
      smoothing_sum += Sum(smoothing(c));
    }
  }

  void check_inputs(const Shape& shape) const {
    const Shape expected(shape.begin(), shape.end() - 1);
    check_shape(targets.shape() == expected, "cross_entropy: logits ", shape, ": expected targets ",
                expected, ", got ", targets.shape());
    check_shape(options.class_weights.empty() || options.class_weights.size() == rows.width,
                "cross_entropy: logits ", shape, ": expected ", rows.width, " class weights, got ",
                options.class_weights.size());
    for (std::size_t row = 0; row < rows.count; ++row) {
      const std::int32_t y = targets.data()[row];
      if (!counts(row) || (y >= 0 && std::size_t(y) < rows.width)) continue;
      detail::fail<ShapeError>("cross_entropy: target ", y, " at ",
                               index_text(targets.shape(), row), ": expected a class in [0, ",
                               rows.width, ") or ", options.ignore_index);
    }
  }

  bool counts(std::size_t row) const { return targets.data()[row] != options.ignore_index; }
  T class_weight(std::size_t c) const {
    return options.class_weights.empty() ? T(1) : T(options.class_weights[c]);
  }
  Sum weight_of_targets() const {
    Sum sum = 0;
    for (std::size_t row = 0; row < rows.count; ++row) {
      if (counts(row)) sum += Sum(class_weight(std::size_t(targets.data()[row])));
    }
    return sum;
  }

  Ids targets;
  CrossEntropyOptions options;
  detail::RowLayout rows{};
  Saved<T> logits;
  Tensor<T> largest, log_sum;  // the two terms of each row's lse
  Tensor<T> smoothing;         // (V): the part of t that does not depend on the target
  Sum smoothing_sum = 0;       // of `smoothing` as rounded: a row's gradient adds up to 0
  Sum inverse = 0;             // 1 / divisor; 0 when no target counts
};

}  // namespace

template <class T>
Variable<T> cross_entropy(const Variable<T>& logits, const Ids& targets,
                          const CrossEntropyOptions& options) {
  check_shape(options.label_smoothing >= 0 && options.label_smoothing < 1,
              "cross_entropy: expected 0 <= label_smoothing < 1, got ", options.label_smoothing);
  for (const double weight : options.class_weights) {
    check_shape(weight >= 0, "cross_entropy: expected class weights >= 0, got ", weight);
  }
  check_shape(!options.normalizer || *options.normalizer >= 0,
              "cross_entropy: expected normalizer >= 0, got ", options.normalizer.value_or(0));
  return apply<T>(std::make_unique<CrossEntropyOp<T>>(targets, options), {logits});
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> cross_entropy(const Variable<T>&, const Ids&, const CrossEntropyOptions&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
