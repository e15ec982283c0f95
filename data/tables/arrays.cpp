#include <xgrad/data/tables/arrays.hpp>

#include <cmath>
#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/text/text.hpp>
#include <xgrad/storage/formats/foreign_hdf5.hpp>
#include <xgrad/storage/formats/npy.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

struct Column {
  std::string name, place;  // place is `train/x.npy` or `train.h5: dataset "x"`
  Array array;
};

std::string row_place(const Column& column, std::size_t row) {
  return column.place + ": row " + std::to_string(row + 1);
}

void check_extents(const Column& column, std::size_t rows) {
  const std::vector<std::size_t>& extents = column.array.extents;
  const std::size_t rank = extents.size(), most = column.array.text ? 2 : 3;
  check<DataError>(rank >= 1 && rank <= most, column.place, ": has ", rank,
                   " axes, must have from 1 (rows) to ", most);
  for (std::size_t i = 0; i < rank; ++i) {
    check<DataError>(extents[i] > 0, column.place, ": axis ", i + 1, " has size 0");
  }
  check<DataError>(extents[0] == rows, column.place, ": has ", extents[0],
                   " rows, the first column has ", rows);
}

Field field(const Column& column, std::size_t row) {
  const Array& array = column.array;
  const std::size_t rank = array.extents.size();
  const std::size_t tokens = rank > 1 ? array.extents[1] : 1;
  const std::size_t features = rank > 2 ? array.extents[2] : 1;
  const std::size_t size = tokens * features;
  if (array.text) {
    std::vector<std::string> list(array.texts.begin() + std::ptrdiff_t(row * size),
                                  array.texts.begin() + std::ptrdiff_t((row + 1) * size));
    for (const std::string& text : list) check_text(row_place(column, row), text);
    return rank == 1 ? Field(list[0]) : Field(std::move(list));
  }
  FieldNumbers numbers{tokens, features, {}, array.whole};
  for (std::size_t i = 0; i < size; ++i) {
    const double x = array.values[row * size + i];
    check<DataError>(std::isfinite(x), row_place(column, row), ": value ", i + 1, " is not finite");
    check<DataError>(!array.whole || std::abs(x) < kMostWhole, row_place(column, row), ": value ",
                     i + 1, " is a whole number of 2^53 or more, too large to be exact");
    numbers.values.push_back(x);
  }
  return numbers;
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Column read_npy_column(const std::string& path, const std::string& name,
                       std::uint64_t& fingerprint) {
  const bool folder = is_folder(path);
  const std::string file = folder ? (fs::path(path) / (name + ".npy")).string() : path;
  const std::string bytes = read_bytes(file, npy_size);
  fingerprint = stable_hash(bytes, fingerprint);
  return {name, file, as_data_error(file, [&] { return read_npy(bytes); })};
}

}  // namespace

Table read_arrays(const std::string& path, const std::string& format,
                  const std::vector<std::string>& columns) {
  check<DataError>(format == "hdf5" || columns.size() == 1 || is_folder(path), path,
                   ": one npy file holds one column; name a folder with ", columns[0], ".npy and ",
                   columns.back(), ".npy");
  Table table{.file = path, .columns = columns};
  const std::string bytes = format == "hdf5" ? read_bytes(path, hdf5_size) : "";
  if (format == "hdf5") table.fingerprint = stable_hash(bytes);
  std::vector<Column> read;
  for (const std::string& name : columns) {
    if (format == "hdf5") {
      read.push_back({name, path + ": dataset \"" + name + "\"",
                      as_data_error(path, [&] { return read_hdf5_dataset(bytes, name); })});
    } else {
      read.push_back(read_npy_column(path, name, table.fingerprint));
    }
    const std::size_t rank = read.back().array.extents.size();
    check_extents(read.back(), rank > 0 ? read.front().array.extents[0] : 0);
  }
  table.rows.resize(read.front().array.extents[0]);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (const Column& column : read) table.rows[row].push_back(field(column, row));
  }
  return table;
}

}  // namespace xgrad
