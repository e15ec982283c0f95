// Exceptions of xgrad become those of xgrad.errors.
#pragma once

namespace xgrad::python {

/// Translates every exception of xgrad into the class of xgrad.errors with its name, with the same
/// message.
void add_errors();

}  // namespace xgrad::python
