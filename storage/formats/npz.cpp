#include <xgrad/storage/formats/npz.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/formats/npy.hpp>
#include <xgrad/storage/formats/zip.hpp>

namespace xgrad {

namespace {

constexpr std::string_view kSuffix = ".npy";

NamedTensor read(const ZipMember& member) try {
  check<CheckpointError>(member.name.ends_with(kSuffix), "is no .npy array");
  const std::string name = member.name.substr(0, member.name.size() - kSuffix.size());
  NamedTensor named{name, from_npy(member.bytes)};
  check_finite<CheckpointError>(name, named.tensor);
  return named;
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>("'", member.name, "': ", error.what());
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

WeightFile from_npz(std::string_view bytes, const std::string& origin) try {
  WeightFile weights;
  for (const ZipMember& member : from_zip(bytes).members) weights.tensors.push_back(read(member));
  return weights;
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>(origin, ": ", error.what());
}

}  // namespace xgrad
