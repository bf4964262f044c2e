/* Knows the context and the stream id of CUPTI that each of the program's stream handles stands for. So a name that is
 * given to a handle becomes a definition. CUPTI's records of streams and contexts become definitions, too. */
#ifndef STREAM_NAMES_H
#define STREAM_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti_abi.h"
#include "cupti_library.h"

#define STREAM_NAMES_MAX 2048u /* streams that can be named at the same time */

struct definition_writer;

/* Turns names into definitions from now on. Both pointers are borrowed for good. Call it once, or again with the same
 * pointers. */
void stream_names_on(const struct cupti_library *library, struct definition_writer *definitions);

/* Forgets which stream each handle stands for, because CUPTI's callbacks about streams end. Any thread may call. */
void stream_names_forget(void);

/* Notes a stream that CUPTI's callback reports as created or destroyed. It runs inside the application's call: no lock,
 * no malloc. */
void stream_names_created(const struct cupti_resource_data *data);
void stream_names_destroyed(const struct cupti_resource_data *data);

/* Defines the name that the program gives a stream: size bytes, no NUL. Unknown streams are ignored: the default
 * streams, and those created before the guest came. Call it on the application's threads, but not inside CUPTI's
 * callbacks: it takes the lock of definitions. */
void stream_names_set(const void *stream, const char *name, uint32_t size);

/* Returns whether an activity record is of a stream or a context. If so, it has become a definition. */
bool stream_names_record(const void *activity);

#endif
