#include <xgrad/storage/archives/npz.hpp>

#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/archives/zip.hpp>
#include <xgrad/storage/formats/format_error.hpp>

namespace xgrad {

namespace {

constexpr std::string_view kSuffix = ".npy";

NamedTensor read(const ZipMember& member) try {
  check<FormatError>(member.name.ends_with(kSuffix), "is not a .npy array");
  return to_tensor(member.name.substr(0, member.name.size() - kSuffix.size()),
                   read_npy(member.bytes));
} catch (const FormatError& error) {
  detail::fail<FormatError>("'", member.name, "': ", error.what());
}

}  // namespace

std::string to_npz(const WeightFile& weights) {
  ZipArchive archive{.members = {}, .comment = weights.text};
  for (const NamedTensor& named : weights.tensors) {
    check_finite<NumericError>(named.name, named.tensor);
    archive.members.push_back({named.name + std::string(kSuffix),
                               std::visit([](const auto& t) { return to_npy(t); }, named.tensor)});
  }
  return to_zip(archive);
}

WeightFile from_npz(std::string_view bytes) {
  WeightFile weights;
  for (const ZipMember& member : from_zip(bytes).members) weights.tensors.push_back(read(member));
  return weights;
}

}  // namespace xgrad
