#include <xgrad/data/dataset.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {

const char* to_string(Split split) {
  switch (split) {
    case Split::train:
      return "train";
    case Split::validation:
      return "validation";
    case Split::test:
      return "test";
  }
  detail::fail<ShapeError>("Split: there is no split ", int(split));
}

std::size_t Dataset::length(std::size_t index, const TaskShape& shape) const {
  return length_of(get(0, index), shape);
}

}  // namespace xgrad
