// The messages of exceptions, for tests.
#pragma once

#include <string>

namespace xgrad::test {

/// The message of the Exception that `call` throws, "none" if it returns. Other exceptions pass.
template <class Exception, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace xgrad::test
