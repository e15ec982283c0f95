#include <xgrad/train/run/signals.hpp>

#include <csignal>

#include <array>

namespace xgrad {

namespace {

volatile std::sig_atomic_t stop_signal = 0;
volatile std::sig_atomic_t save_asked = 0;

void on_stop(int signal) {
  stop_signal = signal;
}
void on_save(int) {
  save_asked = 1;
}

struct Handler {
  int signal;
  void (*function)(int);
};
const std::array<Handler, 5> kHandlers = {{{SIGINT, on_stop},
                                           {SIGTERM, on_stop},
                                           {SIGUSR1, on_save},
                                           {SIGXFSZ, SIG_IGN},
                                           {SIGPIPE, SIG_IGN}}};
std::array<struct sigaction, kHandlers.size()> before;

}  // namespace

Signals::Signals() {
  stop_signal = 0;
  save_asked = 0;
  for (std::size_t i = 0; i < kHandlers.size(); ++i) {
    struct sigaction action = {};
    action.sa_handler = kHandlers[i].function;
    action.sa_flags = SA_RESTART;
    sigaction(kHandlers[i].signal, &action, &before[i]);
  }
}

Signals::~Signals() {
  for (std::size_t i = 0; i < kHandlers.size(); ++i)
    sigaction(kHandlers[i].signal, &before[i], nullptr);
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
