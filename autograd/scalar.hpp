// The scalar types that xgrad is built for, said once.
//
// float trains; double is for gradient checks and for whoever wants it; long double is the
// reference that derivatives are compared with, in tests and in `xgrad gradcheck`.
#pragma once

/// Applies X to every scalar type; a .cpp file ends with its explicit instantiations through it.
#define XGRAD_FOR_EACH_SCALAR(X) X(float) X(double) X(long double)

/// Applies X to the scalar types in which a model can be trained and saved.
#define XGRAD_FOR_EACH_TRAINING_SCALAR(X) X(float) X(double)
