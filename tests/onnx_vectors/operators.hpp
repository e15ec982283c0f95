// xgrad's ops by the names of ONNX's operators.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <xgrad/autograd/ops.hpp>

#include "onnx_vectors/vectors.hpp"

namespace xgrad::test {

/// A case asks for something that xgrad's op does not have.
struct NotOurs {
  std::string why;
};

template <class T>
using Results = std::vector<Tensor<T>>;
/// What xgrad gives for a case.
template <class T>
using Run = std::function<Results<T>(const VectorCase&)>;
template <class T>
using Operators = std::map<std::string, Run<T>>;

template <class T>
Operators<T> elementwise();
template <class T>
Operators<T> shapes();
template <class T>
Operators<T> reductions();
template <class T>
Operators<T> products();
template <class T>
Operators<T> normalisation();
template <class T>
Operators<T> training();

/// Input i of a case.
template <class T>
Variable<T> in(const VectorCase& c, std::size_t i) {
  return Variable<T>(c.inputs.at(i).as<T>());
}
/// An axis counted from either end.
std::size_t axis_of(double axis, std::size_t rank);
/// The same with one axis brought to the end.
template <class T>
Variable<T> to_end(const Variable<T>& x, std::size_t axis);
/// And back.
template <class T>
Variable<T> from_end(const Variable<T>& x, std::size_t axis);

}  // namespace xgrad::test
