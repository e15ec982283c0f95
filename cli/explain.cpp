// The command explain, which writes a page that shows how a model works.
#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/train/explain/explain.hpp>

namespace xgrad::commands {

Command explain_command() {
  struct Arguments : RunArguments {
    std::string out;
    std::size_t every = 0;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "explain", "Write a page that shows how the model works, on any input",
      {{"run", kRun, &a->run, kRequired},
       {"--out", "the new HTML file", &a->out, Rules{.required = true, .new_path = true}},
       {"--every",
        "with --every N, also show each N-th earlier checkpoint; default: as many as fit in 8 MB",
        &a->every, kPositive},
       last_option(*a)},
      [a] {
        check_new(a->out);
        const Explanation page = explain_html(a->run, a->every, a->take());
        publish_file(a->out, page.html);
        fmt::print("{}: {} bytes, with the weights at the steps {}\n", a->out,
                   grouped(page.html.size()), fmt::join(page.steps, ", "));
        if (!page.left_out.empty()) {
          fmt::print("left out: the steps {}; --every 1 shows all\n",
                     fmt::join(page.left_out, ", "));
        }
        return 0;
      });
}

}  // namespace xgrad::commands
