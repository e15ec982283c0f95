#include <xgrad/python/src/layers.hpp>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <set>
#include <vector>

#include <xgrad/autograd/op.hpp>
#include <xgrad/optim/clip.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace xgrad::python {

namespace {

struct Places {
  std::uint64_t seed = 1;
  std::uint64_t made = 0;  // layers since manual_seed()
};
Places places;  // read and written with the interpreter's lock

std::string type_of(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

// The parameters as pairs of a name and a leaf. Marks the leaves as shared.
nb::list pairs_of(nb::handle given) {
  nb::list pairs;
  std::set<const void*> seen;
  for (nb::handle one : given) {
    const bool named = nb::isinstance<nb::tuple>(one) && nb::len(one) == 2;
    const nb::object name =
        named ? nb::object(one[0]) : nb::object(nb::str(nb::int_(nb::len(pairs))));
    const nb::object leaf = named ? nb::object(one[1]) : nb::borrow(one);
    Var* var = nullptr;
    if (!nb::try_cast(leaf, var)) {
      throw nb::type_error(
          ("parameters: expected Variables, or pairs of a name and a Variable, got " +
           type_of(leaf))
              .c_str());
    }
    const std::string text = nb::cast<std::string>(name);
    var->visit([&](const auto& x) {
      check<GradientError>(x.requires_grad() && !x.node()->op, "parameters: ", text,
                           " is not a leaf that requires a gradient");
      check<Error>(seen.insert(x.node().get()).second, "parameters: ", text, " is given twice");
    });
    var->shared = true;
    pairs.append(nb::make_tuple(name, leaf));
  }
  check<Error>(nb::len(pairs) > 0, "parameters: there are none");
  return pairs;
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> next_place() {
  return {places.seed, places.made++};
}

bool is_float32(const std::string& dtype) {
  if (dtype == "float32" || dtype == "float64") return dtype == "float32";
  throw nb::type_error(("dtype: expected float32 or float64, got " + dtype).c_str());
}

template <class T>
AnyOptimizer::Held<T>::Held(const char* kind, const nb::list& pairs,
                            const OptimizerOptions& options) {
  for (nb::handle pair : pairs) {
    parameters.add(nb::cast<std::string>(pair[0]), to_variable<T>(pair[1]));
  }
  optimizer = make_optimizer<T>(kind, parameters, options);
}

AnyOptimizer::AnyOptimizer(const char* kind, nb::handle given, double lr,
                           const OptimizerOptions& options)
    : lr(lr) {
  const nb::list pairs = pairs_of(given);
  if (*is_float(pairs[0][1])) {
    held_ = std::make_unique<Held<float>>(kind, pairs, options);
  } else {
    held_ = std::make_unique<Held<double>>(kind, pairs, options);
  }
}

std::optional<double> AnyOptimizer::step(std::optional<double> clip) {
  return std::visit(
      [&](const auto& held) {
        const GraphLock lock;
        std::optional<double> norm;
        if (clip) norm = global_norm(held->parameters);
        held->optimizer->step(lr, norm ? clip_factor(*norm, *clip) : 1);
        return norm;
      },
      held_);
}

void AnyOptimizer::zero_grad() {
  std::visit(
      [](const auto& held) {
        const GraphLock lock;
        held->parameters.zero_grad();
      },
      held_);
}

nb::dict AnyOptimizer::state_dict() const {
  nb::dict state;
  state["lr"] = lr;
  std::visit(
      [&]<class T>(const std::unique_ptr<Held<T>>& held) {
        state["steps"] = held->optimizer->steps();
        for (const OptimizerState<T>& one : held->optimizer->state()) {
          state[one.name.c_str()] = to_numpy<T>(std::make_shared<const Tensor<T>>(one.tensor));
        }
      },
      held_);
  return state;
}

void AnyOptimizer::load_state_dict(const nb::dict& state) {
  std::visit(
      [&]<class T>(const std::unique_ptr<Held<T>>& held) {
        std::vector<std::pair<std::string, std::shared_ptr<Versioned<T>>>> found;
        for (const OptimizerState<T>& one : held->optimizer->state()) {
          check<Error>(state.contains(one.name.c_str()), "load_state_dict: ", one.name,
                       " is missing");
          found.emplace_back(one.name, to_value<T>(state[one.name.c_str()]));
          check_shape(found.back().second->shape() == one.shape, "load_state_dict: ", one.name,
                      ": expected shape ", one.shape, ", got ", found.back().second->shape());
        }
        lr = nb::cast<double>(nb::float_(state["lr"]));
        held->optimizer->set_steps(nb::cast<std::uint64_t>(nb::int_(state["steps"])));
        for (const auto& [name, value] : found) held->optimizer->set_state(name, *value);
      },
      held_);
}

void add_layers(nb::module_& m) {
  m.def(
      "manual_seed", [](std::uint64_t seed) { places = {.seed = seed}; }, "seed"_a,
      "Restarts the random numbers of new layers: the same layers, made in the same order, get the "
      "same initial values.");
  m.def("_next_place", [] { return next_place().second; });
  nb::class_<Module>(
      m, "Module", nb::dynamic_attr(),
      "The base class of layers, and of your own: set layers, Variables that require a gradient, "
      "and lists or dicts of them as attributes, and define __call__().")
      .def(nb::init<>())
      .def_ro("_given", &Module::given)
      .def("_own_parameters", &Module::own_parameters);
  nb::class_<AnyOptimizer>(m, "Optimizer", "The base class of the optimizers.")
      .def_rw("lr", &AnyOptimizer::lr, "The learning rate of the next step.")
      .def("step", &AnyOptimizer::step, "clip"_a = nb::none(),
           "Updates the parameters by their gradients. With `clip`, first scales the gradients "
           "down to this norm if their norm is larger, and returns the norm before that. Raises "
           "NumericError when parameters have no gradient at the first step; with `clip`, also "
           "when the norm is not finite.")
      .def("zero_grad", &AnyOptimizer::zero_grad, "Clears the gradients.")
      .def("state_dict", &AnyOptimizer::state_dict,
           nb::sig("def state_dict(self) -> dict[str, typing.Any]"),
           "{name: a copy of an array}, with `lr` and the number of `steps`.")
      .def("load_state_dict", &AnyOptimizer::load_state_dict, "state"_a,
           "Restores the result of state_dict().");
  add_made_layers(m);
}

}  // namespace xgrad::python
