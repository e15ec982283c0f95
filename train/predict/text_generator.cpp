#include <xgrad/train/predict/text_generator.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/models/decoding.hpp>
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

namespace {

// Decodes the tokens from `begin` on.
template <class T>
std::unique_ptr<Decoding<T>> read(const LoadedModel<T>& loaded,
                                  const std::vector<std::int32_t>& text, std::size_t begin) {
  Ids ids = empty<std::int32_t>({1, text.size() - begin});
  std::copy(text.begin() + std::ptrdiff_t(begin), text.end(), ids.data());
  ModelInput<T> input;
  input.ids = &ids;
  return loaded.model->decode(input);
}

}  // namespace

TextGenerator::TextGenerator(const std::string& run) {
  const FoundRun source = find_run(run);
  const std::string& kind = source.config.model.kind;
  model_ = load_model(source);
  model_->visit([&](const auto& loaded) {
    check<ConfigError>(loaded.shape.next != NextToken::none, source.file,
                       ": is a model for the task ", source.config.task,
                       ", which is not to predict next tokens; generate needs one that is trained "
                       "with task.labels = \"next\" (files) or task.predict = \"next\" (kjv)");
  });
  check<ConfigError>(kind == "encoder", source.file, ": model.kind is ", kind,
                     "; generate needs an encoder");
}

bool TextGenerator::generate(const std::string& beginning, std::size_t most,
                             const Sampling& sampling,
                             const std::function<void(const std::string&)>& say) const {
  return model_->visit([&]<class T>(const LoadedModel<T>& loaded) {
    std::vector<std::int32_t> text = loaded.task->parse(beginning).ids;
    const Rng rng = Rng(sampling.seed) / "generate";
    const std::size_t longest = loaded.shape.max_length;
    std::size_t begin = text.size() <= longest ? 0 : text.size() - longest;
    std::unique_ptr<Decoding<T>> decoding = read(loaded, text, begin);
    for (std::size_t added = 0; added < most; ++added) {
      const std::int32_t next = sample(decoding->logits().data(), loaded.shape.classes,
                                       sampling.temperature, rng.uniform(text.size()));
      if (next == kEndId) return true;
      const bool first_word = text.size() == 1 && loaded.shape.next == NextToken::word;
      say(loaded.task->token_text(next).substr(first_word));  // no space before it
      text.push_back(next);
      if (text.size() - begin <= longest) {
        decoding->append({next});
      } else {
        begin = text.size() - std::max<std::size_t>(1, longest / 2);
        decoding = read(loaded, text, begin);
      }
    }
    return false;
  });
}

#define XGRAD_INSTANTIATE(T) template std::int32_t sample(const T*, std::size_t, double, double);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
