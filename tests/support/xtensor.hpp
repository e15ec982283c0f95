// Shared by the tests of xtensor's functions: xtensor, a value, a gradient, and a comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

#include <xgrad/autograd/ops.hpp>

#if __has_include(<xtensor/xmath.hpp>)
#include <xtensor/xaxis_iterator.hpp>
#include <xtensor/xhistogram.hpp>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xio.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmasked_view.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xnorm.hpp>
#include <xtensor/xpad.hpp>
#include <xtensor/xrandom.hpp>
#include <xtensor/xrepeat.hpp>
#include <xtensor/xset_operation.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xvectorize.hpp>
#include <xtensor/xview.hpp>
#else
#include <xtensor/core/xmath.hpp>
#include <xtensor/core/xnoalias.hpp>
#include <xtensor/core/xvectorize.hpp>
#include <xtensor/generators/xrandom.hpp>
#include <xtensor/io/xio.hpp>
#include <xtensor/misc/xhistogram.hpp>
#include <xtensor/misc/xmanipulation.hpp>
#include <xtensor/misc/xpad.hpp>
#include <xtensor/misc/xset_operation.hpp>
#include <xtensor/misc/xsort.hpp>
#include <xtensor/reducers/xnorm.hpp>
#include <xtensor/views/xaxis_iterator.hpp>
#include <xtensor/views/xindex_view.hpp>
#include <xtensor/views/xmasked_view.hpp>
#include <xtensor/views/xrepeat.hpp>
#include <xtensor/views/xview.hpp>
#endif

namespace xgrad::test {

/// Calls check(x) for a value and for a gradient with these elements.
template <class T, class Check>
void on_value_and_gradient(const Tensor<T>& elements, const Check& check) {
  const Variable<T> x(elements, true);
  sum(mul(x, Variable<T>(elements))).backward();
  check(x.value());
  check(x.grad());
}

/// Whether the elements of an expression of xtensor, in row-major order, are these numbers.
template <class E>
testing::AssertionResult are(const E& expression, std::initializer_list<double> expected) {
  if (expression.size() != expected.size()) {
    return testing::AssertionFailure() << expression.size() << " elements";
  }
  auto element = expression.template begin<xt::layout_type::row_major>();
  for (const double number : expected) {
    const auto found = double(*element++);
    if (std::abs(found - number) <= 2e-6 * (1 + std::abs(number))) continue;
    if (found == number || (std::isnan(found) && std::isnan(number))) continue;
    return testing::AssertionFailure() << found << " instead of " << number;
  }
  return testing::AssertionSuccess();
}

}  // namespace xgrad::test
