// Numbers that another program computed: a file of lines "name 2x3 v v v v v v", "-" for a scalar's
// shape.
#pragma once

#include <map>
#include <string>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::test {

class Golden {
 public:
  /// Reads tests/golden/`file`, or that of the directory XGRAD_GOLDEN where it is set. Throws
  /// std::runtime_error when it is missing or a line is malformed.
  explicit Golden(const std::string& file);

  /// Throws std::out_of_range when there is none of that name.
  const Tensor<double>& operator()(const std::string& name) const { return tensors_.at(name); }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  Ids ids(const std::string& name) const { return cast<std::int32_t>((*this)(name)); }
  Mask mask(const std::string& name) const { return cast<std::uint8_t>((*this)(name)); }
  /// Those whose name starts with `prefix`, by the rest of their name.
  std::map<std::string, Tensor<double>> under(const std::string& prefix) const;

 private:
  std::map<std::string, Tensor<double>> tensors_;
};

/// A number or tensor of worked_examples.txt: what the row in its name states.
const Tensor<double>& worked_example(const std::string& name);

}  // namespace xgrad::test
