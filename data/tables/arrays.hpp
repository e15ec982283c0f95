// Tables whose columns are NumPy arrays or HDF5 datasets. The first axis counts rows.
#pragma once

#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// Opens a table in a folder with COLUMN.npy for each column, in one .npy file (if one column is
/// wanted), or in an HDF5 file with a dataset per column. `format` is npy or hdf5. Each pass reads
/// block by block. Throws DataError, also when columns have different numbers of rows, an extent is
/// 0, or a number is not finite.
Rows open_arrays(const std::string& path, const std::string& format,
                 const std::vector<std::string>& columns);

}  // namespace xgrad
