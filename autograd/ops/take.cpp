// take reads elements along an axis; embedding reads rows of a matrix, and is take along axis 0.

#include <algorithm>

#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/autograd/kernels/elementwise.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// x as (outer, extent, inner), the result as (outer, count, inner): y_oki = x_o,index_k,i.
template <class T>
struct Take final : Op<T> {
  Take(bool is_embedding, std::ptrdiff_t axis, const Ids& indices)
      : is_embedding(is_embedding), axis(axis), indices(indices) {}
  const char* name() const override { return is_embedding ? "embedding" : "take"; }
  const char* arguments() const override { return is_embedding ? "weight" : "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const Shape& from = x[0].shape();
    check_shape(!is_embedding || from.size() == 2, "embedding: weight: expected (V, D), got ",
                from);
    view = detail::split_at(name(), from, axis);
    check_indices();
    const auto at = from.begin() + std::ptrdiff_t(view.axis);
    Shape shape(from.begin(), at);
    shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
    shape.insert(shape.end(), at + 1, from.end());
    auto y = make_value<T>(shape);
    const std::size_t count = indices.size();
    parallel_for(view.outer * count, detail::row_grain(view.inner),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t row = begin; row < end; ++row) {
                     const auto index = std::size_t(indices.data()[row % count]);
                     std::copy_n(x[0].data() + (row / count * view.extent + index) * view.inner,
                                 view.inner, y->data() + row * view.inner);
                   }
                 });
    return y;
  }

  // dx_oei is the sum of dy_oki over all k with index_k = e. A task owns some columns of one
  // (extent, inner) of dx and adds in the order of k, so the bits do not depend on the tasks.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const auto target = dx.target(0);
    const std::size_t count = indices.size();
    const std::size_t work = std::max<std::size_t>(
        1, count + (target.beta() == T(0) ? view.extent : 0));  // rows that a task touches
    const std::size_t columns = std::max<std::size_t>(1, 1024 / work) * 32;
    const std::size_t per_row = (view.inner + columns - 1) / columns;
    const auto add_columns = [&](std::size_t task) {
      const std::size_t first = task % per_row * columns;
      const std::size_t width = std::min(columns, view.inner - first);
      const std::size_t start = task / per_row * view.extent * view.inner + first;
      for (std::size_t e = 0; e < view.extent; ++e) target.sums(start + e * view.inner, width);
      const T* term = dy.data() + task / per_row * count * view.inner + first;
      for (std::size_t k = 0; k < count; ++k, term += view.inner) {
        T* const sum = target.data() + start + std::size_t(indices.data()[k]) * view.inner;
#pragma omp simd
        for (std::size_t i = 0; i < width; ++i) sum[i] += term[i];
      }
    };
    parallel_for(view.outer * per_row, detail::row_grain(work * std::min(view.inner, columns)),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t task = begin; task < end; ++task) add_columns(task);
                 });
  }

  void check_indices() const {
    const char* const what = is_embedding ? "id" : "index";
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int32_t index = indices.data()[i];
      if (index >= 0 && std::size_t(index) < view.extent) continue;
      detail::fail<ShapeError>(name(), ": ", what, " ", index, " at ",
                               index_text(indices.shape(), i), ": expected an ", what, " in [0, ",
                               view.extent, ")");
    }
  }

  bool is_embedding;
  std::ptrdiff_t axis;
  Ids indices;
  detail::AxisView view;
};

}  // namespace

template <class T>
Variable<T> embedding(const Variable<T>& weight, const Ids& ids) {
  return apply<T>(std::make_unique<Take<T>>(true, 0, ids), {weight});
}

template <class T>
Variable<T> take(const Variable<T>& x, std::ptrdiff_t axis, const Ids& indices) {
  return apply<T>(std::make_unique<Take<T>>(false, axis, indices), {x});
}

#define XGRAD_INSTANTIATE(T)                                      \
  template Variable<T> embedding(const Variable<T>&, const Ids&); \
  template Variable<T> take(const Variable<T>&, std::ptrdiff_t, const Ids&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
