// Packed products whose B was packed before.
#pragma once

#include <limits>
#include <vector>

#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>
#include <xgrad/autograd/memory/memory.hpp>

namespace xgrad::test {

/// A kernel of detail::packed_gemm().
template <class T, class In = T>
using PackedGemm = void (*)(const detail::Product<T, In>&, void* scratch);

/// Packs B by a product without rows, and then multiplies without B.
template <class T, class In, PackedGemm<T, In> kernel>
void packed_before(const detail::Product<T, In>& product, void* scratch) {
  std::vector<T, allocators::Allocator<T>> blocks(detail::packed_size<T>(product.n, product.k),
                                                  std::numeric_limits<T>::quiet_NaN());
  detail::Product<T, In> packed = product;
  packed.blocks_of_b = blocks.data();
  packed.m = 0;
  kernel(packed, scratch);
  packed.m = product.m;
  packed.b = {};
  kernel(packed, scratch);
}

}  // namespace xgrad::test
