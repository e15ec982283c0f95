// Conditions for EXPECT_TRUE: gradients agree, an exception has a certain message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <xgrad/autograd/gradcheck/gradcheck.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

/// Whether check_gradients() passes:
///
///     EXPECT_TRUE(gradients_agree([](const auto& x) { return add(x[0], x[1]); }, {a, b}));
template <class F>
testing::AssertionResult gradients_agree(const F& f, const std::vector<Tensor<double>>& inputs,
                                         const GradcheckOptions& options = {}) {
  const GradientReport report = check_gradients(f, inputs, options);
  if (report.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "gradients disagree\n" << report.table();
}

/// Whether `call` throws an Exception whose message contains `text`.
template <class Exception, class Call>
testing::AssertionResult throws_with(const Call& call, const std::string& text) {
  try {
    call();
  } catch (const Exception& error) {
    if (std::string(error.what()).find(text) != std::string::npos)
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << "the message '" << error.what() << "' lacks '" << text << "'";
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << "another exception was thrown: " << error.what();
  }
  return testing::AssertionFailure() << "nothing was thrown; expected '" << text << "'";
}

}  // namespace xgrad::test
