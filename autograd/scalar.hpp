// The list of scalar types that xgrad is built for.
//
// float is for training; double for gradient checks and, if wanted, training; long double for the
// reference that derivatives are compared with, in tests and in `xgrad gradcheck`.
#pragma once

/// Applies X to every scalar type. A .cpp file uses it for its explicit instantiations.
#define XGRAD_FOR_EACH_SCALAR(X) X(float) X(double) X(long double)

/// Applies X to the scalar types in which a model can be trained and saved.
#define XGRAD_FOR_EACH_TRAINING_SCALAR(X) X(float) X(double)
