#include <xgrad/train/predict/writer.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/models/decoding.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/predict/loaded_model.hpp>

namespace xgrad {

template <class T>
std::int32_t sample(const T* logits, std::size_t classes, double temperature, double u) {
  static_assert(kUnknownId == 0);
  const std::size_t best = std::size_t(std::max_element(logits + 1, logits + classes) - logits);
  if (temperature == 0) return std::int32_t(best);
  std::vector<double> cumulative(classes, 0);
  for (std::size_t c = 1; c < classes; ++c) {
    cumulative[c] =
        cumulative[c - 1] + std::exp((double(logits[c]) - double(logits[best])) / temperature);
  }
  const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), u * cumulative.back());
  return found == cumulative.end() ? std::int32_t(best) : std::int32_t(found - cumulative.begin());
}

class Writer::Model {
 public:
  virtual ~Model() = default;
  virtual bool write(const std::string& beginning, std::size_t most, const Sampling& sampling,
                     const std::function<void(const std::string&)>& say) const = 0;
};

namespace {

void check_writes(const FoundRun& source, const TaskShape& shape) {
  const ModelConfig& model = source.config.model;
  check<ConfigError>(shape.next != NextToken::none, source.file, ": is a model for the task ",
                     source.config.task,
                     ", which is not to predict next tokens; generate needs one that is trained "
                     "with task.labels = \"next\" (files) or task.predict = \"next\" (kjv)");
  check<ConfigError>(model.kind == "encoder", source.file, ": model.kind is ", model.kind,
                     "; generate needs an encoder");
}

template <class T>
class ModelOf final : public Writer::Model {
 public:
  explicit ModelOf(const FoundRun& source) : loaded_(source) {
    check_writes(source, loaded_.shape);
    model_ = dynamic_cast<const Autoregressive<T>*>(loaded_.model.get());
    check<ConfigError>(model_ != nullptr, source.file, ": the model cannot decode token by token");
  }

  bool write(const std::string& beginning, std::size_t most, const Sampling& sampling,
             const std::function<void(const std::string&)>& say) const override {
    std::vector<std::int32_t> text = loaded_.task->parse(beginning).ids;
    const Rng rng = Rng(sampling.seed) / "generate";
    const std::size_t longest = loaded_.shape.max_length, classes = loaded_.shape.classes;
    std::size_t begin = text.size() <= longest ? 0 : text.size() - longest;
    std::unique_ptr<Decoding<T>> decoding = read(text, begin);
    for (std::size_t written = 0; written < most; ++written) {
      const std::int32_t next = sample(decoding->logits().data(), classes, sampling.temperature,
                                       rng.uniform(text.size()));
      if (next == kEndId) return true;
      const bool first_word = text.size() == 1 && loaded_.shape.next == NextToken::word;
      say(loaded_.task->token_text(next).substr(first_word));  // no space before it
      text.push_back(next);
      if (text.size() - begin <= longest) {
        decoding->append({next});
      } else {
        begin = text.size() - std::max<std::size_t>(1, longest / 2);
        decoding = read(text, begin);
      }
    }
    return false;
  }

 private:
  std::unique_ptr<Decoding<T>> read(const std::vector<std::int32_t>& text,
                                    std::size_t begin) const {
    Ids ids = empty<std::int32_t>({1, text.size() - begin});
    std::copy(text.begin() + std::ptrdiff_t(begin), text.end(), ids.data());
    ModelInput<T> input;
    input.ids = &ids;
    return model_->decode(input);
  }

  LoadedModel<T> loaded_;
  const Autoregressive<T>* model_;
};

}  // namespace

Writer::Writer(const std::string& run) {
  const FoundRun source = find_run(run);
  model_ = with_precision(source.config, [&]<class T>() -> std::unique_ptr<const Model> {
    return std::make_unique<ModelOf<T>>(source);
  });
}

Writer::~Writer() = default;

bool Writer::write(const std::string& beginning, std::size_t most, const Sampling& sampling,
                   const std::function<void(const std::string&)>& say) const {
  return model_->write(beginning, most, sampling, say);
}

#define XGRAD_INSTANTIATE(T) template std::int32_t sample(const T*, std::size_t, double, double);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
