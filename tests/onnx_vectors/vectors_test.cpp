// Every op that ONNX has too gives what ONNX's own test vectors say.
#include <gtest/gtest.h>

#include <cstdio>

#include "onnx_vectors/operators.hpp"

namespace xgrad {
namespace {

using test::NotOurs;
using test::Operators;
using test::Results;
using test::VectorCase;
using test::VectorTensor;

template <class T>
Operators<T> all_operators() {
  Operators<T> all = test::elementwise<T>();
  all.merge(test::shapes<T>());
  all.merge(test::reductions<T>());
  all.merge(test::products<T>());
  all.merge(test::normalisation<T>());
  all.merge(test::training<T>());
  return all;
}

// The largest |x - y| / (0.1 + |y|) over all results, so that 1e-5 allows 1e-5 relative and 1e-6
// absolute; infinite where shapes differ.
template <class T>
double worst(const Results<T>& results, const std::vector<VectorTensor>& expected) {
  double off = results.empty() ? INFINITY : 0;
  for (std::size_t r = 0; r < std::min(results.size(), expected.size()); ++r) {
    if (Shape(results[r].shape()) != expected[r].shape) return INFINITY;
    for (std::size_t i = 0; i < results[r].size(); ++i) {
      const double y = expected[r].values[i], x = double(results[r].data()[i]);
      if (!(std::abs(x - y) <= 1e300)) return INFINITY;
      off = std::max(off, std::abs(x - y) / (0.1 + std::abs(y)));
    }
  }
  return off;
}

template <class T>
class Vectors : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Vectors, Scalars);

TYPED_TEST(Vectors, EveryOpAgreesWithOnnx) {
  std::vector<VectorCase> cases = test::read_vectors();
  ASSERT_FALSE(cases.empty()) << "the Debian package libonnx-testdata is not installed";
  const auto ops = all_operators<TypeParam>();
  std::map<std::string, int> passed;
  std::string left_out;
  int run = 0;
  for (VectorCase& c : cases) {
    const auto op = ops.find(c.op);
    if (op == ops.end()) continue;
    test::load_tensors(c);
    try {
      for (const VectorTensor& t : c.inputs) {
        if (!t.numbers) throw NotOurs{"another type"};
      }
      const double off = worst(op->second(c), c.outputs);
      ++run;
      EXPECT_LE(off, 1e-5) << c.name;
      passed[c.op] += off <= 1e-5;
    } catch (const NotOurs& reason) {
      left_out += "\n  " + c.name + ": " + reason.why;
    }
  }
  int total = 0;
  for (const auto& [op, count] : passed) total += count;
  std::printf("%d of %d vectors passed, of %zu operators; left out:%s\n", total, run, passed.size(),
              left_out.c_str());
  EXPECT_EQ(passed.size(), ops.size());
  EXPECT_GE(run, 280);  // all of Debian 12; 13 has more
}

}  // namespace
}  // namespace xgrad
