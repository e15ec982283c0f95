// Ops that move elements and compute none: reshape, transpose, slice, select, concat, take and
// embedding.

#include <algorithm>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad {

namespace {

template <class T>
struct Reshape final : Op<T> {
  explicit Reshape(const Shape& shape) : shape(shape) {}
  const char* name() const override { return "reshape"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    check_shape(size_of(shape) == x[0].size(), "reshape: ", x[0].shape(), " has ", x[0].size(),
                " elements, ", shape, " has ", size_of(shape));
    Tensor<T> y = x[0];
    y.reshape(shape);
    return as_value<T>(std::move(y));
  }

  // The elements keep their order, so dx is dy in the shape of x.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    dy.reshape(dx.shape(0));
    dx.add(0, std::move(dy));
  }

  Shape shape;
};

using Axes = std::vector<std::size_t>;

// Axis i of the result is axis axes[i] of x.
template <class T>
Tensor<T> permute(const Tensor<T>& x, const Axes& axes) {
  if (axes.empty()) return x;
  const detail::Strides from = detail::broadcast_strides(x.shape(), x.shape());
  Shape shape(axes.size());
  std::array<detail::Strides, 1> strides = {detail::Strides(axes.size())};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[i] = x.shape()[axes[i]];
    strides[0][i] = from[axes[i]];
  }
  Tensor<T> y = empty<T>(shape);
  const std::size_t width = shape.back(), step = strides[0].back();
  const Shape rows(shape.begin(), shape.end() - 1);
  strides[0].pop_back();
  parallel_for(size_of(rows), detail::row_grain(width), [&](std::size_t begin, std::size_t end) {
    detail::for_each_index(rows, strides, begin, end, [&](std::size_t row, const auto& offsets) {
      const T* in = x.data() + offsets[0];
      T* out = y.data() + row * width;
      for (std::size_t j = 0; j < width; ++j) out[j] = in[j * step];
    });
  });
  return y;
}

template <class T>
struct Transposed final : Op<T> {
  explicit Transposed(const std::vector<std::ptrdiff_t>& given) : given(given) {}
  const char* name() const override { return "transpose"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const std::size_t rank = x[0].dimension();
    check_shape(given.size() == rank, "transpose: expected ", rank, " axes for shape ",
                x[0].shape(), ", got ", given.size());
    Axes axes;
    inverse.assign(rank, rank);
    for (const std::ptrdiff_t axis : given) {
      axes.push_back(detail::axis_of(name(), x[0].shape(), axis));
      check_shape(inverse[axes.back()] == rank, "transpose: axis ", axis, " of shape ",
                  x[0].shape(), " is named twice");
      inverse[axes.back()] = axes.size() - 1;
    }
    return as_value<T>(permute(x[0], axes));
  }

  // dx is dy with the axes permuted back.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override { dx.add(0, permute(dy, inverse)); }

  std::vector<std::ptrdiff_t> given;
  Axes inverse;
};

// slice takes a range along an axis; select takes one element and drops the axis.
template <class T>
struct Slice final : Op<T> {
  Slice(std::ptrdiff_t axis, std::size_t begin, std::size_t end)
      : axis(axis), begin(begin), end(end) {}
  Slice(std::ptrdiff_t axis, std::ptrdiff_t index) : axis(axis), index(index), drops_axis(true) {}
  const char* name() const override { return drops_axis ? "select" : "slice"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const detail::AxisView whole = detail::split_at(name(), x[0].shape(), axis);
    const auto extent = std::ptrdiff_t(whole.extent);
    place.assign(whole.axis, xt::all());
    if (drops_axis) {
      check_shape(-extent <= index && index < extent, "select: axis ", whole.axis, " of shape ",
                  x[0].shape(), ": expected an index from ", -extent, " to ", extent - 1, ", got ",
                  index);
      place.push_back(index < 0 ? index + extent : index);
    } else {
      check_shape(begin < end && end <= whole.extent, "slice: axis ", whole.axis, " of shape ",
                  x[0].shape(), ": expected begin < end <= ", whole.extent, ", got begin ", begin,
                  ", end ", end);
      place.push_back(xt::range(begin, end));
    }
    return as_value<T>(xt::strided_view(x[0], place));
  }

  // dx is dy inside the range and 0 outside.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    Tensor<T> d = zeros<T>(dx.shape(0));
    xt::strided_view(d, place) = dy;
    dx.add(0, std::move(d));
  }

  std::ptrdiff_t axis, index = 0;
  std::size_t begin = 0, end = 0;
  bool drops_axis = false;
  xt::xstrided_slice_vector place;
};

template <class T>
struct Concat final : Op<T> {
  explicit Concat(std::ptrdiff_t axis) : axis(axis) {}
  const char* name() const override { return "concat"; }
  const char* arguments() const override { return "parts[]"; }

  Value<T> forward(const Inputs<T>& x) override {
    check_shape(x.size() > 0, "concat: expected at least one input, got none");
    whole = detail::split_at(name(), x[0].shape(), axis);
    whole.extent = 0;
    Shape shape = x[0].shape();
    for (std::size_t p = 0; p < x.size(); ++p) {
      const Shape& got = x[p].shape();
      if (got.size() == shape.size()) shape[whole.axis] = got[whole.axis];
      check_shape(got == shape, "concat: expected equal shapes except along axis ", whole.axis,
                  ", got ", x[0].shape(), " and ", got);
      extents.push_back(got[whole.axis]);
      whole.extent += extents.back();
    }
    shape[whole.axis] = whole.extent;
    auto y = make_value<T>(shape);
    std::size_t first = 0;  // where part p begins along the axis
    for (std::size_t p = 0; p < x.size(); first += extents[p++]) {
      const std::size_t size = extents[p] * whole.inner;
      for (std::size_t o = 0; o < whole.outer; ++o) {
        std::copy_n(x[p].data() + o * size, size,
                    y->data() + (o * whole.extent + first) * whole.inner);
      }
    }
    return y;
  }

  // The gradient of each part is its slice of dy.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    std::size_t first = 0;
    for (std::size_t p = 0; p < extents.size(); first += extents[p++]) {
      if (!dx.wants(p)) continue;
      const auto target = dx.target(p);
      const std::size_t size = extents[p] * whole.inner;
      for (std::size_t o = 0; o < whole.outer; ++o) {
        const T* in = dy.data() + (o * whole.extent + first) * whole.inner;
        target.add(o * size, size, [=](std::size_t i) { return in[i]; });
      }
    }
  }

  std::ptrdiff_t axis;
  detail::AxisView whole;
  std::vector<std::size_t> extents;
};

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
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
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
Variable<T> reshape(const Variable<T>& x, const Shape& shape) {
  return apply<T>(std::make_unique<Reshape<T>>(shape), {x});
}

template <class T>
Variable<T> transpose(const Variable<T>& x, const std::vector<std::ptrdiff_t>& axes) {
  return apply<T>(std::make_unique<Transposed<T>>(axes), {x});
}

template <class T>
Variable<T> slice(const Variable<T>& x, std::ptrdiff_t axis, std::size_t begin, std::size_t end) {
  return apply<T>(std::make_unique<Slice<T>>(axis, begin, end), {x});
}

template <class T>
Variable<T> select(const Variable<T>& x, std::ptrdiff_t axis, std::ptrdiff_t index) {
  return apply<T>(std::make_unique<Slice<T>>(axis, index), {x});
}

template <class T>
Variable<T> Variable<T>::operator[](std::ptrdiff_t index) const {
  return select(*this, 0, index);
}

template <class T>
Variable<T> concat(const std::vector<Variable<T>>& parts, std::ptrdiff_t axis) {
  return apply<T>(std::make_unique<Concat<T>>(axis), parts);
}

template <class T>
Variable<T> embedding(const Variable<T>& weight, const Ids& ids) {
  return apply<T>(std::make_unique<Take<T>>(true, 0, ids), {weight});
}

template <class T>
Variable<T> take(const Variable<T>& x, std::ptrdiff_t axis, const Ids& indices) {
  return apply<T>(std::make_unique<Take<T>>(false, axis, indices), {x});
}

#define XGRAD_INSTANTIATE(T)                                          \
  template decltype(reshape<T>) reshape<T>;                           \
  template decltype(transpose<T>) transpose<T>;                       \
  template decltype(slice<T>) slice<T>;                               \
  template decltype(select<T>) select<T>;                             \
  template Variable<T> Variable<T>::operator[](std::ptrdiff_t) const; \
  template decltype(concat<T>) concat<T>;                             \
  template decltype(embedding<T>) embedding<T>;                       \
  template decltype(take<T>) take<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
