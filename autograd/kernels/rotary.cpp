#include <xgrad/autograd/kernels/rotary.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad::detail {

template <class T>
RotaryTable<T>::RotaryTable(std::size_t first, std::size_t tokens, std::size_t head_dim,
                            double base)
    : head_dim_(head_dim), table_(empty<T>({tokens, head_dim})) {
  for (std::size_t i = 0; i < head_dim; i += 2) {
    const double step = std::pow(base, -double(i) / double(head_dim));
    for (std::size_t n = 0; n < tokens; ++n) {
      table_(n, i) = T(std::cos(double(first + n) * step));
      table_(n, i + 1) = T(std::sin(double(first + n) * step));
    }
  }
}

template <class T>
void RotaryTable<T>::rotate(const T* x, T* y, std::size_t rows, std::size_t width,
                            std::size_t heads, T sign) const {
  const std::size_t tokens = table_.shape()[0], head_dim = head_dim_;
  parallel_for(rows, row_grain(width), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const T* turn = table_.data() + row % tokens * head_dim;
      const T* in = x + row * width;
      T* out = y + row * width;
      for (std::size_t h = 0; h < heads; ++h, in += head_dim, out += head_dim) {
#pragma omp simd
        for (std::size_t i = 0; i < head_dim; i += 2) {
          const T a = in[i], b = in[i + 1], c = turn[i], s = sign * turn[i + 1];
          out[i] = a * c - b * s;
          out[i + 1] = a * s + b * c;
        }
      }
      if (out != in) std::copy(in, x + (row + 1) * width, out);
    }
  });
}

#define XGRAD_INSTANTIATE(T) template class RotaryTable<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::detail
