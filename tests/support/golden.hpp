// Golden: expected values computed by another program. Each line of the file is a tensor, as "name
// 2x3 v v v v v v"; the shape of a scalar is "-".
#pragma once

#include <map>
#include <string>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::test {

class Golden {
 public:
  /// Reads tests/golden/`file`, or `file` in the directory XGRAD_GOLDEN if that variable is set.
  /// Throws std::runtime_error when the file is missing or a line is malformed.
  explicit Golden(const std::string& file);

  /// The tensor of this name. Throws std::out_of_range when there is none.
  const Tensor<double>& operator()(const std::string& name) const { return tensors_.at(name); }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  Ids ids(const std::string& name) const { return cast<std::int32_t>((*this)(name)); }
  Mask mask(const std::string& name) const { return cast<std::uint8_t>((*this)(name)); }
  /// The tensors whose names start with `prefix`, under the rest of their names.
  std::map<std::string, Tensor<double>> under(const std::string& prefix) const;

 private:
  std::map<std::string, Tensor<double>> tensors_;
};

/// A tensor of worked_examples.txt: the result that the spec row in its name states.
const Tensor<double>& worked_example(const std::string& name);

}  // namespace xgrad::test
