/* Streams by the handles that the program has: which context and stream id of CUPTI's each stands for,
 * so that a name given to a handle becomes a definition. Also what CUPTI's records tell of streams. */
#ifndef STREAM_NAMES_H
#define STREAM_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti_abi.h"
#include "cupti_library.h"

#define STREAM_NAMES_MAX 2048u /* streams at the same time that can be named */

struct definition_writer;

/* Names become definitions from now on. Both are borrowed for good. Once, or
 * again with the same. */
void stream_names_on(const struct cupti_library *library, struct definition_writer *definitions);

/* No more news of streams come: what a handle stands for is not known any more. Any thread. */
void stream_names_forget(void);

/* CUPTI's news of streams; inside the application's call: no lock, no malloc. */
void stream_names_created(const struct cupti_resource_data *data);
void stream_names_destroyed(const struct cupti_resource_data *data);

/* The program calls a stream so; size bytes, no NUL. Ignored: a stream that is not known (the default
 * streams, those created before the guest came). On the application's threads, but not inside CUPTI's
 * callbacks: takes the lock of definitions. */
void stream_names_set(const void *stream, const char *name, uint32_t size);

/* Whether an activity record is of a stream or a context; it then has become a definition. */
bool stream_names_record(const void *activity);

#endif
