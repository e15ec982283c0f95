#include <xgrad/train/export/onnx/layers.hpp>

#include <onnx/checker.h>
#include <onnx/defs/attr_proto_util.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <bit>
#include <limits>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/version.hpp>

namespace xgrad::onnx_export {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int kIrVersion = 8;  // IR version of ONNX 1.12, the oldest with readers of opset 17
constexpr int kOpset = 17;

template <class T>
constexpr auto kElement = Builder::Type::f32;
template <>
constexpr auto kElement<std::int64_t> = Builder::Type::i64;
template <>
constexpr auto kElement<std::uint8_t> = Builder::Type::boolean;

template <class T>
void fill(onnx::TensorProto& proto, const std::string& name, const T* data, const Shape& shape) {
  proto.set_name(name);
  proto.set_data_type(int(kElement<T>));
  for (const std::size_t extent : shape) proto.add_dims(std::int64_t(extent));
  proto.set_raw_data(data, size_of(shape) * sizeof(T));
}

void describe(onnx::ValueInfoProto& proto, const std::string& name, Builder::Type type,
              const Builder::Axes& axes) {
  proto.set_name(name);
  onnx::TypeProto_Tensor& tensor = *proto.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(int(type));
  tensor.mutable_shape();
  for (const std::string& axis : axes) {
    onnx::TensorShapeProto_Dimension& dimension = *tensor.mutable_shape()->add_dim();
    if (axis.find_first_not_of("0123456789") == std::string::npos) {
      dimension.set_dim_value(std::stoll(axis));
    } else {
      dimension.set_dim_param(axis);
    }
  }
}

}  // namespace

Builder::Builder(const ModelConfig& of_model, const TaskShape& of_task,
                 const std::vector<NamedTensor>& weights)
    : model(of_model), shape(of_task), proto_(std::make_unique<onnx::ModelProto>()) {
  for (const auto& [name, tensor] : weights) {
    weights_[name] = {std::visit([](const auto& x) { return cast<float>(x); }, tensor)};
    check_finite<NumericError>(name, weights_[name].tensor);
  }
  proto_->set_ir_version(kIrVersion);
  proto_->set_producer_name("xgrad");
  proto_->set_producer_version(kVersion);
  proto_->add_opset_import()->set_version(kOpset);
}

Builder::~Builder() = default;

Value Builder::fresh(const std::string& op) {
  return op + "_" + std::to_string(++numbers_[op]);
}

Value Builder::input(const std::string& name, Type type, const Axes& axes) {
  describe(*proto_->mutable_graph()->add_input(), name, type, axes);
  return name;
}

void Builder::output(const Value& value, const std::string& name, const Axes& axes) {
  onnx::NodeProto& node = *proto_->mutable_graph()->add_node();
  node.set_op_type("Identity");
  node.add_input(value);
  node.add_output(name);
  describe(*proto_->mutable_graph()->add_output(), name, Type::f32, axes);
}

const Shape& Builder::shape_of(const std::string& name) const {
  check<CheckpointError>(has_weight(name), "there is no weight ", name);
  return weights_.at(name).tensor.shape();
}

Value Builder::weight(const std::string& name) {
  const Shape& extents = shape_of(name);
  auto& [tensor, used] = weights_.at(name);
  if (!used) fill(*proto_->mutable_graph()->add_initializer(), name, tensor.data(), extents);
  used = true;
  return name;
}

std::vector<std::string> Builder::unused_weights() const {
  std::vector<std::string> names;
  for (const auto& [name, weight] : weights_) {
    if (!weight.used) names.push_back(name);
  }
  return names;
}

std::vector<Value> Builder::several(std::size_t count, const char* op,
                                    const std::vector<Input>& inputs,
                                    const std::vector<Attribute>& attributes) {
  onnx::NodeProto& node = *proto_->mutable_graph()->add_node();
  node.set_op_type(op);
  const auto constant = [&]<class T>(const T* data, const Shape& extents) {
    const Value name = fresh("constant");
    fill(*proto_->mutable_graph()->add_initializer(), name, data, extents);
    return name;
  };
  const auto name_of = [&]<class X>(const X& x) {
    if constexpr (std::is_same_v<X, Value>)
      return x;
    else if constexpr (std::is_arithmetic_v<X>)
      return constant(&x, {});
    else if constexpr (std::is_same_v<X, Integers>)
      return constant(x.data(), {x.size()});
    else
      return constant(x.data(), x.shape());
  };
  for (const Input& x : inputs) node.add_input(std::visit(name_of, x));
  for (const auto& [name, value] : attributes) {
    const auto make = [n = name](const auto& x) { return onnx::MakeAttribute(n, x); };
    *node.add_attribute() = std::visit(make, value);
  }
  std::vector<Value> results;
  for (std::size_t i = 0; i < count; ++i) node.add_output(results.emplace_back(fresh(op)));
  node.set_name(results.front());
  return results;
}

void Builder::metadata(const std::string& key, const std::string& text) {
  onnx::StringStringEntryProto& entry = *proto_->add_metadata_props();
  entry.set_key(key);
  entry.set_value(text);
}

std::string Builder::finish(const std::string& name) const {
  onnx::ModelProto proto = *proto_;
  proto.mutable_graph()->set_name(name);
  const std::size_t size = proto.ByteSizeLong();
  check<CheckpointError>(size < std::numeric_limits<std::int32_t>::max(), "the ONNX model has ",
                         size, " bytes; the format allows less than 2 GB");
  const std::string bytes = proto.SerializeAsString();
  try {
    onnx::checker::check_model(proto);
    const onnx::ShapeInferenceOptions strictly(/*check_type=*/true, /*strict_mode=*/1,
                                               /*data_prop=*/true);
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(), strictly);
  } catch (const std::runtime_error& error) {
    detail::fail<CheckpointError>("ONNX's own checker: ", error.what());
  }
  return bytes;
}

}  // namespace xgrad::onnx_export
