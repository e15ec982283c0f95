// Reads an element of a tensor that nothing has written, for valgrind_test.py to see.
#include <cstdio>

#include <xgrad/autograd/tensor.hpp>

int main() {
  const auto x = xgrad::empty<float>({1000});
  std::puts(x.data()[7] > 0 ? "above 0" : "not above 0");
}
