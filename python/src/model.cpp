#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/data/example_text.hpp>
#include <xgrad/python/src/arrays.hpp>
#include <xgrad/python/src/module.hpp>
#include <xgrad/train/inspect/activations.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/predict/predictor.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace xgrad::python {

namespace {

using Lines = std::vector<std::string>;

// An array that shares the memory of a tensor in `owner`.
template <class Owner>
nb::object shared(const std::shared_ptr<Owner>& owner, const AnyTensor& any) {
  return std::visit(
      [&]<class T>(const Tensor<T>& tensor) {
        return to_numpy<T>(std::shared_ptr<const Tensor<T>>(owner, &tensor));
      },
      any);
}

using Answer = std::shared_ptr<Prediction>;

// Returns f(), called without the GIL.
template <class F>
auto computed(const F& f) {
  const Unlocked unlocked;
  return std::make_shared<decltype(f())>(f());
}

// Inputs with their targets.
class Given final : public Dataset {
 public:
  explicit Given(std::vector<Example> examples) : examples_(std::move(examples)) {}

  std::size_t size() const override { return examples_.size(); }
  Example get(std::uint64_t, std::size_t index) const override { return examples_[index]; }

 private:
  std::vector<Example> examples_;
};

// Gives an example its targets: ids of classes, or numbers in original units.
void set_targets(const std::vector<double>& given, const TaskShape& shape, Example& example) {
  example.targets.clear();
  example.values.assign(given.begin(), given.end());
  if (shape.target == TargetKind::classes) {
    example.targets.assign(given.begin(), given.end());
    example.values.clear();
    if (shape.output == OutputKind::generated) example.targets.push_back(int(shape.classes) - 1);
  }
  for (std::size_t i = 0; i < example.values.size() && !shape.value_mean.empty(); ++i) {
    const std::size_t k = i % shape.classes;
    example.values[i] = float((given[i] - shape.value_mean[k]) / shape.value_deviation[k]);
  }
}

// {name: value}, with a standard error as name_se.
nb::dict figures_of(const Metrics& metrics) {
  nb::dict found;
  for (const Figure& figure : metrics.figures()) {
    found[figure.name.c_str()] = figure.value;
    found[(figure.name + "_se").c_str()] = figure.standard_error;
  }
  return found;
}

class Model {
  std::vector<Example> parsed(const Lines& lines) const {
    std::vector<Example> examples;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      examples.push_back(predictor_.parse(lines[i], i + 1));
    }
    return examples;
  }

  // Returns f(model, parameters, batch) for a batch of these inputs and, for a decoder, outputs.
  template <class F>
  auto of_batch(const Lines& lines, const Lines& outputs, const F& f) const {
    return computed([&] {
      return predictor_.model().visit([&](const auto& loaded) {
        std::vector<Example> examples = parsed(lines);
        set_outputs(loaded, outputs, examples);
        return f(*loaded.model, loaded.parameters, collate(examples, loaded.shape));
      });
    });
  }

  // {name: array} of the named tensors that f returns.
  template <class F>
  nb::dict arrays(const Lines& lines, const Lines& outputs, const F& f) const {
    const auto found = of_batch(lines, outputs, f);
    nb::dict all;
    for (const auto& [name, value] : *found) all[name.c_str()] = to_numpy<double>({found, &value});
    return all;
  }

 public:
  Model(const Lines& paths, const std::string& precision, bool last)
      : sources_(find_runs(paths, in_precision(precision), last ? Take::last : Take::model)),
        predictor_(sources_) {}

  std::vector<Answer> predict(const Lines& lines) const {
    const Unlocked unlocked;
    std::vector<Answer> answers;
    for (Prediction& one : predictor_(parsed(lines))) {
      answers.push_back(std::make_shared<Prediction>(std::move(one)));
    }
    return answers;
  }

  nb::dict attention(const Lines& lines, const Lines& outputs) const {
    return arrays(lines, outputs, [](const auto&... of) { return attention_maps(of...); });
  }

  nb::dict capture(const Lines& lines, const Lines& outputs) const {
    return arrays(lines, outputs, [](const auto&... of) { return capture_activations(of...); });
  }

  nb::object replace(const Lines& lines, const nb::dict& given, const Lines& outputs) const {
    std::map<std::string, Tensor<double>> values;
    for (const auto& [name, array] : given) {
      values[nb::cast<std::string>(name)] = to_doubles(array);
    }
    const auto logits = of_batch(
        lines, outputs,
        [&]<class T>(const SequenceModel<T>& model, const auto& parameters, const Batch& batch) {
          const NoGrad no_grad;
          if (values.empty()) {  // an ensemble can do this, too
            return AnyTensor(model(BatchInput<T>(batch).input(), Context{}).value());
          }
          return AnyTensor(xgrad::cast<T>(replace_activations(model, parameters, batch, values)));
        });
    return shared(logits, *logits);
  }

  nb::list study_heads(std::size_t examples) const {
    const TrainConfig& train = sources_[0].config.train;
    const auto found = computed([&] {
      return predictor_.model().visit([&](const auto& loaded) {
        const auto all = loaded.task->dataset(Split::test);
        const Subset test(*all, examples);
        return study_attention(*loaded.model, loaded.parameters, {test, loaded.shape, train.batch},
                               make_objective(train, loaded.shape));
      });
    });
    const AttentionStudy& study = *found;
    nb::list rows;
    for (const LayerStudy& layer : study.layers) {
      for (std::size_t head = 0; head < layer.metrics.heads(); ++head) {
        nb::dict row;
        row["layer"] = layer.path;
        row["head"] = head;
        row["entropy"] = layer.metrics.entropy(head);
        row["distance"] = layer.metrics.distance(head);
        row["asymmetry"] = layer.metrics.asymmetry(head);
        for (const Figure& figure : study.metrics.figures())
          row[figure.name.c_str()] = figure.value;
        for (const Figure& figure : layer.without[head].figures()) {
          row[(figure.name + "_without").c_str()] = figure.value;
        }
        rows.append(row);
      }
    }
    return rows;
  }

  nb::dict evaluate(const Lines& lines, const std::vector<std::vector<double>>& targets) const {
    const TrainConfig& train = sources_[0].config.train;
    return figures_of(*computed([&] {
      return predictor_.model().visit([&](const auto& loaded) {
        std::vector<Example> examples = parsed(lines);
        for (std::size_t i = 0; i < examples.size(); ++i) {
          set_targets(targets[i], loaded.shape, examples[i]);
          check_example(examples[i], loaded.shape, i + 1);
        }
        return xgrad::evaluate(*loaded.model,
                               {Given(std::move(examples)), loaded.shape, train.batch},
                               make_objective(train, loaded.shape));
      });
    }));
  }

  nb::dict silence(const std::vector<std::pair<std::size_t, std::size_t>>& heads,
                   std::size_t examples) const {
    const TrainConfig& train = sources_[0].config.train;
    const auto found = computed([&] {
      return predictor_.model().visit([&](const auto& loaded) {
        const auto all = loaded.task->dataset(Split::test);
        const Subset test(*all, examples);
        std::vector<Head> silent;
        for (const auto& [layer, head] : heads) silent.push_back({layer, head});
        return silence_heads(*loaded.model, loaded.parameters, {test, loaded.shape, train.batch},
                             make_objective(train, loaded.shape), silent);
      });
    });
    nb::dict both;
    both["whole"] = figures_of(found->whole);
    both["without"] = figures_of(found->without);
    return both;
  }

  nb::dict patch(const std::string& from, const std::string& to, const std::string& names) const {
    const auto found = computed([&] {
      return predictor_.model().visit([&](const auto& loaded) {
        const std::vector<Example> both = parsed({from, to});
        for (std::size_t i = 0; i < both.size(); ++i) check_example(both[i], loaded.shape, i + 1);
        return patch_activations(*loaded.model, loaded.parameters, loaded.shape, both[0], both[1],
                                 names);
      });
    });
    nb::dict result;
    result["names"] = found->sites;
    result["restored"] = to_numpy<double>({found, &found->restored});
    result["measure"] = found->measure;
    result["from"] = nb::make_tuple(found->from, found->from_value);
    result["to"] = nb::make_tuple(found->to, found->to_value);
    return result;
  }

  Lines labels() const {
    Lines names;
    const TaskShape& shape = predictor_.shape();
    for (std::size_t c = 0; c < shape.classes; ++c) {
      names.push_back(class_text(std::int32_t(c), shape));
    }
    return names;
  }

  nb::dict state_dict() const {
    const auto weights = std::make_shared<const Checkpoint>(weights_of(only("weights").checkpoint));
    nb::dict found;
    for (const NamedTensor& one : weights->parameters) {
      found[one.name.c_str()] = shared(weights, one.tensor);
    }
    return found;
  }

  Lines files() const {
    Lines files;
    for (const FoundRun& one : sources_) files.push_back(one.file);
    return files;
  }

  // The only run, for a result that an ensemble does not have.
  const FoundRun& only(const char* what) const {
    check<Error>(sources_.size() == 1, "an ensemble of ", sources_.size(), " models has no ", what,
                 " of its own; load one of its runs");
    return sources_[0];
  }
  const TaskShape& shape() const { return predictor_.shape(); }

 private:
  std::vector<FoundRun> sources_;
  Predictor predictor_;
};

void add_prediction(nb::module_& m) {
  nb::class_<Prediction>(m, "Prediction",
                         "The prediction for one input, with an entry for each of its targets.")
      .def_ro("labels", &Prediction::labels,
              "Names of classes, or their numbers if they have no names. For yes-or-no targets, "
              "the names of all outputs.")
      .def_ro("probabilities", &Prediction::probabilities, "The probability of each label.")
      .def_ro("multi_label", &Prediction::multi_label,
              "Whether each label is yes or no: probabilities above 1/2 are yes.")
      .def_ro("numbers", &Prediction::numbers, "Predicted numbers, instead of labels.")
      .def_prop_ro(
          "logits", [](Answer self) { return shared(self, self->logits); },
          nb::sig("def logits(self) -> numpy.ndarray"),
          "The output of the model: (K), or (N, K) for all N positions.");
}

}  // namespace

void add_model(nb::module_& m) {
  add_prediction(m);
  nb::class_<Model>(m, "Model")
      .def(nb::init<Lines, std::string, bool>(), "paths"_a, "precision"_a, "last"_a,
           nb::call_guard<Unlocked>())
      .def_prop_ro("files", &Model::files)
      .def_prop_ro("step", [](const Model& self) { return self.only("step").checkpoint.step; })
      .def_prop_ro("config", [](const Model& self) { return to_toml(self.only("config").config); })
      .def_prop_ro("features", [](const Model& self) { return self.shape().features; })
      .def_prop_ro("target", [](const Model& self) { return to_string(self.shape().target); })
      .def_prop_ro("labels", &Model::labels)
      .def("predict", &Model::predict, "lines"_a)
      .def("attention", &Model::attention, "lines"_a, "outputs"_a)
      .def("capture", &Model::capture, "lines"_a, "outputs"_a)
      .def("replace", &Model::replace, "lines"_a, "arrays"_a, "outputs"_a)
      .def("evaluate", &Model::evaluate, "lines"_a, "targets"_a)
      .def("silence", &Model::silence, "heads"_a, "examples"_a)
      .def("patch", &Model::patch, "from_input"_a, "to_input"_a, "names"_a)
      .def("study_heads", &Model::study_heads, "examples"_a)
      .def("state_dict", &Model::state_dict);
}

}  // namespace xgrad::python
