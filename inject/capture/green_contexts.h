/* Turns CUPTI's records of green contexts (cuGreenCtxCreate), which are parts of other contexts, into definitions. A
 * green context's GPU records name it. The callbacks of its launches, and all records of its streams and waits, name
 * the primary context (CUPTI 13.0, measured: tests/gpu/programs/green_probe.cu). CUPTI reports a green context when it
 * is made; those made earlier are known only by their number. cuptiActivityEnableAndDump() reports none. When it was
 * called at the opening of windows, nearly all launches of later windows had no records. */
#ifndef GREEN_CONTEXTS_H
#define GREEN_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

struct definition_writer;

/* Sends definitions to this writer from now on; it is borrowed for good. version: cuptiGetVersion(). Call it once, or
 * again with the same arguments. */
void green_contexts_on(struct definition_writer *definitions, uint32_t version);

/* Looks at an activity record of any kind. Returns true if it was only about a green context, and so needs no other
 * reader. Runs on CUPTI's thread. */
bool green_contexts_record(const void *activity);

#endif
