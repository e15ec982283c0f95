#include <xgrad/train/weights/constructed.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/written_weights.hpp>

namespace xgrad {

namespace {

// Keys of [model] that do not change what the weights compute in evaluation.
constexpr const char* kFree[] = {"preset",    "dropout",     "attention_dropout",
                                 "init_from", "init_strict", "init_noise"};

void check_settings(const ConstructedEncoder& encoder, const ModelConfig& model,
                    const ModelConfig& wanted) {
  Config given, right;
  given.model = model;
  right.model = wanted;
  std::vector<std::string> needed;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model") continue;
    if (std::find(std::begin(kFree), std::end(kFree), key.spec.name) != std::end(kFree)) continue;
    const auto value = key.get(right);
    if (value && value != key.get(given)) {
      needed.push_back(key.name() + " = " + to_literal(*value));
    }
  }
  check<ConfigError>(needed.empty(), "model.init_from: ", kConstructed, encoder.name, " needs ",
                     joined(needed));
}

}  // namespace

const ConstructedEncoder& find_constructed_encoder(const std::string& name) {
  std::vector<std::string> names;
  for (const ConstructedEncoder& encoder : constructed_encoders()) {
    if (encoder.name == name) return encoder;
    names.push_back(encoder.name);
  }
  detail::fail<ConfigError>("there is no constructed encoder ", excerpt(name), "; there are ",
                            joined(names));
}

std::vector<NamedTensor> constructed_weights(const ConstructedEncoder& encoder,
                                             const ModelConfig& model, const TaskShape& shape) {
  const TaskShape own = find_task(encoder.name).make({}, 1)->shape();
  check<ConfigError>(shape.input == own.input && shape.output == own.output &&
                         shape.target == own.target && !shape.graph && shape.vocabulary > 0,
                     "model.init_from: ", kConstructed, encoder.name, " needs the task ",
                     encoder.name);
  check_settings(encoder, model, encoder.model(shape));
  Parameters<double> parameters(1);
  Config config;
  config.model = model;
  const auto made = make_model<double>(config, shape, parameters);
  WrittenWeights weights(model, parameters);
  encoder.write(shape, weights);
  return capture(parameters);
}

void add_noise(std::vector<NamedTensor>& weights, double deviation, std::uint64_t seed) {
  const Rng rng = Rng(seed) / "noise";
  for (NamedTensor& tensor : weights) {
    std::visit(
        [&]<class T>(Tensor<T>& value) {
          const std::vector<double> noise = (rng / tensor.name).normals(value.size());
          for (std::size_t i = 0; i < value.size(); ++i) value.data()[i] += T(deviation * noise[i]);
        },
        tensor.tensor);
  }
}

Checkpoint construct(const ConstructedEncoder& encoder, const std::vector<std::string>& overrides,
                     double noise) {
  for (const std::string& text : overrides) {
    check<ConfigError>(text.starts_with("task.") || text.starts_with("train.seed="), excerpt(text),
                       ": only train.seed and keys of [task] can be set, as in task.length=100");
  }
  Config config = parse_config("[task]\nname = \"" + encoder.name + "\"\n" + encoder.task +
                                   "[train]\nsteps = 1\nprecision = \"double\"\n",
                               encoder.name, overrides);
  const TaskShape shape = make_task(config)->shape();
  config.model = encoder.model(shape);
  Checkpoint checkpoint;
  checkpoint.parameters = constructed_weights(encoder, config.model, shape);
  if (noise > 0) add_noise(checkpoint.parameters, noise, config.train.seed);
  checkpoint.config = to_toml(config, /*with_execution_keys=*/false);
  return checkpoint;
}

WrittenWeights::WrittenWeights(const ModelConfig& model, const Parameters<double>& parameters)
    : heads_(model.heads),
      head_dim_(model.head_dim != 0 ? model.head_dim : model.width / model.heads),
      parameters_(parameters) {
  for (const Parameter<double>& p : parameters) {
    Tensor<double>& value = p.variable.mutable_value();
    std::fill_n(value.data(), value.size(), 0.0);
  }
}

double& WrittenWeights::at(const std::string& name, std::size_t row, std::size_t column) {
  Tensor<double>& value = parameters_.at(name).mutable_value();
  const std::size_t columns = value.dimension() > 1 ? value.shape(1) : 1;
  check<ConfigError>(row < value.size() / columns && column < columns,
                     "model.init_from: ", kConstructed, " the weights do not fit this task: ", name,
                     " has no element (", row, ", ", column, ")");
  return value.data()[row * columns + column];
}

}  // namespace xgrad
