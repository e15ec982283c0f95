#include <xgrad/storage/hdf5/foreign_hdf5.hpp>

#define H5_USE_110_API  // Use the types of HDF5 1.10, which 1.12 and later still offer.
#include <hdf5.h>

#include <algorithm>
#include <set>
#include <utility>

#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/storage/formats/little_endian.hpp>
#include <xgrad/storage/hdf5/own_hdf5.hpp>

namespace xgrad {

namespace {

using Handle = detail::Hdf5Handle;

constexpr std::size_t kMostObjects = 10'000;
constexpr std::ptrdiff_t kDeepest = 16;
constexpr hsize_t kMostPerByte = 1100;  // above the maximum expansion of deflate, 1032

// Memory limit of the reading process: a base for libhdf5, and an amount for each byte of the file.
constexpr std::size_t kMemory = std::size_t(128) << 20;
constexpr std::size_t kMemoryPerByte = 256;
constexpr std::size_t kMostDescription = 4096;  // bytes of an answer without its values

Handle open_image(std::string_view image) {
  check<FormatError>(image.starts_with(kHdf5Signature), kNoHdf5);
  Handle file = detail::open_image(image);
  check<FormatError>(file >= 0, kNoHdf5);
  return file;
}

class Reader {
 public:
  Reader(std::string_view image, const std::string& dataset)
      : place_("dataset \"" + dataset + "\""),
        file_(open_image(image)),
        dataset_(open(dataset), H5Dclose),
        type_(H5Dget_type(dataset_), H5Tclose),
        space_(H5Dget_space(dataset_), H5Sclose),
        class_(H5Tget_class(type_)) {
    require(dataset_ >= 0, "is not a dataset");
    check_storage();
    const H5S_class_t extent = H5Sget_simple_extent_type(space_);
    require(extent == H5S_SIMPLE || extent == H5S_SCALAR, "has no values");
    hsize_t extents[H5S_MAX_RANK] = {};
    const int rank = H5Sget_simple_extent_dims(space_, extents, nullptr);
    require(rank >= 0, "is damaged");
    found_.extents.assign(extents, extents + rank);
    check_size();
    require(
        class_ == H5T_INTEGER || class_ == H5T_FLOAT || class_ == H5T_STRING || class_ == H5T_ENUM,
        "holds neither numbers nor strings");
    found_.text = class_ == H5T_STRING;
  }

  const Hdf5Dataset& describe() const { return found_; }

  Array read(const std::optional<Range>& rows) const {
    Array array{.extents = found_.extents, .text = found_.text};
    array.whole = class_ == H5T_INTEGER || class_ == H5T_ENUM;
    array.single = class_ == H5T_FLOAT && H5Tget_size(type_) <= sizeof(float);
    if (rows) {
      require(!array.extents.empty() && rows->end <= array.extents[0], "has fewer rows");
      array.extents[0] = rows->size();
      std::vector<hsize_t> first(array.extents.size(), 0),
          extents(array.extents.begin(), array.extents.end());
      first[0] = rows->begin;
      require(H5Sselect_hyperslab(space_, H5S_SELECT_SET, first.data(), nullptr, extents.data(),
                                  nullptr) >= 0,
              "cannot be read");
    }
    // In memory, the values are consecutive.
    const hsize_t count = product(array.extents).value();
    const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
    array.text ? read_texts(array, count, memory) : read_numbers(array, count, memory);
    return array;
  }

 private:
  void require(bool ok, const char* what) const { check<FormatError>(ok, place_, ": ", what); }

  hid_t open(const std::string& dataset) const {
    check_links(dataset);
    return H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT);
  }

  // Allows only hard links, so that no other file is opened and no cycle is followed.
  void check_links(const std::string& dataset) const {
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
              "uses a filter other than deflate, shuffle and fletcher32");
    }
    hsize_t chunk[H5S_MAX_RANK] = {};
    if (layout == H5D_CHUNKED && H5Pget_chunk(list, H5S_MAX_RANK, chunk) > 0) {
      found_.chunk = std::size_t(chunk[0]);
    }
  }

  // Refuses a false header, which would make us allocate more memory than the file can fill.
  void check_size() const {
    hsize_t file_size = 0;
    const auto size = product(found_.extents, H5Tget_size(type_));
    require(size && H5Fget_filesize(file_, &file_size) >= 0 && *size / kMostPerByte <= file_size,
            "declares more values than the file can hold");
  }

  void read_values(hid_t type, hid_t memory, void* values) const {
    require(H5Dread(dataset_, type, memory, space_, H5P_DEFAULT, values) >= 0, "cannot be read");
  }

  // Enumerations, such as h5py's booleans, convert through their integers.
  void read_numbers(Array& array, std::size_t count, hid_t memory) const {
    array.values.resize(count);
    double* const values = array.values.data();
    if (class_ != H5T_ENUM) return read_values(H5T_NATIVE_DOUBLE, memory, values);
    const Handle base(H5Tget_super(type_), H5Tclose);
    require(H5Tget_size(base) <= sizeof(double), "holds neither numbers nor strings");
    read_values(type_, memory, values);
    require(H5Tconvert(base, H5T_NATIVE_DOUBLE, count, values, nullptr, H5P_DEFAULT) >= 0,
            "cannot be read");
  }

  void read_texts(Array& array, std::size_t count, hid_t memory) const {
    if (H5Tis_variable_str(type_) > 0) {
      std::vector<char*> texts(count, nullptr);
      read_values(type_, memory, texts.data());
      for (const char* text : texts) array.texts.emplace_back(text == nullptr ? "" : text);
      H5Dvlen_reclaim(type_, memory, H5P_DEFAULT, texts.data());
      return;
    }
    const std::size_t each = H5Tget_size(type_);
    const bool spaces = H5Tget_strpad(type_) == H5T_STR_SPACEPAD;
    std::string bytes(count * each, '\0');
    read_values(type_, memory, bytes.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::string text = bytes.substr(i * each, each);
      text.resize(std::min(text.size(), text.find('\0')));
      if (spaces) text.resize(text.find_last_not_of(' ') + 1);
      array.texts.push_back(std::move(text));
    }
  }

  std::string place_;
  Handle file_, dataset_, type_, space_;
  H5T_class_t class_;
  Hdf5Dataset found_;
};

/// Links by their path from the root: "encoder/weight".
using Links = std::vector<std::pair<std::string, H5L_type_t>>;

// Returns 1, which ends the visit, if there are too many links or one is too deep.
herr_t collect(hid_t, const char* path, const H5L_info_t* info, void* links) {
  auto& known = *static_cast<Links*>(links);
  known.emplace_back(path, info->type);
  const std::string_view last = known.back().first;
  return known.size() > kMostObjects || std::count(last.begin(), last.end(), '/') > kDeepest;
}

}  // namespace

std::uint64_t hdf5_size(const InputFile& file) {
  // The addresses are: base, one other, end of file. Versions 0 and 1 have more fields before them.
  // An address has as many bytes as an offset.
  const std::string start = file.read(0, std::size_t(std::min<std::uint64_t>(file.size(), 64)));
  check<FormatError>(start.size() == 64 && start.starts_with(kHdf5Signature), kNoHdf5);
  const std::uint64_t version = little_endian(start, 8, 1);
  const std::size_t offset = little_endian(start, version < 2 ? 13 : 9, 1);
  check<FormatError>(version <= 3 && (offset == 2 || offset == 4 || offset == 8), kNoHdf5);
  const std::size_t addresses = version == 0 ? 24 : version == 1 ? 28 : 12;
  const std::uint64_t base = little_endian(start, addresses, offset),
                      end = little_endian(start, addresses + 2 * offset, offset);
  check<FormatError>(base <= end && end - base <= file.size(),
                     "ends early: its superblock says that it has ", end - base, " bytes, it has ",
                     file.size());
  return end - base;
}

Array parse_hdf5_dataset(std::string_view image, const std::string& dataset,
                         const std::optional<Range>& rows) {
  return Reader(image, dataset).read(rows);
}

// Word 0 is the dataset. Reads its rows in the range from word 1 to word 2. Without these two
// words, describes the dataset.
std::string do_hdf5_work(const NamedWork& named) {
  const std::string& dataset = named.words.at(0);
  if (named.words.size() == 3) {
    return pack(parse_hdf5_dataset(
        named.bytes, dataset, Range{std::stoull(named.words[1]), std::stoull(named.words[2])}));
  }
  const Hdf5Dataset found = Reader(named.bytes, dataset).describe();
  Array numbers{.extents = {found.extents.size() + 2}};
  numbers.values = {double(found.text), double(found.chunk)};
  numbers.values.insert(numbers.values.end(), found.extents.begin(), found.extents.end());
  return pack(numbers);
}

Hdf5File::Hdf5File(const std::string& path)
    : file_(path), mapping_(file_.descriptor(), hdf5_size(file_), path) {}

Array Hdf5File::ask(std::vector<std::string> words, std::size_t most) const {
  const Isolated answer = run_isolated(
      {kHdf5Work, mapping_.bytes(), file_.descriptor(), std::move(words)}, do_hdf5_work,
      {.memory = kMemory + kMemoryPerByte * size(),
       .result = most,
       .seconds = seconds_for(size())});
  check<FormatError>(answer.done, answer.text);
  return unpack(answer.text);
}

Hdf5Dataset Hdf5File::describe(const std::string& dataset) const {
  const Array numbers = ask({dataset}, kMostDescription);
  check<FormatError>(!numbers.text && numbers.values.size() >= 2, kNoHdf5);
  Hdf5Dataset found{.text = numbers.values[0] != 0, .chunk = std::size_t(numbers.values[1])};
  found.extents.assign(numbers.values.begin() + 2, numbers.values.end());
  return found;
}

Array Hdf5File::rows(const std::string& dataset, const Hdf5Dataset& described,
                     const Range& rows) const {
  Hdf5Dataset part = described;
  part.extents[0] = rows.size();
  // For texts, only the size of the file gives a limit.
  const std::size_t most =
      kMostDescription + (described.text ? kMemoryPerByte * size()
                                         : product(part.extents, sizeof(double)).value_or(0));
  Array array = ask({dataset, std::to_string(rows.begin), std::to_string(rows.end)}, most);
  check<FormatError>(array.extents == part.extents && array.text == described.text, kNoHdf5);
  return array;
}

std::vector<std::string> list_hdf5_datasets(std::string_view image) {
  const Handle file = open_image(image);
  Links links;
  const herr_t ended = H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, collect, &links);
  check<FormatError>(links.size() <= kMostObjects, "holds more than ", kMostObjects, " objects");
  check<FormatError>(ended <= 0, "/", ended > 0 ? links.back().first : "", ": is nested too deep");
  check<FormatError>(ended == 0, "/: its links are damaged");
  links.insert(links.begin(), {".", H5L_TYPE_HARD});  // the root itself
  std::set<haddr_t> seen;
  std::vector<std::string> datasets;
  for (const auto& [path, type] : links) {
    check<FormatError>(type == H5L_TYPE_HARD, "/", path, ": is a soft or external link");
    H5O_info_t info;
    const herr_t known =
        H5Oget_info_by_name2(file, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT);
    check<FormatError>(known >= 0, "/", path, ": is damaged");
    check<FormatError>(seen.insert(info.addr).second, "/", path, ": is linked twice");
    if (info.type == H5O_TYPE_DATASET) datasets.push_back(path);
  }
  return datasets;
}

}  // namespace xgrad
