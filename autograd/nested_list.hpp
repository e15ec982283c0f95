// tensor<float>({{1, 2}, {3, 4}}): tensors from nested lists of elements.
#pragma once

#include <algorithm>
#include <initializer_list>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// A tensor that nested braces convert to.
template <class T>
struct NestedList {
  /// A number, of shape ().
  NestedList(T value) : tensor(full(Shape{}, value)) {}
  /// A list, of shape (number of items, shape of an item). Throws ShapeError when the items' shapes
  /// differ.
  NestedList(std::initializer_list<NestedList> items) {
    const Shape first = items.size() == 0 ? Shape{} : items.begin()->tensor.shape();
    Shape shape(1 + first.size(), items.size());
    std::copy(first.begin(), first.end(), shape.begin() + 1);
    tensor = empty<T>(shape);
    T* out = tensor.data();
    for (const NestedList& item : items) {
      check_shape(item.tensor.shape() == first, "tensor: expected items of one shape, got ", first,
                  " and ", item.tensor.shape());
      out = std::copy_n(item.tensor.data(), item.tensor.size(), out);
    }
  }

  Tensor<T> tensor;  ///< the elements
};

/// A tensor of the given elements. Each level of braces is an axis: tensor<float>({{1, 2}, {3, 4}})
/// has shape (2, 2), tensor<float>({1, 2}) shape (2) and tensor<float>(1) shape (). Throws
/// ShapeError when lists of one level differ in shape.
template <class T>
Tensor<T> tensor(const NestedList<T>& elements) {
  return elements.tensor;
}

}  // namespace xgrad
