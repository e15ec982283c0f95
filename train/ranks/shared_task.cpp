#include <xgrad/train/ranks/shared_task.hpp>

#include <string>

#include <xgrad/train/model/build.hpp>

namespace xgrad {

SharedTask make_task(Ranks& ranks, const Config& config, const Checkpoint* checkpoint) {
  SharedTask shared;
  // A rank that fails must not leave the others waiting in read_once().
  together(ranks, [&] { shared.task = make_task(config, checkpoint); });
  if (ranks.size() > 1) {
    shared.copied = shared.task->read_once(
        {ranks.rank(), [&](const std::string& own) { return gather_texts(ranks, own); }});
  }
  return shared;
}

}  // namespace xgrad
