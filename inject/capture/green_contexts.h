/* Contexts that are parts of others (cuGreenCtxCreate): what CUPTI's records tell of them becomes definitions. Their
 * GPU records name them, but the callbacks of their launches, and all records of their streams and waits, name the
 * primary context (CUPTI 13.0, measured: tests/gpu/programs/green_probe.cu). CUPTI tells of one when it is made: those
 * that were there before are known by their number alone. cuptiActivityEnableAndDump() tells of none, and where it was
 * called at the opening of windows, nearly all launches of later ones had no records. */
#ifndef GREEN_CONTEXTS_H
#define GREEN_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

struct definition_writer;

/* Definitions go there from now on; borrowed for good. version: cuptiGetVersion(). Once, or again with the same. */
void green_contexts_on(struct definition_writer *definitions, uint32_t version);

/* Looks at an activity record of any kind. Whether it was of a green context alone, and so needs no other reader. On
 * CUPTI's thread. */
bool green_contexts_record(const void *activity);

#endif
