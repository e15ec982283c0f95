#include <xgrad/train/run/signals.hpp>

#include <csignal>

#include <iterator>

namespace xgrad {

static volatile std::sig_atomic_t stop_signal = 0, save_asked = 0;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGXFSZ, SIGPIPE};
static struct sigaction before[std::size(kSignals)];

static void handle(int signal) {
  (signal == SIGUSR1 ? save_asked : stop_signal) = signal;
}

Signals::Signals() {
  stop_signal = 0;
  save_asked = 0;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    struct sigaction action = {};
    action.sa_handler = kSignals[i] == SIGXFSZ || kSignals[i] == SIGPIPE ? SIG_IGN : handle;
    action.sa_flags = SA_RESTART;
    sigaction(kSignals[i], &action, &before[i]);
  }
}

Signals::~Signals() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &before[i], nullptr);
  }
}

int Signals::stop() const {
  return stop_signal;
}

bool Signals::take_save() {
  const bool asked = save_asked != 0;
  save_asked = 0;
  return asked;
}

}  // namespace xgrad
