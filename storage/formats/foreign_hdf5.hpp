// Reads HDF5 files of other programs, by libhdf5. Malicious files can crash it: call
// parse_hdf5_dataset() and list_hdf5_datasets() only inside run_isolated().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/formats/array.hpp>

namespace xgrad {

class InputFile;

/// The first bytes of an HDF5 file without a user block.
inline constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
/// The message for a file that does not start with kHdf5Signature or does not open.
inline constexpr const char* kNoHdf5 = "is not an HDF5 file, or damaged";

/// Returns the size of the HDF5 file according to its superblock; other bytes may follow it. Reads
/// only the superblock. Throws FormatError.
std::uint64_t hdf5_size(const InputFile& file);

/// Reads a dataset of numbers or strings, plain or compressed by HDF5's own filters. Refuses
/// plug-ins, links other than hard ones, virtual datasets and external storage. Throws FormatError
/// that names the dataset.
Array parse_hdf5_dataset(std::string_view image, const std::string& dataset);

/// The same in a confined process (isolated.hpp).
Array read_hdf5_dataset(std::string_view image, const std::string& dataset);

struct NamedWork;
/// The name of that process's work.
inline constexpr const char* kHdf5Work = "hdf5";
/// Does it: pack() of parse_hdf5_dataset().
std::string do_hdf5_work(const NamedWork& named);

/// Lists the datasets of all groups: "encoder.layers.0.norm1/weight". Throws FormatError that names
/// the object on soft and external links, objects linked twice, and more than 10,000 objects.
std::vector<std::string> list_hdf5_datasets(std::string_view image);

}  // namespace xgrad
