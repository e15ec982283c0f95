// Tables whose columns are NumPy arrays or HDF5 datasets. The first axis counts rows.
#pragma once

#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// Reads a table from a folder with COLUMN.npy for each column, one .npy file (if one column is
/// wanted), or an HDF5 file with a dataset per column. `format` is npy or hdf5. Throws DataError,
/// also when columns have different numbers of rows, an extent is 0, or a number is not finite.
Table read_arrays(const std::string& path, const std::string& format,
                  const std::vector<std::string>& columns);

}  // namespace xgrad
