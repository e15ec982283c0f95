// Datasets of HDF5 files that other programs wrote, read by libhdf5. It crashes on files that are
// made to crash it: parse and list only inside run_isolated().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/formats/array.hpp>

namespace xgrad {

/// What an HDF5 file begins with, where nothing stands before its data.
inline constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
/// What is said of a file that does not.
inline constexpr const char* kNoHdf5 = "is not an HDF5 file, or damaged";

/// Numbers and strings, plain or compressed by HDF5's own filters; no plug-ins, no links but hard
/// ones, no virtual datasets, no external storage. Throws DataError that names the dataset.
Array parse_hdf5_dataset(std::string_view image, const std::string& dataset);

/// The same in a process of its own that can open nothing (isolated.hpp). Throws DataError that
/// names the file and the dataset.
Array read_hdf5_dataset(const std::string& file, std::string_view bytes,
                        const std::string& dataset);

/// The datasets in all groups: "encoder.layers.0.norm1/weight". Throws DataError that names the
/// object on soft and external links, objects that are linked twice, and more than 10,000 of them.
std::vector<std::string> list_hdf5_datasets(std::string_view image);

}  // namespace xgrad
