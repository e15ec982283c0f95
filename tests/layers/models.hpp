// Inputs that tests of models share.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::test {

/// (B, tokens): the first lengths[b] of each row are tokens.
inline std::shared_ptr<const Mask> lengths(const std::vector<std::size_t>& lengths,
                                           std::size_t tokens) {
  auto mask = std::make_shared<Mask>(empty<std::uint8_t>({lengths.size(), tokens}));
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::size_t n = 0; n < tokens; ++n) mask->data()[b * tokens + n] = n < lengths[b];
  }
  return mask;
}

}  // namespace xgrad::test
