// Uses a trained model in your own program. If there is no directory RUN, trains the model first:
//
//     predictor predictor.toml RUN "3 1 4 1 5"
#include <cstdio>
#include <exception>
#include <filesystem>

#include <xgrad/train/predict/predictor.hpp>
#include <xgrad/train/run/session.hpp>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: predictor CONFIG RUN TOKENS\n");
    return 2;
  }
  const std::string config = argv[1], run = argv[2];
  if (!std::filesystem::exists(run)) {
    xgrad::start_run(xgrad::load_config(config, {"run.dir=" + run}), config, {.quiet = true});
  }
  const xgrad::Predictor predictor(run);
  const xgrad::Prediction prediction = predictor(argv[3]);
  for (std::size_t i = 0; i < prediction.labels.size(); ++i) {
    std::printf("%s (%.3f) ", prediction.labels[i].c_str(), prediction.probabilities[i]);
  }
  std::printf("\n");
} catch (const std::exception& error) {
  std::fprintf(stderr, "predictor: %s\n", error.what());
  return 1;
}
