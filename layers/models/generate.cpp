#include <xgrad/layers/models/generate.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <xgrad/autograd/portable_math.hpp>

namespace xgrad {

namespace {

// The rows of a tensor along its first axis.
template <class Array>
Array rows_of(const Array& x, const std::vector<std::size_t>& rows) {
  return xt::view(x, xt::keep(std::vector<std::ptrdiff_t>(rows.begin(), rows.end())));
}

// Runs the model on the input and all classes so far, for each class.
template <class T>
class WithoutCache final : public Decoding<T> {
 public:
  WithoutCache(const SequenceModel<T>& model, const ModelInput<T>& input)
      : model_(model), input_(input) {
    if (input.ids != nullptr) ids_ = *std::exchange(input_.ids, &ids_);
    if (input.features != nullptr) features_ = *std::exchange(input_.features, &features_);
    input_.outputs = &outputs_;
    outputs_ = zeros<std::int32_t>({(input.ids ? ids_.shape() : features_.shape())[0], 1});
    run();
  }

  void append(const std::vector<std::int32_t>& classes) override {
    const std::size_t rows = classes.size(), length = outputs_.shape()[1];
    Ids longer = zeros<std::int32_t>({rows, length + 1});
    xt::view(longer, xt::all(), xt::range(0, length)) = outputs_;
    for (std::size_t b = 0; b < rows; ++b) longer(b, length - 1) = classes[b];
    outputs_ = std::move(longer);
    run();
  }

  void select(const std::vector<std::size_t>& rows) override {
    if (input_.ids != nullptr) ids_ = rows_of(ids_, rows);
    if (input_.features != nullptr) features_ = rows_of(features_, rows);
    input_.mask = selected(input_.mask, rows);
    input_.adjacency = selected(input_.adjacency, rows);
    outputs_ = rows_of(outputs_, rows);
    this->select_logits(rows);
  }

 private:
  void run() {
    const NoGrad no_grad;
    this->set_last(model_(input_, Context{}).value());
  }

  const SequenceModel<T>& model_;
  ModelInput<T> input_;  // points to the members that follow
  Ids ids_;
  Tensor<T> features_;
  Ids outputs_;  // the last column has no meaning: the model predicts its classes
};

// Adds a class and its row of logits.
template <class T>
void add(Generated<T>& output, std::vector<T>& rows, const T* row, std::size_t classes) {
  const auto best = std::size_t(std::max_element(row, row + classes) - row);
  output.classes.push_back(std::int32_t(best));
  output.log_probability += log_probabilities(row, classes)[best];
  rows.insert(rows.end(), row, row + classes);
}

// A hypothesis: the row of the decoding that it continues, and the class that it appends. A
// hypothesis that has ended appends none.
struct Candidate {
  std::size_t from;
  std::int32_t next;
  double log_probability, score;
};

}  // namespace

template <class T>
void Decoding<T>::set_last(const Tensor<T>& logits) {
  logits_ = xt::view(logits, xt::all(), logits.shape()[1] - 1);
}

template <class T>
void Decoding<T>::select_logits(const std::vector<std::size_t>& rows) {
  logits_ = rows_of(logits_, rows);
}

template <class T>
std::unique_ptr<Decoding<T>> without_cache(const SequenceModel<T>& model,
                                           const ModelInput<T>& input) {
  return std::make_unique<WithoutCache<T>>(model, input);
}

template <class T>
std::unique_ptr<Decoding<T>> SequenceModel<T>::decode(const ModelInput<T>& input) const {
  return without_cache(*this, input);
}

SharedMask selected(const SharedMask& mask, const std::vector<std::size_t>& rows) {
  return mask ? std::make_shared<const Mask>(rows_of(*mask, rows)) : nullptr;
}

template <class T>
std::vector<double> log_probabilities(const T* logits, std::size_t classes) {
  const double largest = double(*std::max_element(logits, logits + classes));
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += portable::exp(double(logits[c]) - largest);
  std::vector<double> result(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    result[c] = double(logits[c]) - largest - portable::log(sum);
  }
  return result;
}

template <class T>
std::vector<Generated<T>> generate(Decoding<T>& decoding, std::int32_t end, std::size_t longest) {
  const std::size_t batch = decoding.rows(), classes = decoding.logits().shape()[1];
  std::vector<Generated<T>> outputs(batch);
  std::vector<std::vector<T>> logits(batch);
  std::vector<std::size_t> open(batch);  // the output of each row of the decoding
  std::iota(open.begin(), open.end(), std::size_t(0));
  for (std::size_t length = 1;; ++length) {
    std::vector<std::size_t> rows, still;
    std::vector<std::int32_t> chosen;
    for (std::size_t row = 0; row < open.size(); ++row) {
      Generated<T>& output = outputs[open[row]];
      add(output, logits[open[row]], decoding.logits().data() + row * classes, classes);
      if (output.classes.back() == end) continue;
      rows.push_back(row);
      still.push_back(open[row]);
      chosen.push_back(output.classes.back());
    }
    if (rows.empty() || length >= longest) break;
    if (rows.size() < open.size()) decoding.select(rows);
    open = std::move(still);
    decoding.append(chosen);
  }
  for (std::size_t b = 0; b < batch; ++b) {
    outputs[b].logits = empty<T>({outputs[b].classes.size(), classes});
    std::copy(logits[b].begin(), logits[b].end(), outputs[b].logits.data());
  }
  return outputs;
}

template <class T>
std::vector<Hypothesis> beam_search(Decoding<T>& decoding, std::int32_t end, std::size_t longest,
                                    const BeamOptions& options) {
  const std::size_t classes = decoding.logits().shape()[1];
  std::vector<Hypothesis> beam(1);
  const auto ended = [end](const Hypothesis& h) {
    return !h.classes.empty() && h.classes.back() == end;
  };
  const auto score = [&](double log_probability, std::size_t length) {
    return log_probability / portable::pow(double(length), options.length_penalty);
  };
  for (std::size_t length = 1; length <= longest; ++length) {
    std::vector<Candidate> candidates;
    std::vector<std::size_t> row_of(beam.size());
    std::size_t row = 0;
    for (std::size_t i = 0; i < beam.size(); ++i) {
      const double before = beam[i].log_probability;
      if (ended(beam[i])) {
        candidates.push_back({i, -1, before, score(before, beam[i].classes.size())});
        continue;
      }
      const auto next = log_probabilities(decoding.logits().data() + row * classes, classes);
      for (std::size_t c = 0; c < classes; ++c) {
        candidates.push_back(
            {i, std::int32_t(c), before + next[c], score(before + next[c], length)});
      }
      row_of[i] = row++;
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    candidates.resize(std::min(candidates.size(), options.width));
    std::vector<Hypothesis> best;
    std::vector<std::size_t> rows;
    std::vector<std::int32_t> chosen;
    for (const Candidate& candidate : candidates) {
      best.push_back({beam[candidate.from].classes, candidate.log_probability});
      if (candidate.next < 0) continue;
      best.back().classes.push_back(candidate.next);
      if (candidate.next == end) continue;
      rows.push_back(row_of[candidate.from]);
      chosen.push_back(candidate.next);
    }
    beam = std::move(best);
    if (rows.empty() || length == longest) break;
    decoding.select(rows);
    decoding.append(chosen);
  }
  return beam;
}

#define XGRAD_INSTANTIATE(T)                                                                  \
  template class Decoding<T>;                                                                 \
  template decltype(without_cache<T>) without_cache<T>;                                       \
  template std::unique_ptr<Decoding<T>> SequenceModel<T>::decode(const ModelInput<T>&) const; \
  template decltype(log_probabilities<T>) log_probabilities<T>;                               \
  template decltype(generate<T>) generate<T>;                                                 \
  template decltype(beam_search<T>) beam_search<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
