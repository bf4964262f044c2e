/* Describes a process for its PROCESS message. Single-threaded: only the agent loop calls it. */
#ifndef PROCESS_DESCRIPTION_H
#define PROCESS_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "node-agent/base/device_list.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "proto/batch/message.h"
#include "proto/definition.h"
#include "proto/handshake.h"

/* notices of one process; further ones are dropped, since they are not data */
#define PROCESS_NOTICES_MAX 64u
/* streams of one process; further ones have no name and no priority */
#define PROCESS_STREAMS_MAX 4096u
/* contexts of one process that are parts of others; further ones count as plain contexts */
#define PROCESS_CONTEXTS_MAX 256u
#define PROCESS_NOTICE_SIZE  512u /* bytes of one notice; a longer one is cut */

struct process_description;

/* Creates the description, and reads /proc for it. pid is the agent's view, 0: not visible from here; the rest is the
 * guest's word. A process that keeps its memory from being read has its short name and no rank until
 * process_description_read_late() finds more. strings and devices are borrowed until process_description_destroy()
 * (accepts NULL). NULL: out of memory. */
struct process_description *process_description_create(uint32_t process_id, pid_t pid,
						       const struct guest_hello *hello,
						       struct string_dictionary *strings,
						       const struct device_list *devices);
void process_description_destroy(struct process_description *description);

/* Reads the process's job and rank again from its environment in /proc. At the first reading it may have been about to
 * call exec. Values that cannot be read stay. */
void process_description_read_job(struct process_description *description, pid_t pid);

/* Reads again what the process had kept from being read, if it still runs. is_late: returns whether something is left,
 * also because the process had ended before it could be read. */
void process_description_read_late(struct process_description *description);
bool process_description_is_late(const struct process_description *description);

/* Adds a device of the process, or updates it. Ordinals from RECORD_DEVICES_MAX on are ignored. 0, -ENOSPC or -ENOMEM
 * of the dictionary. */
int process_description_add_device(struct process_description *description,
				   const struct definition_device *device, const char *name,
				   size_t name_size);
bool process_description_has_devices(const struct process_description *description);

/* Adds a line for the report. 1: it is new; 0: it was there already, is empty, or is one too many; -ENOSPC or
 * -ENOMEM. */
int process_description_add_notice(struct process_description *description, const char *text,
				   size_t size);

/* Adds facts about a stream; facts that the definition lacks stay. 0, -ENOSPC or -ENOMEM. */
int process_description_add_stream(struct process_description *description,
				   const struct definition_stream *stream, const char *name,
				   size_t name_size);

/* Adds a context that is a part of another. 0, -ENOSPC or -ENOMEM. */
int process_description_add_context(struct process_description *description,
				    const struct message_context *context);

/* Gives the process the identity under which a killed agent reported it, so that its end comes under the same one. 0:
 * keeps the guest's value. */
void process_description_set_identity(struct process_description *description, pid_t pid,
				      uint64_t start_ticks);

/* Sets the command, for a caller that knows it better than /proc. 0, -ENOSPC or -ENOMEM. */
int process_description_set_command(struct process_description *description, const char *command);

/* Returns the process's rank; MESSAGE_RANK_NONE: not known. */
int32_t process_description_rank(const struct process_description *description);

void process_description_set_state(struct process_description *description,
				   enum process_state state);

/* Returns whether anything changed since the last process_description_message(). */
bool process_description_changed(const struct process_description *description);

/* Fills in a STREAM message of all streams. false: nothing changed since the last one. Borrowed until
 * the description changes. */
bool process_description_streams(struct process_description *description, struct message *message);

/* Fills in a PROCESS message. Borrowed until the description changes. */
void process_description_message(struct process_description *description, struct message *message);

#endif
