#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/data/watch_progress.hpp>
#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/hdf5/foreign_hdf5.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

// Bytes of a block of rows, with eight bytes for each value. Each block of an HDF5 file is read in
// a new process, so its blocks are larger.
constexpr std::size_t kNpyBlock = std::size_t(1) << 20, kHdf5Block = std::size_t(4) << 20;

struct Column {
  std::string place;  // `train/x.npy` or `train.h5: dataset "x"`
  std::vector<std::size_t> extents;
  bool text;
  std::function<Array(const Range& rows)> read;

  std::size_t rows() const { return extents[0]; }
  std::size_t tokens() const { return extents.size() > 1 ? extents[1] : 1; }
  std::size_t features() const { return extents.size() > 2 ? extents[2] : 1; }
};

// The columns of a table, and the files that have them.
struct Source {
  std::string path;
  std::vector<std::string> names;
  std::vector<Column> columns;
  std::vector<std::pair<const InputFile*, std::uint64_t>> files;  // with their sizes
  std::size_t grain = 1;  // the rows of a block are a multiple of this
  std::size_t block = kNpyBlock;
};

void check_extents(const Column& column, const Column& first) {
  const std::vector<std::size_t>& extents = column.extents;
  const std::size_t rank = extents.size(), most = column.text ? 2 : 3;
  check<DataError>(rank >= 1 && rank <= most, column.place, ": has ", rank,
                   " axes, must have from 1 (rows) to ", most);
  for (std::size_t i = 0; i < rank; ++i) {
    check<DataError>(extents[i] > 0, column.place, ": axis ", i + 1, " has size 0");
  }
  check<DataError>(column.rows() == first.rows(), column.place, ": has ", column.rows(),
                   " rows, the first column has ", first.rows());
}

// Row `row` of the table, which is row `at` of the array.
Field field(const Column& column, const Array& array, std::size_t at, std::size_t row) {
  const auto place = [&] { return column.place + ": row " + std::to_string(row + 1); };
  const std::size_t size = column.tokens() * column.features();
  if (array.text) {
    std::vector<std::string> list(array.texts.begin() + std::ptrdiff_t(at * size),
                                  array.texts.begin() + std::ptrdiff_t((at + 1) * size));
    for (const std::string& text : list) {
      if (!is_text(text)) check_text(place(), text);
    }
    return column.extents.size() == 1 ? Field(std::move(list[0])) : Field(std::move(list));
  }
  FieldNumbers numbers{column.tokens(), column.features(), {}, array.whole};
  numbers.values.assign(array.values.begin() + std::ptrdiff_t(at * size),
                        array.values.begin() + std::ptrdiff_t((at + 1) * size));
  for (std::size_t i = 0; i < size; ++i) {
    const double x = numbers.values[i];
    if (!std::isfinite(x)) {
      detail::fail<DataError>(place(), ": value ", i + 1, " is not finite");
    }
    if (array.whole && std::abs(x) >= kMostWhole) {
      detail::fail<DataError>(place(), ": value ", i + 1,
                              " is a whole number of 2^53 or more, too large to be exact");
    }
  }
  return numbers;
}

void open_npy(Source& source) {
  std::error_code ignored;
  const bool folder = fs::is_directory(source.path, ignored);
  check<DataError>(folder || source.names.size() == 1, source.path,
                   ": one npy file holds one column; name a folder with ", source.names[0],
                   ".npy and ", source.names.back(), ".npy");
  for (const std::string& name : source.names) {
    const std::string path =
        folder ? (fs::path(source.path) / (name + ".npy")).string() : source.path;
    check_exists(path);
    const auto file = as_data_error(path, [&] { return std::make_shared<NpyFile>(path); });
    source.columns.push_back({path, file->extents(), file->is_text(),
                              [file](const Range& rows) { return file->rows(rows); }});
    source.files.push_back({&file->file(), file->file().size()});
  }
}

void open_hdf5(Source& source) {
  const std::string& path = source.path;
  const auto file = as_data_error(path, [&] { return std::make_shared<Hdf5File>(path); });
  for (const std::string& name : source.names) {
    const Hdf5Dataset found = as_data_error(path, [&] { return file->describe(name); });
    source.columns.push_back(
        {path + ": dataset \"" + name + "\"", found.extents, found.text,
         [file, name, found](const Range& rows) { return file->rows(name, found, rows); }});
    source.grain = std::max(source.grain, found.chunk);
  }
  source.files.push_back({&file->file(), file->size()});
  source.block = kHdf5Block;
}

// Hashes the files in turn. The hash of each file is the key of the next hash.
std::uint64_t fingerprint_of(const Source& source) {
  constexpr std::size_t kRead = std::size_t(1) << 20;
  std::uint64_t key = 0;
  for (const auto& [file, size] : source.files) {
    StableHash hash(size, key);
    as_data_error(file->path(), [&, file = file, size = size] {
      for (std::uint64_t at = 0; at < size; at += kRead) {
        hash.add(file->read(at, std::size_t(std::min<std::uint64_t>(kRead, size - at))));
      }
    });
    key = hash.value();
  }
  return key;
}

std::size_t rows_of_a_block(const Source& source) {
  std::size_t bytes = 0;  // of a row
  for (const Column& column : source.columns) {
    bytes += column.tokens() * column.features() * sizeof(double);
  }
  const std::size_t rows = std::max<std::size_t>(1, source.block / bytes);
  return std::max(source.grain, rows / source.grain * source.grain);
}

std::uint64_t read(const Source& source, const VisitBlock& visit) {
  const std::uint64_t fingerprint = fingerprint_of(source);
  const std::size_t count = source.columns[0].rows(), step = rows_of_a_block(source);
  std::uint64_t size = 0;
  for (const auto& [file, own] : source.files) size += own;
  for (std::size_t begin = 0; begin < count; begin += step) {
    const Range rows{begin, std::min(begin + step, count)};
    Table block{.file = source.path, .columns = source.names, .first = begin};
    block.rows.resize(rows.size());
    for (const Column& column : source.columns) {
      const Array array = as_data_error(source.path, [&] { return column.read(rows); });
      for (std::size_t i = 0; i < rows.size(); ++i) {
        block.rows[i].push_back(field(column, array, i, begin + i));
      }
    }
    WatchProgress::tell(source.path, std::uint64_t(double(size) * double(rows.end) / double(count)),
                        size);
    visit(block);
  }
  for (const auto& [file, own] : source.files) {
    check<DataError>(!file->has_changed(), file->path(), ": was changed while it was read");
  }
  return fingerprint;
}

}  // namespace

Rows open_arrays(const std::string& path, const std::string& format,
                 const std::vector<std::string>& columns) {
  const auto source = std::make_shared<Source>();
  source->path = path;
  source->names = columns;
  format == "hdf5" ? open_hdf5(*source) : open_npy(*source);
  for (const Column& column : source->columns) check_extents(column, source->columns[0]);
  return [source](const VisitBlock& visit) { return read(*source, visit); };
}

}  // namespace xgrad
