// Datasets of HDF5 files that other programs wrote.
#include <hdf5.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/files/arrays.hpp>

namespace xgrad {

namespace {

constexpr hsize_t kMostPerByte = 1100;  // what deflate can make of a byte, at most, is 1032

/// An identifier of libhdf5's, closed at the end.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// While it lives libhdf5 prints nothing and loads no plug-ins.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLget_loading_state(&plugins_);
    H5PLset_loading_state(0);
  }
  ~Quiet() {
    H5PLset_loading_state(plugins_);
    H5Eset_auto2(H5E_DEFAULT, print_, data_);
  }
  Quiet(const Quiet&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
  unsigned plugins_ = 0;
};

class Reader {
 public:
  Reader(const std::string& file, const std::string& dataset)
      : place_(file + ": dataset \"" + dataset + "\""),
        file_(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {
    check<DataError>(file_ >= 0, file, ": is not an HDF5 file, or damaged");
    check_links(dataset);
    dataset_ = H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT);
    require(dataset_ >= 0, "is not a dataset");
  }
  ~Reader() {
    if (dataset_ >= 0) H5Dclose(dataset_);
  }
  Reader(const Reader&) = delete;

  Array read() {
    check_storage();
    const Handle space(H5Dget_space(dataset_), H5Sclose), type(H5Dget_type(dataset_), H5Tclose);
    require(H5Sget_simple_extent_type(space) == H5S_SIMPLE, "has no rows");
    hsize_t extents[H5S_MAX_RANK] = {};
    const int rank = H5Sget_simple_extent_dims(space, extents, nullptr);
    require(rank >= 1 && rank <= 3, "must have from 1 to 3 extents");
    Array array;
    array.extents.assign(extents, extents + rank);
    std::size_t count = 1;
    for (std::size_t extent : array.extents) {
      require(!__builtin_mul_overflow(count, extent, &count), "is too large");
    }
    check_size(count, H5Tget_size(type));
    const H5T_class_t kind = H5Tget_class(type);
    require(kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_STRING || kind == H5T_ENUM,
            "holds neither numbers nor strings");
    array.text = kind == H5T_STRING;
    array.whole = kind == H5T_INTEGER || kind == H5T_ENUM;
    if (array.text) {
      read_texts(array, count, type, space);
    } else {
      // An enumeration, as h5py's booleans are, converts through its integers.
      const Handle base(kind == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type), H5Tclose);
      read_numbers(array, count, kind == H5T_ENUM, base);
    }
    return array;
  }

 private:
  void require(bool ok, const char* what) const { check<DataError>(ok, place_, ": ", what); }

  // Only hard links: no other file is opened and no link is followed in a circle.
  void check_links(const std::string& dataset) {
    require(!dataset.empty() && dataset.find('\0') == std::string::npos, "has no name");
    for (std::size_t end = dataset.find('/', 1);; end = dataset.find('/', end + 1)) {
      const std::string part = dataset.substr(0, end);
      H5L_info_t info;
      require(H5Lget_info(file_, part.c_str(), &info, H5P_DEFAULT) >= 0, "does not exist");
      require(info.type == H5L_TYPE_HARD, "is reached through a soft or external link");
      if (end == std::string::npos) return;
    }
  }

  void check_storage() {
    const Handle list(H5Dget_create_plist(dataset_), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(list);
    require(layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED || layout == H5D_COMPACT,
            "is virtual: its values lie elsewhere");
    require(H5Pget_external_count(list) == 0, "keeps its values in another file");
    const int filters = H5Pget_nfilters(list);
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0, config = 0;
      std::size_t count = 0;
      const H5Z_filter_t filter =
          H5Pget_filter2(list, unsigned(i), &flags, &count, nullptr, 0, nullptr, &config);
      require(filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE ||
                  filter == H5Z_FILTER_FLETCHER32,
              "is filtered by something else than deflate, shuffle and fletcher32");
    }
  }

  // A header that lies does not make us ask for more memory than the file can fill.
  void check_size(std::size_t count, std::size_t each) {
    hsize_t file_size = 0;
    std::size_t size = 0;
    require(H5Fget_filesize(file_, &file_size) >= 0 &&
                !__builtin_mul_overflow(count, each, &size) && size / kMostPerByte <= file_size,
            "declares more values than the file can hold");
  }

  void read_numbers(Array& array, std::size_t count, bool enumeration, hid_t base) {
    array.values.resize(count);
    if (!enumeration) {
      require(H5Dread(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      array.values.data()) >= 0,
              "cannot be read");
      return;
    }
    const std::size_t each = H5Tget_size(base);
    require(each <= sizeof(double), "holds neither numbers nor strings");
    const Handle type(H5Dget_type(dataset_), H5Tclose);
    require(H5Dread(dataset_, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) >= 0 &&
                H5Tconvert(base, H5T_NATIVE_DOUBLE, count, array.values.data(), nullptr,
                           H5P_DEFAULT) >= 0,
            "cannot be read");
  }

  void read_texts(Array& array, std::size_t count, hid_t type, hid_t space) {
    if (H5Tis_variable_str(type) > 0) {
      std::vector<char*> texts(count, nullptr);
      require(H5Dread(dataset_, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()) >= 0,
              "cannot be read");
      for (const char* text : texts) array.texts.emplace_back(text == nullptr ? "" : text);
      H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts.data());
      return;
    }
    const std::size_t each = H5Tget_size(type);
    const bool spaces = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
    std::string bytes(count * each, '\0');
    require(H5Dread(dataset_, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0,
            "cannot be read");
    for (std::size_t i = 0; i < count; ++i) {
      std::string text = bytes.substr(i * each, each);
      text.resize(std::min(text.size(), text.find('\0')));
      if (spaces) text.resize(text.find_last_not_of(' ') + 1);
      array.texts.push_back(std::move(text));
    }
  }

  std::string place_;
  Handle file_;
  hid_t dataset_ = -1;
};

}  // namespace

Array read_hdf5_dataset(const std::string& file, const std::string& dataset) {
  const Quiet quiet;
  return Reader(file, dataset).read();
}

}  // namespace xgrad
