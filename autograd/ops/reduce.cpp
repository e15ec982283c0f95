// Sums, means and maxima of all elements, along an axis, or over the tokens that a mask keeps.
//
// Long sums run in blocks of fixed size. The sums of the blocks are summed in the same way. So the
// bits depend on the shape alone, and the rounding error grows with the number of levels, not
// elements.

#include <limits>
#include <vector>

#include <xgrad/autograd/kernels/lanes.hpp>
#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kBlock = 4096;

template <class T>
T sum_blocks(const T* x, std::size_t n) {
  if (n <= kBlock) return detail::row_sum(x, n);
  std::vector<T> blocks((n + kBlock - 1) / kBlock);
  parallel_for(n, kBlock, [&](std::size_t begin, std::size_t end) {
    blocks[begin / kBlock] = detail::row_sum(x + begin, end - begin);
  });
  return sum_blocks(blocks.data(), blocks.size());
}

// y (outer, inner) = factor times the sum of x (outer, extent, inner) over the middle axis.
template <class T>
void sum_middle(const T* x, const detail::AxisView& v, T factor, T* y) {
  constexpr std::size_t columns = 512;  // per task, so that even outer = 1 runs in parallel
  const std::size_t per_row = (v.inner + columns - 1) / columns;
  const std::size_t work = v.extent * std::min(v.inner, columns);
  parallel_for(v.outer * per_row, detail::row_grain(work), [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) {
      const std::size_t o = task / per_row;
      const std::size_t first = task % per_row * columns;
      const std::size_t count = std::min(columns, v.inner - first);
      T* out = y + o * v.inner + first;
      std::fill_n(out, count, T(0));
      for (std::size_t e = 0; e < v.extent; ++e) {
        const T* in = x + (o * v.extent + e) * v.inner + first;
#pragma omp simd
        for (std::size_t j = 0; j < count; ++j) out[j] += in[j];
      }
      for (std::size_t j = 0; j < count; ++j) out[j] *= factor;
    }
  });
}

// Sum or mean of x as (outer, extent, inner) over the middle axis.
template <class T>
struct Reduce final : Op<T> {
  Reduce(bool is_mean, std::optional<std::ptrdiff_t> axis) : is_mean(is_mean), axis(axis) {}
  const char* name() const override { return is_mean ? "mean" : "sum"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    shape = x[0].shape();
    view = axis ? detail::split_at(name(), shape, *axis) : detail::AxisView{0, 1, x[0].size(), 1};
    check_shape(!is_mean || view.extent > 0, name(), ": expected at least one element, got shape ",
                shape);
    factor = is_mean ? T(1) / T(view.extent) : T(1);
    auto y = make_value<T>(axis ? detail::without_axis(shape, view.axis) : Shape{});
    if (view.inner != 1) {
      sum_middle(x[0].data(), view, factor, y->data());
      return y;
    }
    for (std::size_t o = 0; o < view.outer; ++o) {
      y->data()[o] = factor * sum_blocks(x[0].data() + o * view.extent, view.extent);
    }
    return y;
  }

  // y_oi = factor sum_e x_oei, so dx_oei = factor dy_oi.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    Tensor<T> d = empty<T>(shape);
    const std::size_t rows = view.outer * view.extent;
    parallel_for(rows, detail::row_grain(view.inner), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const T* in = dy.data() + row / view.extent * view.inner;
        T* out = d.data() + row * view.inner;
        for (std::size_t j = 0; j < view.inner; ++j) out[j] = factor * in[j];
      }
    });
    dx.add(0, std::move(d));
  }

  bool is_mean;
  std::optional<std::ptrdiff_t> axis;
  Shape shape;
  detail::AxisView view;
  T factor = 1;
};

template <class T>
struct MaskedMean final : Op<T> {
  explicit MaskedMean(const SharedMask& mask) : mask(mask) {}
  const char* name() const override { return "masked_mean"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    shape = x[0].shape();
    check_shape(shape.size() == 3 && mask->shape() == Shape{shape[0], shape[1]},
                "masked_mean: expected x (B, N, D) and mask (B, N), got ", shape, " and ",
                mask->shape());
    const std::size_t tokens = shape[1], width = shape[2];
    weights.assign(shape[0], T(0));
    auto y = make_value<T>({shape[0], width});
    for (std::size_t b = 0; b < shape[0]; ++b) {
      T* out = y->data() + b * width;
      std::fill_n(out, width, T(0));
      std::size_t kept = 0;
      for (std::size_t n = b * tokens; n < (b + 1) * tokens; ++n) {
        if (mask->data()[n] == 0) continue;  // padding may hold anything, so it is not read
        const T* in = x[0].data() + n * width;
        for (std::size_t j = 0; j < width; ++j) out[j] += in[j];
        ++kept;
      }
      if (kept > 0) weights[b] = T(1) / T(kept);
      for (std::size_t j = 0; j < width; ++j) out[j] *= weights[b];
    }
    return y;
  }

  // y_b = 1/kept_b sum over kept n of x_bn, so dx_bn = dy_b / kept_b where kept, else 0.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const std::size_t tokens = shape[1], width = shape[2];
    Tensor<T> d = empty<T>(shape);
    for (std::size_t n = 0; n < mask->size(); ++n) {
      const T* in = dy.data() + n / tokens * width;
      T* out = d.data() + n * width;
      const T weight = mask->data()[n] == 0 ? T(0) : weights[n / tokens];
      for (std::size_t j = 0; j < width; ++j) out[j] = weight * in[j];
    }
    dx.add(0, std::move(d));
  }

  SharedMask mask;
  Shape shape;
  std::vector<T> weights;  // 1 / number of tokens kept, per sample
};

template <class T>
struct MaskedMax final : Op<T> {
  explicit MaskedMax(SharedMask mask) : mask(std::move(mask)) {}
  const char* name() const override { return "masked_max"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    shape = x[0].shape();
    check_shape(shape.size() == 3, "masked_max: expected (B, N, D), got ", shape);
    check_shape(!mask || mask->shape() == Shape{shape[0], shape[1]}, "masked_max: mask: expected ",
                Shape{shape[0], shape[1]}, ", got ", mask ? mask->shape() : Shape());
    const std::size_t tokens = shape[1], width = shape[2];
    places.assign(shape[0] * width, kNowhere);
    auto y = make_value<T>({shape[0], width});
    std::fill_n(y->data(), y->size(), T(0));
    for (std::size_t n = 0; n < shape[0] * tokens; ++n) {
      if (mask && mask->data()[n] == 0) continue;  // padding may hold anything, so it is not read
      const T* in = x[0].data() + n * width;
      T* out = y->data() + n / tokens * width;
      std::size_t* place = places.data() + n / tokens * width;
      for (std::size_t j = 0; j < width; ++j) {
        // With this condition, NaN replaces any number and then stays.
        if (place[j] != kNowhere && (in[j] <= out[j] || out[j] != out[j])) continue;
        out[j] = in[j];
        place[j] = n;
      }
    }
    return y;
  }

  // y_bj = x_bmj at the m where it is largest, so dx_bmj = dy_bj there, and 0 elsewhere.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const std::size_t width = shape[2];
    Tensor<T> d = zeros<T>(shape);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] != kNowhere) d.data()[places[i] * width + i % width] = dy.data()[i];
    }
    dx.add(0, std::move(d));
  }

  static constexpr std::size_t kNowhere = std::size_t(-1);
  SharedMask mask;
  Shape shape;
  std::vector<std::size_t> places;  // (B, D): index among B N tokens of the largest element
};

}  // namespace

template <std::floating_point T>
Variable<T> sum(const Variable<T>& x) {
  return apply<T>(std::make_unique<Reduce<T>>(false, std::nullopt), {x});
}

template <std::floating_point T>
Variable<T> sum(const Variable<T>& x, std::ptrdiff_t axis) {
  return apply<T>(std::make_unique<Reduce<T>>(false, axis), {x});
}

template <std::floating_point T>
Variable<T> mean(const Variable<T>& x) {
  return apply<T>(std::make_unique<Reduce<T>>(true, std::nullopt), {x});
}

template <std::floating_point T>
Variable<T> mean(const Variable<T>& x, std::ptrdiff_t axis) {
  return apply<T>(std::make_unique<Reduce<T>>(true, axis), {x});
}

template <class T>
Variable<T> masked_mean(const Variable<T>& x, const SharedMask& mask) {
  if (!mask) return mean(x, 1);
  return apply<T>(std::make_unique<MaskedMean<T>>(mask), {x});
}

template <class T>
Variable<T> masked_max(const Variable<T>& x, const SharedMask& mask) {
  return apply<T>(std::make_unique<MaskedMax<T>>(mask), {x});
}

template <class T>
Ids argmax(const Tensor<T>& x, std::ptrdiff_t axis) {
  const detail::AxisView view = detail::split_at("argmax", x.shape(), axis);
  check_shape(view.extent > 0, "argmax: axis ", view.axis, " of shape ", x.shape(),
              " has no elements");
  check_shape(view.extent <= std::size_t(std::numeric_limits<std::int32_t>::max()), "argmax: axis ",
              view.axis, " of shape ", x.shape(), " is too long for int32 indices");
  Ids best = empty<std::int32_t>(detail::without_axis(x.shape(), view.axis));
  for (std::size_t i = 0; i < best.size(); ++i) {
    const T* row = x.data() + i / view.inner * view.extent * view.inner + i % view.inner;
    std::size_t at = 0;
    for (std::size_t e = 1; e < view.extent; ++e) {
      const T largest = row[at * view.inner], next = row[e * view.inner];
      if (next > largest || (next != next && largest == largest)) at = e;  // NaN is the largest
    }
    best.data()[i] = std::int32_t(at);
  }
  return best;
}

#define XGRAD_INSTANTIATE(T)                                     \
  template Variable<T> sum(const Variable<T>&);                  \
  template Variable<T> sum(const Variable<T>&, std::ptrdiff_t);  \
  template Variable<T> mean(const Variable<T>&);                 \
  template Variable<T> mean(const Variable<T>&, std::ptrdiff_t); \
  template decltype(masked_mean<T>) masked_mean<T>;              \
  template decltype(masked_max<T>) masked_max<T>;                \
  template decltype(argmax<T>) argmax<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
