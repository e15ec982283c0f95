#include <xgrad/data/dataset.hpp>

#include <xgrad/autograd/check.hpp>

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
  detail::fail<ShapeError>("Split: no split has the number ", int(split));
}

}  // namespace xgrad
