/* Tells the functions of data loaders by their names. Pure; any thread. */
#ifndef LOADER_NAME_H
#define LOADER_NAME_H

#include <stdbool.h>

/* name: of a frame in a report. Names that loaders of PyTorch, TensorFlow and of people's own have. */
bool loader_name_is(const char *name);

#endif
