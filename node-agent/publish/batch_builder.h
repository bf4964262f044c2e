/* Builds messages from records and dictionaries. A batch holds records of one process. Everything that its records name
 * goes before it: strings, then modules, codes, frames and nodes, as far as they were not sent yet. Everything is split
 * below the limits of message.h.
 *
 * Pure: records go in, messages come out through the sink; it uses no clock and no descriptor. Single-threaded: only
 * the agent loop calls it. */
#ifndef BATCH_BUILDER_H
#define BATCH_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "proto/batch/message.h"

#define BATCH_RECORDS_MAX 8192u /* of each kind in one batch */

/* Takes a message, in order, and gives it its sequence number. 0 or -errno, which the builder's caller gets. */
typedef int (*batch_sink)(void *context, struct message *message);

struct batch_builder;

/* Creates a builder. The dictionaries and the context are borrowed until batch_builder_destroy() (accepts NULL). NULL:
 * out of memory. */
struct batch_builder *batch_builder_create(const struct string_dictionary *strings,
					   const struct stack_dictionary *stacks, batch_sink sink,
					   void *context);
void batch_builder_destroy(struct batch_builder *builder);

/* The first two functions return free room for records, *room of them, borrowed until the next commit or flush. *room
 * is 0 when the batch is full. The caller fills the records in place and then commits them. */
struct launch_record *batch_builder_launch_room(struct batch_builder *builder, uint32_t *room);
struct gpu_record *batch_builder_gpu_room(struct batch_builder *builder, uint32_t *room);
void batch_builder_commit_launches(struct batch_builder *builder, uint32_t count);
void batch_builder_commit_gpu(struct batch_builder *builder, uint32_t count);

/* Returns whether records wait: batch_builder_flush() will send a message of them after the dictionaries. */
bool batch_builder_has_records(const struct batch_builder *builder);

/* Gives back the memory that records took before they were sent. Borrowed room is gone. */
void batch_builder_give_back(struct batch_builder *builder);

/* Adds the name of a frame, which goes out with the next flush. 0 or -ENOMEM. */
int batch_builder_add_symbol(struct batch_builder *builder, uint32_t frame_id, uint32_t name_id);

/* Sends strings, stacks and symbols that were not sent yet. */
int batch_builder_flush_dictionaries(struct batch_builder *builder);

/* Returns whether all of the dictionaries, and all symbols, were sent. */
bool batch_builder_is_flushed(const struct batch_builder *builder);

/* Sends the records that wait, if any, as process_id's, after the dictionaries. clock_valid 0: no calibration yet. On
 * error the records are gone. */
int batch_builder_flush(struct batch_builder *builder, uint32_t process_id, int64_t clock_offset_ns,
			uint32_t clock_valid);

#endif
