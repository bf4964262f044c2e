/* The parts of session_apply(), one for each type of message, and what they offer one another. Single-threaded. */
#ifndef SESSION_MODULES_H
#define SESSION_MODULES_H

#include "agent_session.h"

struct catalog;
struct collection;
struct roster_process;

/* This many streams of a process have a timeline of their own since the aggregator's start. The others share one. */
#define SESSION_EVENTS_STREAMS_MAX 4096u

/* Stands in the profile for every text whose owner has no room (text_shares.h). Texts that the profile has already need
 * no room. */
#define SESSION_STRINGS_LEFT_OUT "[a name too many]"

/* Applies all of a message, or nothing: puts the definitions, records and sums of an agent into the collection, under
 * the store's ids. Returns 0; an enum refuse_code, and *reason (static storage) says why; -ENOMEM: the collection is no
 * longer exact. */
typedef int session_module(struct agent_session *session, struct collection *collection,
			   const struct message *message, const char **reason);

session_module session_strings_apply, session_stacks_apply, session_process_apply,
	session_events_apply, session_ledger_apply, session_statistics_apply, session_streams_apply,
	session_samples_apply, session_placement_apply, session_collectives_apply;

/* The agent says goodbye: nothing more will come from its processes that still run. */
session_module session_process_leave;

/* Offers a GPU record of a process, which may be the kernel of a call. is_nccl: it is a kernel of NCCL's. Ids are the
 * store's. 0 or -ENOMEM. */
int session_collectives_record(struct collection *collection, uint32_t process,
			       const struct message_events *events, const struct gpu_record *record,
			       bool is_nccl);

/* Logs a record of GPU work for the device's idle time, if the process has samples. Call it before the record goes to
 * the device's timeline. events: the record's message; device: the store's id. 0 or -ENOMEM. */
int session_samples_work(struct collection *collection, uint32_t process, uint32_t device,
			 const struct message_events *events, const struct gpu_record *record);

/* Keeps a record of GPU work with valid times, which was added to the correlator last, if the process has communicators
 * (kept_log.h). 0 or -ENOMEM. */
int session_samples_kernel(struct collection *collection, uint32_t process,
			   const struct gpu_record *record);

/* Adds a record of GPU work to the busy times of its stream, process and device. Records of other kinds, and with
 * impossible times, do not count. is_nccl as above; id is the process's. 0 or -ENOMEM. */
int session_events_busy(struct collection *collection, struct roster_process *process, uint32_t id,
			const struct gpu_record *record, bool is_nccl);

/* The store's id of SESSION_STRINGS_LEFT_OUT; 0: all texts had room. */
uint32_t session_strings_left_out(const struct catalog *catalog);

#endif
