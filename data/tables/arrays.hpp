// Tables whose columns are arrays: NumPy's files, HDF5's datasets. The first extent counts rows.
#pragma once

#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// The table of a folder with COLUMN.npy (or of one such file, where one column is wanted), or of
/// an HDF5 file with a dataset for each column; `format` is npy or hdf5. Throws DataError; besides,
/// when the columns have different numbers of rows, an extent is 0 or a number is not finite.
Table read_arrays(const std::string& path, const std::string& format,
                  const std::vector<std::string>& columns);

}  // namespace xgrad
