#include <xgrad/cli/command_line.hpp>

int main(int argc, char** argv) {
  return xgrad::command_line(argc, argv);
}
