/* Enters what the loader has now into unwind tables; for tests. */
#ifndef LOADED_SEGMENTS_H
#define LOADED_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind_table.h"

/* All executable segments; those that are entered stay. */
void loaded_segments_enter(struct unwind_tables *tables);

/* The executable segment that holds address. */
bool loaded_segment_at(const void *address, struct unwind_module *module);

#endif
