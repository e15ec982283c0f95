#include <xgrad/train/build.hpp>

#include <map>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/encoder_model.hpp>

namespace xgrad {

namespace {

// The config's table has checked that the word is one of these.
template <class Enum>
Enum choose(const std::map<std::string, Enum>& words, const std::string& word) {
  return words.at(word);
}

PositionKind positions(const ModelConfig& config) {
  return choose<PositionKind>({{"none", PositionKind::none},
                               {"learned", PositionKind::learned},
                               {"learned_2d", PositionKind::learned_2d},
                               {"sinusoidal", PositionKind::sinusoidal},
                               {"relative_index", PositionKind::relative_index},
                               {"rotary", PositionKind::rotary}},
                              config.positions);
}

EncoderOptions encoder_options(const ModelConfig& config) {
  EncoderOptions options;
  options.layers = config.layers;
  options.attention = {config.width,    config.heads,    config.head_dim, config.attention_dropout,
                       config.qkv_bias, config.out_bias, std::nullopt,    positions(config)};
  options.feedforward = config.feedforward;
  options.activation = choose<Activation>({{"gelu", Activation::gelu},
                                           {"gelu_tanh", Activation::gelu_tanh},
                                           {"relu", Activation::relu},
                                           {"silu", Activation::silu}},
                                          config.activation);
  options.norm = choose<NormOrder>({{"pre", NormOrder::pre},
                                    {"post", NormOrder::post},
                                    {"sandwich", NormOrder::sandwich},
                                    {"none", NormOrder::none}},
                                   config.norm);
  options.normalization = choose<Normalization>(
      {{"layer", Normalization::layer}, {"rms", Normalization::rms}}, config.normalization);
  options.final_norm = config.final_norm;
  options.norm_eps = config.norm_eps;
  options.dropout = config.dropout;
  return options;
}

InputOptions input_options(const ModelConfig& config, const TaskShape& shape) {
  InputOptions options;
  options.positions = positions(config);
  options.vocabulary = shape.input == InputKind::tokens ? shape.vocabulary : 0;
  options.max_length = shape.max_length;
  options.patch = config.patch;
  options.height = shape.height;
  options.width = shape.width;
  options.channels = shape.channels;
  return options;
}

}  // namespace

std::unique_ptr<Task> make_task(const Config& config) {
  return find_task(config.task).make(config.task_options, config.train.seed);
}

template <class T>
std::unique_ptr<SequenceModel<T>> make_model(const ModelConfig& config, const TaskShape& shape,
                                             Parameters<T>& parameters) {
  check<ConfigError>(shape.input == InputKind::image || config.positions != "learned_2d",
                     "model.positions: learned_2d places the patches of an image, and the task has "
                     "tokens");
  if (shape.input == InputKind::image) {
    check<ConfigError>(shape.height % config.patch == 0 && shape.width % config.patch == 0,
                       "model.patch: ", config.patch, " does not divide the task's images of ",
                       shape.height, " x ", shape.width, " pixels");
  }
  EncoderModelOptions options;
  options.input = input_options(config, shape);
  options.encoder = encoder_options(config);
  options.pool = shape.output == OutputKind::tokens
                     ? Pool::none
                     : choose<Pool>({{"cls", Pool::cls}, {"mean", Pool::mean}}, config.pool);
  options.classes = shape.classes;
  return std::make_unique<EncoderModel<T>>(parameters.root(), options);
}

template <class T>
BatchInput<T>::BatchInput(const Batch& batch) {
  input_.mask = batch.mask;
  if (batch.features.dimension() == 0) {
    input_.ids = &batch.ids;
  } else if constexpr (std::is_same_v<T, float>) {
    input_.features = &batch.features;
  } else {
    features_ = cast<T>(batch.features);
    input_.features = &features_;
  }
}

#define XGRAD_INSTANTIATE(T)                                                                  \
  template class BatchInput<T>;                                                               \
  template std::unique_ptr<SequenceModel<T>> make_model(const ModelConfig&, const TaskShape&, \
                                                        Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
