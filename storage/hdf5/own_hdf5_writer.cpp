#include <xgrad/storage/hdf5/own_hdf5.hpp>

#include <hdf5.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/range.hpp>

namespace xgrad {

namespace {

using detail::Hdf5Handle;

static_assert(std::is_same_v<hid_t, std::int64_t>);

// Keras splits attributes at this size, below the 64 KiB limit of an object header.
constexpr std::size_t kAttributeLimit = 64512;

std::mutex library;  // guards libhdf5, which may be built without its own lock

void require(herr_t status, const char* what, const std::string& path) {
  check<Error>(status >= 0, "hdf5: cannot ", what, " ", path);
}

Hdf5Handle own(hid_t id, Hdf5Handle::Close close, const char* what, const std::string& path) {
  require(id >= 0 ? 0 : -1, what, path);
  return Hdf5Handle(id, close);
}

Hdf5Handle property_list(hid_t kind) {
  return own(H5Pcreate(kind), H5Pclose, "create", "a property list");
}

/// Returns a property list without times, so that the same content has the same bytes.
Hdf5Handle timeless(hid_t kind) {
  Hdf5Handle list = property_list(kind);
  require(H5Pset_obj_track_times(list, false), "leave out", "times");
  return list;
}

// Checks that libhdf5 will have memory besides the image: without it, libhdf5 may crash.
void need_memory() {
  // The compiler would remove the allocation without volatile.
  void* const volatile room = std::malloc(8 << 20);
  if (room == nullptr) throw std::bad_alloc();
  std::free(room);
}

// For reading an image. By default, libhdf5 copies it twice: for its property list and to open it.
void* lend(std::size_t, H5FD_file_image_op_t, void* image) {
  return image;
}
void* leave(void* to, const void*, std::size_t, H5FD_file_image_op_t, void*) {
  return to;
}

// For writing an image, which grows. The memory is a string, which the writer returns at the end
// without a copy.
void* grow(void*, std::size_t size, H5FD_file_image_op_t, void* image) try {
  auto& bytes = *static_cast<std::string*>(image);
  bytes.resize(size);
  return bytes.data();
} catch (const std::bad_alloc&) {
  return nullptr;
}

// The memory stays ours: libhdf5 neither frees nor copies the image or the callbacks' `udata`.
constexpr H5FD_file_image_callbacks_t kOurs = {
    lend,
    leave,
    grow,
    [](void*, H5FD_file_image_op_t, void*) -> herr_t { return 0; },
    [](void* image) { return image; },
    [](void*) -> herr_t { return 0; },
    nullptr};

// Creates a file whose bytes are in `image`. It will have about `bytes` bytes.
Hdf5Handle create_image(std::size_t bytes, std::string& image) {
  need_memory();
  image.reserve(bytes + (1 << 17));  // with room for what a caller appends
  const Hdf5Handle access = property_list(H5P_FILE_ACCESS);
  H5FD_file_image_callbacks_t memory = kOurs;
  memory.udata = &image;
  require(H5Pset_file_image_callbacks(access, &memory), "use", "memory");
  require(H5Pset_fapl_core(access, bytes + (1 << 16), /*backing_store=*/false), "use", "memory");
  require(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), "set",
          "the format");
  require(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "set", "the closing");
  const Hdf5Handle creation = timeless(H5P_FILE_CREATE);
  return own(H5Fcreate("xgrad-checkpoint", H5F_ACC_TRUNC, creation, access), H5Fclose, "create",
             "a file");
}

Hdf5Handle text_type(std::size_t size, H5T_str_t padding, H5T_cset_t characters) {
  Hdf5Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose, "make", "a string type");
  require(H5Tset_size(type, size), "size", "a string type");
  require(H5Tset_strpad(type, padding), "pad", "a string type");
  require(H5Tset_cset(type, characters), "encode", "a string type");
  return type;
}

Hdf5Handle space_of(const Shape& shape) {
  if (shape.empty()) return own(H5Screate(H5S_SCALAR), H5Sclose, "make", "a scalar");
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return own(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
             "make", "a shape");
}

void write_names(hid_t object, const std::string& attribute, std::size_t length,
                 const std::string* names, std::size_t count) {
  std::string padded(count * length, '\0');
  for (std::size_t i = 0; i < count; ++i) names[i].copy(padded.data() + i * length, length);
  const Hdf5Handle type = text_type(length, H5T_STR_NULLPAD, H5T_CSET_ASCII);
  const Hdf5Handle space = space_of(Shape{count});
  const Hdf5Handle made =
      own(H5Acreate2(object, attribute.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
          "create the attribute", attribute);
  require(H5Awrite(made, type, padded.data()), "write the attribute", attribute);
}

/// While an instance is alive, this thread has exclusive use of libhdf5, and libhdf5 prints no
/// errors. Afterwards it prints errors again as the host program has set.
class Session {
 public:
  Session() : lock_(library) {
    need_memory();
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Session() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace

Hdf5Handle detail::open_image(std::string_view image) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5FD_file_image_callbacks_t memory = kOurs;
  memory.udata = const_cast<char*>(image.data());  // libhdf5 only reads the image
  const bool ready = H5Pset_fapl_core(access, 1 << 16, false) >= 0 &&
                     H5Pset_file_image_callbacks(access, &memory) >= 0 &&
                     H5Pset_file_image(access, memory.udata, image.size()) >= 0;
  return {ready ? H5Fopen("/image", H5F_ACC_RDONLY, access) : -1, H5Fclose};
}

Hdf5Writer::Hdf5Writer(std::size_t bytes)
    : session_(std::make_shared<Session>()), file_(create_image(bytes, image_)) {}

void Hdf5Writer::group(const std::string& path) {
  if (!groups_.insert(path).second) return;
  group(path.substr(0, path.rfind('/')));
  const Hdf5Handle creation = timeless(H5P_GROUP_CREATE);
  own(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose, "create",
      path);
}

void Hdf5Writer::dataset(const std::string& path, std::int64_t type, const Shape& shape,
                         const void* data) {
  group(path.substr(0, path.rfind('/')));
  const Hdf5Handle creation = timeless(H5P_DATASET_CREATE), space = space_of(shape);
  const Hdf5Handle made =
      own(H5Dcreate2(file_, path.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
          H5Dclose, "create", path);
  require(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write", path);
}

void Hdf5Writer::names(const std::string& to, const std::string& attribute,
                       const std::vector<std::string>& names) {
  group(to);
  const Hdf5Handle object = own(H5Gopen2(file_, to.c_str(), H5P_DEFAULT), H5Gclose, "open", to);
  std::size_t length = 1, parts = 1;
  for (const std::string& name : names) length = std::max(length, name.size());
  while ((names.size() + parts - 1) / parts * length > kAttributeLimit) ++parts;
  for (std::size_t part = 0; part < parts; ++part) {
    const Range own = share(names.size(), part, parts);
    const std::string suffix = parts == 1 ? "" : std::to_string(part);
    write_names(object, attribute + suffix, length, names.data() + own.begin, own.size());
  }
}

void Hdf5Writer::tensor(const std::string& path, const AnyTensor& tensor) {
  const bool single = std::holds_alternative<Tensor<float>>(tensor);
  dataset(path, single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, shape_of(tensor),
          bytes_of(tensor).data());
}

void Hdf5Writer::number(const std::string& path, std::uint64_t value) {
  dataset(path, H5T_STD_U64LE, {}, &value);
}

void Hdf5Writer::value(const std::string& path, const StateValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    const Hdf5Handle type = text_type(text->size() + 1, H5T_STR_NULLTERM, H5T_CSET_UTF8);
    dataset(path, type, {}, text->c_str());
  } else if (const auto* real = std::get_if<double>(&value)) {
    dataset(path, H5T_IEEE_F64LE, {}, real);
  } else {
    dataset(path, H5T_STD_I64LE, {}, &std::get<std::int64_t>(value));
  }
}

std::string Hdf5Writer::take_image() {
  require(H5Fflush(file_, H5F_SCOPE_GLOBAL), "flush", "the image");
  const ssize_t size = H5Fget_file_image(file_, nullptr, 0);
  check<Error>(size > 0, "hdf5: cannot get the size of the file image");
  file_.close();  // libhdf5 writes no more
  image_.resize(static_cast<std::size_t>(size));
  return std::move(image_);
}

}  // namespace xgrad
