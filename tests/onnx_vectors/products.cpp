// Products.
#include <xgrad/autograd/tensor.hpp>

#include "onnx_vectors/operators.hpp"

namespace xgrad::test {

namespace {

template <class T>
Results<T> gemm_of(const VectorCase& c) {
  const Variable<T> product = scale(
      matmul(in<T>(c, 0), in<T>(c, 1), c.number("transA", 0) != 0, c.number("transB", 0) != 0),
      T(c.number("alpha", 1)));
  if (c.inputs.size() < 3) return {product.value()};
  return {add(product, scale(in<T>(c, 2), T(c.number("beta", 1)))).value()};
}

template <class T>
Results<T> einsum_of(const VectorCase& c) {
  std::string equation = c.word("equation", "");
  std::erase(equation, ' ');
  if (equation == "ij->i") return {sum(in<T>(c, 0), 1).value()};
  if (equation == "ij->ji") return {transpose(in<T>(c, 0), {1, 0}).value()};
  if (equation == "i,i") return {sum(mul(in<T>(c, 0), in<T>(c, 1))).value()};
  if (equation == "bij,bjk->bik") return {matmul(in<T>(c, 0), in<T>(c, 1)).value()};
  throw NotOurs{"another product, " + equation};
}

}  // namespace

template <class T>
Operators<T> products() {
  using C = VectorCase;
  return {
      {"MatMul", [](const C& c) { return Results<T>{matmul(in<T>(c, 0), in<T>(c, 1)).value()}; }},
      {"Gemm", gemm_of<T>},
      {"Einsum", einsum_of<T>},
  };
}

#define XGRAD_INSTANTIATE(T) template Operators<T> products();
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::test
