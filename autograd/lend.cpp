#include <xgrad/autograd/lend.hpp>

#include <new>
#include <utility>

#include <xgrad/autograd/memory/lent_block.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// Deletes a value, but not its elements.
template <class T>
struct KeepElements {
  std::shared_ptr<const void> owner;

  void operator()(Versioned<T>* value) const {
    using Storage = typename Tensor<T>::storage_type;
    union Undestroyed {
      Undestroyed() {}
      ~Undestroyed() {}
      Storage storage;
    } elements;
    new (&elements.storage) Storage(std::move(value->storage()));
    delete value;
  }
};

}  // namespace

template <class T>
std::shared_ptr<Versioned<T>> lend(const T* data, const Shape& shape,
                                   std::shared_ptr<const void> owner) {
  const std::size_t size = size_of(shape);
  if (size == 0) return std::make_shared<Versioned<T>>(empty<T>(shape));
  const std::shared_ptr<Versioned<T>> value(new Versioned<T>(Tensor<T>()),
                                            KeepElements<T>{std::move(owner)});
  const detail::LentBlock block(const_cast<T*>(data), size * sizeof(T));
  static_cast<Tensor<T>&>(*value) = empty<T>(shape);
  return value;
}

#define XGRAD_INSTANTIATE(T)                                               \
  template std::shared_ptr<Versioned<T>> lend(const T* data, const Shape&, \
                                              std::shared_ptr<const void>);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
