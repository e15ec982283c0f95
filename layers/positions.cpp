#include <xgrad/layers/positions.hpp>

#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

template <class T>
Tensor<T> sinusoidal_positions(std::size_t max_length, std::size_t width) {
  Tensor<T> table = empty<T>({max_length, width});
  for (std::size_t p = 0; p < max_length; ++p) {
    for (std::size_t i = 0; i < width; ++i) {
      const double angle = double(p) / std::pow(10000.0, double(i - i % 2) / double(width));
      table.data()[p * width + i] = T(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

template <class T>
Positions<T>::Positions(const Scope<T>& scope, PositionKind kind, std::size_t max_length,
                        std::size_t width) {
  if (kind == PositionKind::learned) {
    weight_ = scope.parameter("weight", {max_length, width}, init::normal(0.02));
  } else if (kind == PositionKind::sinusoidal) {
    weight_ = Variable<T>(sinusoidal_positions<T>(max_length, width));
  }
}

template <class T>
Variable<T> Positions<T>::operator()(const Variable<T>& x) const {
  if (!weight_.defined()) return x;
  const std::size_t tokens = x.shape()[1];
  const std::size_t longest = weight_.shape()[0];
  check_shape(tokens <= longest, "positions: ", tokens, " tokens, but at most ", longest,
              " were planned for");
  return add(x, tokens == longest ? weight_ : slice(weight_, 0, 0, tokens));
}

#define XGRAD_INSTANTIATE(T)                                         \
  template Tensor<T> sinusoidal_positions(std::size_t, std::size_t); \
  template class Positions<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
