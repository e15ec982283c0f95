#include "onnx_vectors/vectors.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace xgrad::test {

namespace fs = std::filesystem;

namespace {

template <class Proto>
Proto parse(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Proto proto;
  if (!proto.ParseFromIstream(&file)) throw std::runtime_error(path.string() + ": cannot be read");
  return proto;
}

template <class T>
void copy_raw(const std::string& raw, std::vector<double>& values) {
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T x;
    std::memcpy(&x, raw.data() + at, sizeof x);
    values.push_back(double(x));
  }
}

VectorTensor tensor(const fs::path& path) {
  const auto proto = parse<onnx::TensorProto>(path);
  VectorTensor result;
  result.shape.assign(proto.dims().begin(), proto.dims().end());
  const std::string& raw = proto.raw_data();
  switch (proto.data_type()) {
    case onnx::TensorProto_DataType_FLOAT:
      copy_raw<float>(raw, result.values);
      break;
    case onnx::TensorProto_DataType_DOUBLE:
      copy_raw<double>(raw, result.values);
      break;
    case onnx::TensorProto_DataType_INT32:
      copy_raw<std::int32_t>(raw, result.values);
      break;
    case onnx::TensorProto_DataType_INT64:
      copy_raw<std::int64_t>(raw, result.values);
      break;
    case onnx::TensorProto_DataType_BOOL:
      copy_raw<std::uint8_t>(raw, result.values);
      break;
    default:
      result.numbers = false;
  }
  if (result.numbers && result.values.size() != size_of(result.shape)) {
    throw std::runtime_error(path.string() + " is not stored as raw data");
  }
  return result;
}

std::vector<VectorTensor> tensors(const fs::path& folder, const std::string& kind) {
  std::vector<VectorTensor> all;
  const auto path = [&] { return folder / (kind + "_" + std::to_string(all.size()) + ".pb"); };
  while (fs::exists(path())) all.push_back(tensor(path()));
  return all;
}

// Of the one operator in a model; false where there are several.
bool read(const fs::path& folder, VectorCase& result) {
  const auto model = parse<onnx::ModelProto>(folder / "model.onnx");
  if (model.graph().node_size() != 1) return false;
  const onnx::NodeProto& node = model.graph().node(0);
  result.name = folder.filename().string();
  result.op = node.op_type();
  for (const onnx::AttributeProto& a : node.attribute()) {
    if (a.type() == onnx::AttributeProto_AttributeType_FLOAT) result.numbers[a.name()] = a.f();
    if (a.type() == onnx::AttributeProto_AttributeType_INT)
      result.numbers[a.name()] = double(a.i());
    if (a.type() == onnx::AttributeProto_AttributeType_STRING) result.words[a.name()] = a.s();
    if (a.type() == onnx::AttributeProto_AttributeType_INTS) {
      result.lists[a.name()].assign(a.ints().begin(), a.ints().end());
    }
  }
  return true;
}

}  // namespace

double VectorCase::number(const std::string& attribute, double fallback) const {
  const auto found = numbers.find(attribute);
  return found == numbers.end() ? fallback : found->second;
}

std::string VectorCase::word(const std::string& attribute, const std::string& fallback) const {
  const auto found = words.find(attribute);
  return found == words.end() ? fallback : found->second;
}

std::vector<VectorCase> read_vectors() {
  std::vector<VectorCase> cases;
  if (!fs::exists(kVectors)) return cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(kVectors)) {
    VectorCase one;
    if (!fs::exists(entry.path() / "model.onnx") || !read(entry.path(), one)) continue;
    cases.push_back(std::move(one));
  }
  std::sort(cases.begin(), cases.end(),
            [](const VectorCase& a, const VectorCase& b) { return a.name < b.name; });
  return cases;
}

void load_tensors(VectorCase& one) {
  const fs::path folder = fs::path(kVectors) / one.name / "test_data_set_0";
  one.inputs = tensors(folder, "input");
  one.outputs = tensors(folder, "output");
}

}  // namespace xgrad::test
