#include <xgrad/train/export/onnx/layers.hpp>

#include <onnx/checker.h>
#include <onnx/defs/attr_proto_util.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <bit>
#include <limits>
#include <map>

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

Tensor<float> single(const NamedTensor& weight) {
  const Tensor<float> x = std::visit([](const auto& t) { return cast<float>(t); }, weight.tensor);
  check_finite<NumericError>(weight.name, x);
  return x;
}

}  // namespace

struct Builder::Impl {
  struct Weight {
    Tensor<float> tensor;
    bool used = false;
  };

  onnx::ModelProto model;
  std::map<std::string, Weight> weights;
  std::map<std::string, int> numbers;  // counters for values that are named after their operator

  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  Value fresh(const std::string& op) { return op + "_" + std::to_string(++numbers[op]); }

  template <class T>
  Value constant(const T* data, const Shape& shape) {
    const Value name = fresh("constant");
    fill(*graph().add_initializer(), name, data, shape);
    return name;
  }
  Value name_of(const Value& value) { return value; }
  template <class Number>
  Value name_of(const Number& x) {
    return constant(&x, {});
  }
  Value name_of(const Integers& list) { return constant(list.data(), {list.size()}); }
  template <class T>
  Value name_of(const Tensor<T>& x) {
    return constant(x.data(), x.shape());
  }

  onnx::NodeProto& node(const char* op, const std::vector<Input>& inputs,
                        const std::vector<Attribute>& attributes = {}) {
    onnx::NodeProto& proto = *graph().add_node();
    proto.set_op_type(op);
    for (const Input& input : inputs) {
      proto.add_input(std::visit([this](const auto& x) { return name_of(x); }, input));
    }
    for (const auto& [name, value] : attributes) {
      const auto make = [n = name](const auto& x) { return onnx::MakeAttribute(n, x); };
      *proto.add_attribute() = std::visit(make, value);
    }
    return proto;
  }
};

Builder::Builder(const ModelConfig& of_model, const TaskShape& of_task,
                 const std::vector<NamedTensor>& weights)
    : model(of_model), shape(of_task), impl_(std::make_unique<Impl>()) {
  for (const NamedTensor& weight : weights) impl_->weights[weight.name] = {single(weight)};
  impl_->model.set_ir_version(kIrVersion);
  impl_->model.set_producer_name("xgrad");
  impl_->model.set_producer_version(kVersion);
  impl_->model.add_opset_import()->set_version(kOpset);
}

Builder::~Builder() = default;

Value Builder::input(const std::string& name, Type type, const Axes& axes) {
  describe(*impl_->graph().add_input(), name, type, axes);
  return name;
}

void Builder::output(const Value& value, const std::string& name, const Axes& axes) {
  impl_->node("Identity", {value}).add_output(name);
  describe(*impl_->graph().add_output(), name, Type::f32, axes);
}

bool Builder::has_weight(const std::string& name) const {
  return impl_->weights.contains(name);
}

const Shape& Builder::shape_of(const std::string& name) const {
  const auto found = impl_->weights.find(name);
  check<CheckpointError>(found != impl_->weights.end(), "there is no weight ", name);
  return found->second.tensor.shape();
}

Value Builder::weight(const std::string& name) {
  const Shape& extents = shape_of(name);
  Impl::Weight& weight = impl_->weights.at(name);
  if (!weight.used) fill(*impl_->graph().add_initializer(), name, weight.tensor.data(), extents);
  weight.used = true;
  return name;
}

std::vector<std::string> Builder::unused_weights() const {
  std::vector<std::string> names;
  for (const auto& [name, weight] : impl_->weights) {
    if (!weight.used) names.push_back(name);
  }
  return names;
}

Value Builder::operator()(const char* op, const std::vector<Input>& inputs,
                          const std::vector<Attribute>& attributes) {
  return several(1, op, inputs, attributes).front();
}

std::vector<Value> Builder::several(std::size_t count, const char* op,
                                    const std::vector<Input>& inputs,
                                    const std::vector<Attribute>& attributes) {
  onnx::NodeProto& node = impl_->node(op, inputs, attributes);
  std::vector<Value> results;
  for (std::size_t i = 0; i < count; ++i) {
    results.push_back(impl_->fresh(op));
    node.add_output(results.back());
  }
  node.set_name(results.front());
  return results;
}

std::vector<Value> Builder::split(const Value& x, std::int64_t axis, const Integers& extents) {
  return several(extents.size(), "Split", {x, extents}, {{"axis", axis}});
}

Value Builder::transpose(const Value& x, const Integers& axes) {
  return (*this)("Transpose", {x}, {{"perm", axes}});
}

Value Builder::as_float(const Value& x) {
  return (*this)("Cast", {x}, {{"to", std::int64_t(Type::f32)}});
}

void Builder::metadata(const std::string& key, const std::string& text) {
  onnx::StringStringEntryProto& entry = *impl_->model.add_metadata_props();
  entry.set_key(key);
  entry.set_value(text);
}

std::string Builder::finish(const std::string& name) const {
  onnx::ModelProto proto = impl_->model;
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
