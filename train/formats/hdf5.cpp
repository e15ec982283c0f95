#include <xgrad/train/formats/hdf5.hpp>

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <numeric>

#include <xgrad/autograd/check.hpp>

namespace xgrad::hdf5 {

namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>);

// Keras splits attributes here, below the 64 KiB that an object header can hold.
constexpr std::size_t kAttributeLimit = 64512;
constexpr int kDepth = 3;

std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

/// For writing, where only a defect or a lack of memory makes libhdf5 refuse.
Handle own(hid_t id, Handle::Close close, const char* what, const std::string& path) {
  check<Error>(id >= 0, "hdf5: cannot ", what, " ", path);
  return Handle(id, close);
}

void require(herr_t status, const char* what, const std::string& path) {
  check<Error>(status >= 0, "hdf5: cannot ", what, " ", path);
}

Handle property_list(hid_t kind) {
  return own(H5Pcreate(kind), H5Pclose, "create a property list", "");
}

/// Of a file, group or dataset to be made: no times, so that the same content has the same bytes.
Handle timeless(hid_t kind) {
  Handle list = property_list(kind);
  require(H5Pset_obj_track_times(list, false), "leave out times", "");
  return list;
}

Handle in_memory(std::size_t increment) {
  Handle list = property_list(H5P_FILE_ACCESS);
  require(H5Pset_fapl_core(list, increment, false), "use memory", "");
  require(H5Pset_fclose_degree(list, H5F_CLOSE_STRONG), "set the closing", "");
  return list;
}

Handle create_file(std::size_t bytes) {
  const Handle access = in_memory(bytes + (1 << 16));
  const Handle creation = timeless(H5P_FILE_CREATE);
  return own(H5Fcreate("checkpoint", H5F_ACC_TRUNC, creation, access), H5Fclose, "create",
             "a file");
}

Handle open_file(std::string_view image) {
  const Handle access = in_memory(1 << 16);
  // libhdf5 copies the image; its interface only lacks the const.
  require(H5Pset_file_image(access, const_cast<char*>(image.data()), image.size()), "set",
          "the image");
  const hid_t file = H5Fopen("checkpoint", H5F_ACC_RDONLY, access);
  check<CheckpointError>(file >= 0, "not an HDF5 file that libhdf5 can open");
  return Handle(file, H5Fclose);
}

Handle text_type(std::size_t size, H5T_str_t padding, H5T_cset_t characters) {
  Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose, "make", "a string type");
  require(H5Tset_size(type, size), "size", "a string type");
  require(H5Tset_strpad(type, padding), "pad", "a string type");
  require(H5Tset_cset(type, characters), "encode", "a string type");
  return type;
}

Handle space_of(const Shape& shape) {
  if (shape.empty()) return own(H5Screate(H5S_SCALAR), H5Sclose, "make", "a scalar");
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return own(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
             "make", "a shape");
}

template <class T>
hid_t type_of() {
  if constexpr (std::is_same_v<T, float>) return H5T_IEEE_F32LE;
  if constexpr (std::is_same_v<T, double>) return H5T_IEEE_F64LE;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_STD_I64LE;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_STD_U64LE;
}

void write_names(hid_t object, const std::string& attribute, std::size_t length,
                 const std::string* names, std::size_t count) {
  std::string padded(count * length, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(padded.data() + i * length, names[i].data(), names[i].size());
  }
  const Handle type = text_type(length, H5T_STR_NULLPAD, H5T_CSET_ASCII);
  const Handle space = space_of(Shape{count});
  const Handle made =
      own(H5Acreate2(object, attribute.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
          "create the attribute", attribute);
  require(H5Awrite(made, type, padded.data()), "write the attribute", attribute);
}

}  // namespace

Session::Session() {
  library().lock();
  H5E_auto2_t print = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &print, &print_data_);
  print_ = reinterpret_cast<void (*)()>(print);
  H5PLget_loading_state(&plugins_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

Session::~Session() {
  H5PLset_loading_state(plugins_);
  H5Eset_auto2(H5E_DEFAULT, reinterpret_cast<H5E_auto2_t>(print_), print_data_);
  library().unlock();
}

Writer::Writer(std::size_t bytes) : file_(create_file(bytes)) {}

void Writer::group(const std::string& path) {
  const Handle creation = timeless(H5P_GROUP_CREATE);
  own(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose, "create",
      path);
}

void Writer::names(const std::string& group, const std::string& attribute,
                   const std::vector<std::string>& names) {
  const Handle object = own(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), H5Gclose, "open", group);
  std::size_t length = 1;
  for (const std::string& name : names) length = std::max(length, name.size());
  check<Error>(length <= kAttributeLimit, "hdf5: a name of ", length, " bytes is too long");

  std::size_t parts = 1;
  while ((names.size() + parts - 1) / parts * length > kAttributeLimit) ++parts;
  std::size_t first = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t count = names.size() / parts + (part < names.size() % parts ? 1 : 0);
    const std::string suffix = parts == 1 ? "" : std::to_string(part);
    write_names(object, attribute + suffix, length, names.data() + first, count);
    first += count;
  }
}

void Writer::dataset(const std::string& path, std::int64_t type, const Handle& space,
                     const void* data) {
  const Handle creation = timeless(H5P_DATASET_CREATE);
  const Handle made =
      own(H5Dcreate2(file_, path.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
          H5Dclose, "create", path);
  require(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write", path);
}

void Writer::tensor(const std::string& path, const AnyTensor& tensor) {
  std::visit(
      [&]<class T>(const Tensor<T>& t) {
        dataset(path, type_of<T>(), space_of(t.shape()), t.data());
      },
      tensor);
}

void Writer::number(const std::string& path, std::uint64_t value) {
  dataset(path, type_of<std::uint64_t>(), space_of({}), &value);
}

void Writer::value(const std::string& path, const StateValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    const Handle type = text_type(text->size() + 1, H5T_STR_NULLTERM, H5T_CSET_UTF8);
    dataset(path, type, space_of({}), text->c_str());
  } else if (const auto* real = std::get_if<double>(&value)) {
    dataset(path, type_of<double>(), space_of({}), real);
  } else {
    dataset(path, type_of<std::int64_t>(), space_of({}), &std::get<std::int64_t>(value));
  }
}

std::string Writer::image() {
  require(H5Fflush(file_, H5F_SCOPE_GLOBAL), "flush", "the image");
  const ssize_t size = H5Fget_file_image(file_, nullptr, 0);
  check<Error>(size > 0, "hdf5: cannot measure the image");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const ssize_t copied = H5Fget_file_image(file_, bytes.data(), bytes.size());
  check<Error>(copied == size, "hdf5: cannot take the image");
  return bytes;
}

/// A dataset whose layout, type and size are those that Writer makes.
struct Reader::Dataset {
  std::string path;
  Handle id;
  Handle type;
  Shape shape;
  std::size_t bytes;

  template <class T>
  bool is() const {
    return H5Tequal(type, type_of<T>()) > 0;
  }

  void read(void* data) const {
    if (bytes == 0) return;
    const bool ok = H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    check<CheckpointError>(ok, path, ": libhdf5 cannot read it");
  }
};

namespace {

Handle expect(hid_t id, Handle::Close close, const std::string& path, const char* what) {
  check<CheckpointError>(id >= 0, path, ": libhdf5 cannot ", what);
  return Handle(id, close);
}

struct Link {
  std::string name;
  H5L_type_t type;
};

std::vector<Link> links_of(hid_t file, const std::string& group) {
  const auto collect = [](hid_t, const char* name, const H5L_info_t* info, void* data) -> herr_t {
    try {
      static_cast<std::vector<Link>*>(data)->push_back({name, info->type});
      return 0;
    } catch (...) {  // must not cross libhdf5
      return -1;
    }
  };
  const Handle id =
      expect(H5Gopen2(file, group.c_str(), H5P_DEFAULT), H5Gclose, group, "open the group");
  std::vector<Link> links;
  const herr_t status = H5Literate(id, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect, &links);
  check<CheckpointError>(status >= 0, group, ": libhdf5 cannot list the group");
  return links;
}

const char* describe(H5L_type_t type) {
  if (type == H5L_TYPE_SOFT) return "a soft link";
  if (type == H5L_TYPE_EXTERNAL) return "an external link";
  return "a link of unknown kind";
}

const char* describe(H5D_layout_t layout) {
  if (layout == H5D_COMPACT) return "compact";
  if (layout == H5D_CHUNKED) return "chunked";
  if (layout == H5D_VIRTUAL) return "virtual";
  return "of unknown layout";
}

void require_plain_storage(hid_t dataset, const std::string& path) {
  const Handle list = expect(H5Dget_create_plist(dataset), H5Pclose, path, "describe the dataset");
  const H5D_layout_t layout = H5Pget_layout(list);
  check<CheckpointError>(layout == H5D_CONTIGUOUS, path, ": is ", describe(layout),
                         ", not contiguous");
  check<CheckpointError>(H5Pget_external_count(list) == 0, path, ": its data are in another file");
  check<CheckpointError>(H5Pget_nfilters(list) == 0, path, ": is filtered");
}

Shape read_shape(hid_t dataset, const std::string& path) {
  const Handle space = expect(H5Dget_space(dataset), H5Sclose, path, "tell the shape");
  const H5S_class_t kind = H5Sget_simple_extent_type(space);
  check<CheckpointError>(kind == H5S_SCALAR || kind == H5S_SIMPLE, path, ": has no shape");
  const int rank = H5Sget_simple_extent_ndims(space);
  check<CheckpointError>(rank >= 0 && rank <= H5S_MAX_RANK, path, ": rank ", rank,
                         " is out of range");
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  std::array<hsize_t, H5S_MAX_RANK> most{};
  const int got = H5Sget_simple_extent_dims(space, extents.data(), most.data());
  check<CheckpointError>(got == rank, path, ": libhdf5 cannot tell the shape");
  const auto end = extents.begin() + rank;
  check<CheckpointError>(std::equal(extents.begin(), end, most.begin()), path, ": can grow");
  return Shape(extents.begin(), end);
}

/// Bytes of a shape, or SIZE_MAX where they do not fit.
std::size_t bytes_of(const Shape& shape, std::size_t element) {
  std::size_t bytes = element;
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return SIZE_MAX;
  }
  return bytes;
}

}  // namespace

Reader::Reader(std::string_view image) : image_(image), file_(open_file(image)) {
  visit("/", 0);
}

void Reader::walk(const std::string& group, int depth) {
  const std::string prefix = group == "/" ? "/" : group + "/";
  for (const Link& link : links_of(file_, group)) {
    const std::string path = prefix + link.name;
    check<CheckpointError>(link.type == H5L_TYPE_HARD, path, ": is ", describe(link.type),
                           "; a checkpoint has none");
    visit(path, depth + 1);
  }
}

void Reader::visit(const std::string& path, int depth) {
  check<CheckpointError>(depth <= kDepth, path, ": is nested deeper than a checkpoint is");
  H5O_info_t info;
  const herr_t status =
      H5Oget_info_by_name2(file_, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT);
  check<CheckpointError>(status >= 0, path, ": libhdf5 cannot open the object");
  const auto [before, fresh] = addresses_.emplace(info.addr, path);
  check<CheckpointError>(fresh, path, ": is the same object as ", before->second);

  const bool group = info.type == H5O_TYPE_GROUP;
  check<CheckpointError>(group || info.type == H5O_TYPE_DATASET, path,
                         ": is neither a group nor a dataset");
  objects_.emplace(path, group ? Kind::group : Kind::dataset);
  if (group) walk(path, depth);
}

Reader::Dataset Reader::open(const std::string& path) {
  Handle id =
      expect(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose, path, "open the dataset");
  require_plain_storage(id, path);
  Handle type = expect(H5Dget_type(id), H5Tclose, path, "tell the type");
  Shape shape = read_shape(id, path);
  const std::size_t bytes = bytes_of(shape, H5Tget_size(type));

  check<CheckpointError>(bytes <= image_.size() - claimed_, path, ": shape ", shape,
                         " needs more bytes than the file has");
  claimed_ += bytes;
  check<CheckpointError>(H5Dget_storage_size(id) == bytes, path, ": shape ", shape, " needs ",
                         bytes, " bytes, but ", std::uint64_t{H5Dget_storage_size(id)},
                         " are stored");
  const haddr_t offset = H5Dget_offset(id);
  check<CheckpointError>(bytes == 0 || (offset != HADDR_UNDEF && offset <= image_.size() - bytes),
                         path, ": its data lie outside the file");
  return {path, std::move(id), std::move(type), std::move(shape), bytes};
}

AnyTensor Reader::tensor(const std::string& path) {
  const Dataset dataset = open(path);
  const auto read = [&]<class T>(T) -> AnyTensor {
    Tensor<T> tensor = empty<T>(dataset.shape);
    dataset.read(tensor.data());
    return tensor;
  };
  if (dataset.is<float>()) return read(float{});
  if (dataset.is<double>()) return read(double{});
  detail::fail<CheckpointError>(path, ": its type is neither float32 nor float64, little-endian");
}

template <class T>
T Reader::scalar(const Dataset& dataset) {
  check<CheckpointError>(dataset.shape.empty(), dataset.path, ": has shape ", dataset.shape,
                         ", not one value");
  T value{};
  dataset.read(&value);
  return value;
}

std::uint64_t Reader::number(const std::string& path) {
  const Dataset dataset = open(path);
  check<CheckpointError>(dataset.is<std::uint64_t>(), path,
                         ": its type is not uint64, little-endian");
  return scalar<std::uint64_t>(dataset);
}

StateValue Reader::value(const std::string& path) {
  {
    const Dataset dataset = open(path);
    if (dataset.is<std::int64_t>()) return scalar<std::int64_t>(dataset);
    if (dataset.is<double>()) return scalar<double>(dataset);
    claimed_ -= dataset.bytes;
  }
  return text(path);
}

std::string Reader::text(const std::string& path) {
  const Dataset dataset = open(path);
  const bool fixed =
      H5Tget_class(dataset.type) == H5T_STRING && H5Tis_variable_str(dataset.type) == 0;
  check<CheckpointError>(fixed, path, ": its type is not int64, float64 or text");
  check<CheckpointError>(dataset.shape.empty(), path, ": has shape ", dataset.shape,
                         ", not one text");
  std::string text(dataset.bytes, '\0');
  dataset.read(text.data());
  check<CheckpointError>(text.find('\0') == text.size() - 1, path,
                         ": is not one text that ends in a zero byte");
  text.pop_back();
  return text;
}

}  // namespace xgrad::hdf5
