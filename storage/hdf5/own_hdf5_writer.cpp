#include <xgrad/storage/hdf5/own_hdf5.hpp>

#include <hdf5.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/hdf5/hdf5_handle.hpp>

namespace xgrad {

namespace {

using detail::Hdf5Handle;

static_assert(std::is_same_v<hid_t, std::int64_t>);

// Keras splits attributes at this size, below the 64 KiB limit of an object header.
constexpr std::size_t kAttributeLimit = 64512;

// libhdf5 may be built without a lock of its own.
std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

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

// Memory that libhdf5 needs besides the image. It may crash when out of memory, so test beforehand.
constexpr std::size_t kLibraryBytes = 8 << 20;

void need_memory(std::size_t bytes) {
  // The compiler would remove the allocation without volatile.
  void* const volatile room = std::malloc(bytes);
  if (room == nullptr) throw std::bad_alloc();
  std::free(room);
}

// Makes a file in memory larger for libhdf5. The memory is a string, which the writer gives away at
// the end without a copy.
void* grow(void*, std::size_t size, H5FD_file_image_op_t, void* image) try {
  auto& bytes = *static_cast<std::string*>(image);
  bytes.resize(size);
  return bytes.data();
} catch (const std::bad_alloc&) {
  return nullptr;
}

// The string keeps the memory, so libhdf5 neither frees nor copies it.
herr_t keep(void*, H5FD_file_image_op_t, void*) {
  return 0;
}
void* share(void* image) {
  return image;
}
herr_t unshare(void*) {
  return 0;
}

// Creates a file whose bytes are in `image`, about as many as given.
Hdf5Handle create_file(std::size_t bytes, std::string& image) {
  need_memory(kLibraryBytes);
  image.reserve(bytes + (1 << 17));  // what a caller appends finds room, too
  const Hdf5Handle access = property_list(H5P_FILE_ACCESS);
  H5FD_file_image_callbacks_t memory = {nullptr, nullptr, grow, keep, share, unshare, &image};
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
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(padded.data() + i * length, names[i].data(), names[i].size());
  }
  const Hdf5Handle type = text_type(length, H5T_STR_NULLPAD, H5T_CSET_ASCII);
  const Hdf5Handle space = space_of(Shape{count});
  const Hdf5Handle made =
      own(H5Acreate2(object, attribute.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
          "create the attribute", attribute);
  require(H5Awrite(made, type, padded.data()), "write the attribute", attribute);
}

/// While an instance is alive, this thread has exclusive use of libhdf5, and libhdf5 prints no
/// errors. Afterwards it prints as the host program had set it to.
class Session {
 public:
  Session() : lock_(library()) {
    need_memory(kLibraryBytes);
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

struct Hdf5Writer::Impl {
  explicit Impl(std::size_t bytes) : file(create_file(bytes, image)) {}

  void add_group(const std::string& path) {
    if (!groups.insert(path).second) return;
    add_group(path.substr(0, path.rfind('/')));
    const Hdf5Handle creation = timeless(H5P_GROUP_CREATE);
    own(H5Gcreate2(file, path.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose, "create",
        path);
  }

  void dataset(const std::string& path, hid_t type, const Shape& shape, const void* data) {
    add_group(path.substr(0, path.rfind('/')));
    const Hdf5Handle creation = timeless(H5P_DATASET_CREATE), space = space_of(shape);
    const Hdf5Handle made =
        own(H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
            H5Dclose, "create", path);
    require(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write", path);
  }

  Session session;
  std::string image;  // libhdf5 writes into it
  Hdf5Handle file;
  std::set<std::string> groups = {"", "/"};
};

Hdf5Writer::Hdf5Writer(std::size_t bytes) : impl_(std::make_unique<Impl>(bytes)) {}
Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::group(const std::string& path) {
  impl_->add_group(path);
}

void Hdf5Writer::names(const std::string& group, const std::string& attribute,
                       const std::vector<std::string>& names) {
  impl_->add_group(group);
  const Hdf5Handle object =
      own(H5Gopen2(impl_->file, group.c_str(), H5P_DEFAULT), H5Gclose, "open", group);
  std::size_t length = 1, parts = 1, first = 0;
  for (const std::string& name : names) length = std::max(length, name.size());
  while ((names.size() + parts - 1) / parts * length > kAttributeLimit) ++parts;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t count = names.size() / parts + (part < names.size() % parts ? 1 : 0);
    const std::string suffix = parts == 1 ? "" : std::to_string(part);
    write_names(object, attribute + suffix, length, names.data() + first, count);
    first += count;
  }
}

void Hdf5Writer::tensor(const std::string& path, const AnyTensor& tensor) {
  const bool single = std::holds_alternative<Tensor<float>>(tensor);
  impl_->dataset(path, single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, shape_of(tensor),
                 bytes_of(tensor).data());
}

void Hdf5Writer::number(const std::string& path, std::uint64_t value) {
  impl_->dataset(path, H5T_STD_U64LE, {}, &value);
}

void Hdf5Writer::value(const std::string& path, const StateValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    const Hdf5Handle type = text_type(text->size() + 1, H5T_STR_NULLTERM, H5T_CSET_UTF8);
    impl_->dataset(path, type, {}, text->c_str());
  } else if (const auto* real = std::get_if<double>(&value)) {
    impl_->dataset(path, H5T_IEEE_F64LE, {}, real);
  } else {
    impl_->dataset(path, H5T_STD_I64LE, {}, &std::get<std::int64_t>(value));
  }
}

std::string Hdf5Writer::take_image() {
  require(H5Fflush(impl_->file, H5F_SCOPE_GLOBAL), "flush", "the image");
  const ssize_t size = H5Fget_file_image(impl_->file, nullptr, 0);
  check<Error>(size > 0, "hdf5: cannot get the size of the file image");
  impl_->file.close();  // libhdf5 writes no more
  impl_->image.resize(static_cast<std::size_t>(size));
  return std::move(impl_->image);
}

}  // namespace xgrad
