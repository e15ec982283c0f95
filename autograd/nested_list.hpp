// tensor<float>({{1, 2}, {3, 4}}): tensors from nested lists of elements.
#pragma once

#include <initializer_list>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// A number or a list of NestedLists, which nested braces convert to.
template <class T>
class NestedList {
 public:
  /// A number, of shape ().
  NestedList(T value) : value_(value) {}
  /// A list, of shape (number of items, shape of an item). Throws ShapeError when the items' shapes
  /// differ.
  NestedList(std::initializer_list<NestedList> items) : items_(items), shape_{items.size()} {
    for (const NestedList& item : items_) {
      check_shape(item.shape_ == items_[0].shape_, "tensor: expected items of one shape, got ",
                  items_[0].shape_, " and ", item.shape_);
    }
    if (items_.empty()) return;
    shape_.insert(shape_.end(), items_[0].shape_.begin(), items_[0].shape_.end());
  }

  /// The shape of the tensor that the elements make.
  const Shape& shape() const { return shape_; }

  /// Writes the elements in row-major order and returns the end of the output.
  T* copy_to(T* out) const {
    if (shape_.empty()) *out++ = value_;
    for (const NestedList& item : items_) out = item.copy_to(out);
    return out;
  }

 private:
  T value_ = T(0);
  std::vector<NestedList> items_;
  Shape shape_;
};

/// A tensor of the given elements, where each level of braces is an axis: tensor<float>({{1, 2},
/// {3, 4}}) has shape (2, 2), tensor<float>({1, 2}) shape (2) and tensor<float>(1) shape (). Throws
/// ShapeError when lists of one level differ in shape.
template <class T>
Tensor<T> tensor(const NestedList<T>& elements) {
  Tensor<T> result = empty<T>(elements.shape());
  elements.copy_to(result.data());
  return result;
}

}  // namespace xgrad
