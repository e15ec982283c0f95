#include <algorithm>

#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Embedding final : Op<T> {
  explicit Embedding(const Ids& ids) : ids(ids) {}
  const char* name() const override { return "embedding"; }
  const char* arguments() const override { return "weight"; }

  Value<T> forward(const Inputs<T>& in) override {
    const Shape& weight = in[0].shape();
    check_shape(weight.size() == 2, "embedding: weight: expected (V, D), got ", weight);
    vocabulary = weight[0];
    width = weight[1];
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int32_t id = ids.data()[i];
      if (id >= 0 && std::size_t(id) < vocabulary) continue;
      detail::fail<ShapeError>("embedding: id ", id, " at ", index_text(ids.shape(), i),
                               ": expected an id in [0, ", vocabulary, ")");
    }
    Shape shape = ids.shape();
    shape.push_back(width);
    auto y = make_value<T>(shape);
    parallel_for(ids.size(), detail::Rows{ids.size(), width}.grain(),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     std::copy_n(in[0].data() + std::size_t(ids.data()[i]) * width, width,
                                 y->data() + i * width);
                   }
                 });
    return y;
  }

  // y_i = weight[id_i], so dweight[v] is the sum of dy_i over all i with id_i = v. Blocks of
  // columns run in parallel. Each adds in the order of i, so the bits do not depend on the blocks.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const auto target = dx.target(0);
    const std::size_t work = std::max<std::size_t>(1, ids.size() + (target.fresh ? vocabulary : 0));
    const std::size_t columns = std::max<std::size_t>(1, 1024 / work) * 32;
    parallel_for(width, columns, [&](std::size_t begin, std::size_t end) {
      if (target.fresh) {
        for (std::size_t v = 0; v < vocabulary; ++v) {
          std::fill_n(target.data + v * width + begin, end - begin, T(0));
        }
      }
      for (std::size_t i = 0; i < ids.size(); ++i) {
        T* sum = target.data + std::size_t(ids.data()[i]) * width;
        const T* term = dy.data() + i * width;
#pragma omp simd
        for (std::size_t j = begin; j < end; ++j) sum[j] += term[j];
      }
    });
  }

  Ids ids;
  std::size_t vocabulary = 0, width = 0;
};

}  // namespace

template <class T>
Variable<T> embedding(const Variable<T>& weight, const Ids& ids) {
  return apply<T>(std::make_unique<Embedding<T>>(ids), {weight});
}

#define XGRAD_INSTANTIATE(T) template Variable<T> embedding(const Variable<T>&, const Ids&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
