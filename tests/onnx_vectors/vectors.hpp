// ONNX's own test vectors, as Debian's libonnx-testdata installs them: one operator, its inputs,
// and what must come out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::test {

inline constexpr const char* kVectors = "/usr/share/libonnx-testdata/data/node";

struct VectorTensor {
  Shape shape;
  std::vector<double> values;
  bool numbers = true;  ///< false: of a type that is none of float, double, int32, int64 and bool

  template <class T>
  Tensor<T> as() const {
    Tensor<T> tensor = empty<T>(shape);
    for (std::size_t i = 0; i < values.size(); ++i) tensor.data()[i] = T(values[i]);
    return tensor;
  }
  std::int64_t integer(std::size_t i = 0) const { return std::int64_t(values.at(i)); }
};

struct VectorCase {
  std::string name;
  std::string op;
  std::map<std::string, double> numbers;  ///< attributes, by their kind
  std::map<std::string, std::vector<std::int64_t>> lists;
  std::map<std::string, std::string> words;
  std::vector<VectorTensor> inputs, outputs;

  double number(const std::string& attribute, double fallback) const;
  std::string word(const std::string& attribute, const std::string& fallback) const;
};

/// All cases of one operator, by name, without their tensors; empty where the package is not
/// installed.
std::vector<VectorCase> read_vectors();
/// Reads inputs and outputs.
void load_tensors(VectorCase& one);

}  // namespace xgrad::test
