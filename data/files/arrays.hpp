// Tables whose columns are arrays: NumPy's files, HDF5's datasets. The first extent counts rows.
#pragma once

#include <string_view>

#include <xgrad/data/files/table.hpp>

namespace xgrad {

/// Numbers or texts in rows, columns and so on.
struct Array {
  std::vector<std::size_t> extents = {};  ///< sizes of its axes
  std::vector<double> values = {};        ///< row-major, of an array of numbers
  std::vector<std::string> texts = {};    ///< of an array of texts
  bool text = false;                      ///< whether it holds texts
  bool whole = false;                     ///< integers or booleans
  bool single = false;                    ///< of float32 or less
};

/// Reads NumPy's format (versions 1 to 3): numbers and booleans of little-endian or single bytes,
/// and texts, in C order. Throws DataError that starts with `place`; objects that would have to be
/// unpickled are refused.
Array read_npy(const std::string& place, std::string_view bytes);

/// Reads a dataset of an HDF5 file, by libhdf5 in a process of its own that can open nothing:
/// numbers and strings, plain or compressed by HDF5's own filters; no plug-ins, links to other
/// files or external storage. Throws DataError that names the file and the dataset.
Array read_hdf5_dataset(const std::string& file, std::string_view bytes,
                        const std::string& dataset);

/// The table of a folder with COLUMN.npy (or of one such file, where one column is wanted), or of
/// an HDF5 file with a dataset for each column; `format` is npy or hdf5. Throws DataError; besides,
/// when the columns have different numbers of rows, an extent is 0 or a number is not finite.
Table read_arrays(const std::string& path, const std::string& format,
                  const std::vector<std::string>& columns);

}  // namespace xgrad
