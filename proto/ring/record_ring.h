/* The shared memory between one guest (writes) and the agent (reads): a sealed memfd with
 *   - launch lanes: one single-producer ring of launch_records for each launching thread;
 *   - the collective lane: collective_records of any thread, lock-free;
 *   - the activity lane: gpu_records, its producers serialised by the guest's own lock (not on the launch path);
 *   - the definition lane: variable-size definitions, likewise serialised by the guest;
 *   - the stack arena: bodies of interned stacks, append-only, lock-free, so that a stack's body is in the memfd before
 *     the first launch record that names it;
 *   - the code arena: names of Python functions, likewise, there before the first stack that names them;
 *   - counters for the ledger;
 *   - for the next agent, should this one die: the log, a copy of every definition but clocks, and the agent's marks,
 *     how far it had read when it sent which message.
 * It outlives a killed guest: whatever was published can still be read.
 *
 * Order. A consumer that wants definitions and launches before what refers to them takes record_ring_snapshot() first
 * (which reads the activity lane's counter, then the launch lanes' and the collective lane's, then the definition
 * lane's) and reads no further than that snapshot: everything that a GPU record within it refers to is then within it,
 * too.
 *
 * Two cursors a lane: `read` moves when the agent has copied, `release` when the aggregator has acknowledged (or the
 * lane gets crowded); the producer may overwrite only what is released. A full lane drops the newest and counts.
 *
 * Threads: one producer a launch lane; the consumer is one thread. Atomics are here and nowhere else on the way. The
 * consumer treats all content as hostile: the layout is copied and checked once, every index is bounded, and a lane
 * whose counters make no sense is given up (-EPROTO) without harm to others. */
#ifndef RECORD_RING_H
#define RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/collective_record.h"
#include "proto/ledger.h"
#include "proto/record.h"

#define RECORD_RING_LANES_MAX 1024u
#define RECORD_RING_SIZE_MAX  (4ull << 30) /* bytes: no guest asks for more, no agent maps more */
#define RECORD_RING_LOG_MAX   (256u << 20) /* bytes */
#define RECORD_RING_MARKS     1024u        /* of messages that are not acknowledged */
#define RECORD_RING_EPOCH     16           /* bytes: an agent's epoch */

#define RECORD_RING_DEFINITION_MIN (256u << 10) /* bytes of a definition lane */

struct record_ring; /* one side's view of the memory: the guest's is made by create, the agent's by map */

/* Sizes of a new ring. Powers of two, asserted on create, checked on map. */
struct record_ring_sizes {
	uint32_t launch_lanes;        /* up to RECORD_RING_LANES_MAX */
	uint32_t launch_lane_records; /* a lane */
	uint32_t activity_records;
	uint32_t definition_bytes;
	uint32_t stacks;      /* up to RECORD_STACKS_MAX */
	uint32_t stack_words; /* of 8 bytes, for all stack bodies together */
	uint32_t codes;       /* up to RECORD_CODES_MAX */
	uint32_t code_words;  /* of 8 bytes, for all code names together */
	uint32_t log_bytes;   /* any number; 0: the next agent learns no definition of the past */
	uint32_t collectives; /* or 0: there is no room for any */
};

#define RECORD_RING_SIZES_DEFAULT                                                                  \
	((struct record_ring_sizes){                                                               \
		.launch_lanes = 256,                                                               \
		.launch_lane_records = 1u << 17, /* 4 MiB: 0.4 s at 300,000 launches a second */   \
		.activity_records = 1u << 19,    /* 32 MiB */                                      \
		.definition_bytes = 8u << 20,                                                      \
		.stacks = RECORD_STACKS_MAX,                                                       \
		.stack_words = 1u << 23, /* 64 MiB: 32 frames for each of RECORD_STACKS_MAX */     \
		.codes = RECORD_CODES_MAX,                                                         \
		.code_words = 1u << 20,  /* 8 MiB: 128 bytes for each of RECORD_CODES_MAX */       \
		.log_bytes = 32u << 20,  /* names and paths of the largest programs: 1 to 4 MiB */ \
		.collectives = 1u << 16, /* 5.5 MiB: 0.6 s at 100,000 a second */                  \
	})

enum record_ring_state {
	RECORD_RING_RUNNING = 0,
	RECORD_RING_FINISHED = 1, /* the guest flushed and said goodbye */
};

enum record_ring_action {
	RECORD_RING_COMMAND_NONE = 0, /* the guest's own options decide */
	RECORD_RING_COMMAND_START = 1,
	RECORD_RING_COMMAND_STOP = 2,
};

/* What the agent wants of a guest: the newest command counts. CLOCK_REALTIME; 0: now, without end. */
struct record_ring_command {
	uint32_t action; /* enum record_ring_action */
	uint64_t from_ns, until_ns;
};

enum record_ring_capture_state {
	RECORD_RING_CAPTURE_OFF = 0,     /* CUPTI is not in use: free */
	RECORD_RING_CAPTURE_ON = 1,      /* a window is open */
	RECORD_RING_CAPTURE_ENDING = 2,  /* the window is over; waits for a moment to leave CUPTI */
	RECORD_RING_CAPTURE_LOADED = 3,  /* off, but CUPTI could not be left: launches still cost */
	RECORD_RING_CAPTURE_BLOCKED = 4, /* wanted, but CUPTI cannot be had */
};

/* --- guest --------------------------------------------------------------------------------------------------- */

/* Bytes of a ring of these sizes; 0: there is none. */
uint64_t record_ring_bytes(const struct record_ring_sizes *sizes);

/* A new memfd, sized (sparse) and sealed against resizing, mapped. *fd is owned by the caller and may be closed after
 * it was handed over. Does not raise SIGXFSZ: a size above RLIMIT_FSIZE is refused with -EFBIG.
 * Returns 0 or -errno; on error *ring is NULL and *fd -1. Uses mmap only, never malloc. */
int record_ring_create(const struct record_ring_sizes *sizes, struct record_ring **ring, int *fd);

/* Unmaps. Accepts NULL. */
void record_ring_destroy(struct record_ring *ring);

/* A lane of its own for the calling thread. Lock-free; reuses lanes that were given back.
 * Returns the lane's index, or -EBUSY: none is free. */
int record_ring_claim_lane(struct record_ring *ring);
void record_ring_give_back_lane(struct record_ring *ring, uint32_t lane);

/* Appends to a claimed lane; only its owner calls. false: full, and counted by the lane. Wait-free. */
bool record_ring_push_launch(struct record_ring *ring, uint32_t lane,
			     const struct launch_record *record);

/* Appends to the activity lane; callers hold the guest's activity lock. Returns the number of records that fitted;
 * counting the rest is the caller's (the ledger wants them by device). */
uint32_t record_ring_push_activity(struct record_ring *ring, const struct gpu_record *records,
				   uint32_t count);

/* Appends to the collective lane; any thread, lock-free. false: no room (counting is the caller's). */
bool record_ring_push_collective(struct record_ring *ring, const struct collective_record *record);

/* Gives memory of lanes back to the system that was all released, and into which nothing was written since the call
 * before: what is released is read by nobody until it is written again. Most of a lane that rests goes; a sixth, behind
 * its last record, stays. Each is one thread's, of the guest alone; launches may come meanwhile, and callers of the
 * second hold the guest's activity lock. Returns how many bytes. */
uint64_t record_ring_trim_launches(struct record_ring *ring);
uint64_t record_ring_trim_activity(struct record_ring *ring);

/* Free records in the activity lane. */
uint32_t record_ring_activity_room(const struct record_ring *ring);

/* Appends a definition (definition.h) of `size` bytes in two parts; callers hold the guest's definition lock.
 * false: no room (counting is the caller's). */
bool record_ring_define(struct record_ring *ring, uint32_t type, const void *head,
			uint32_t head_size, const void *tail, uint32_t tail_size);

/* Stores a stack's words (leaf first) and returns its new id, from 1; RECORD_STACK_NONE: no room. Lock-free. */
uint32_t record_ring_add_stack(struct record_ring *ring, const uint64_t *frames, uint32_t depth);

/* A stored stack, borrowed until record_ring_destroy(). Guest side only: it trusts its own memory. */
const uint64_t *record_ring_own_stack(const struct record_ring *ring, uint32_t stack_id,
				      uint32_t *depth);

/* Stores the names of a Python function, without a NUL, at most RECORD_CODE_TEXT_MAX bytes each, and returns its new
 * id, from 1; 0: no room. Lock-free. */
uint32_t record_ring_add_code(struct record_ring *ring, const char *file, uint32_t file_size,
			      const char *name, uint32_t name_size);

/* Adds to the ledger. device_id LEDGER_DEVICE_NONE: of the process; above RECORD_DEVICES_MAX: under the last one.
 * The lanes count LEDGER_LAUNCHES and LEDGER_LAUNCH_RING_FULL themselves: a caller adds to LEDGER_LAUNCHES only the
 * launches for which it had no lane. */
void record_ring_count(struct record_ring *ring, uint32_t device_id, enum ledger_reason reason,
		       uint64_t count, uint64_t ns);

/* Launches so far that asked the GPU for work and were not refused, by the lanes and the ledger, recorded or not. */
uint64_t record_ring_own_launches(const struct record_ring *ring);

/* The agent's command, if it came since *seq (which it then is; 0 before the first). One thread. */
bool record_ring_commanded(struct record_ring *ring, uint32_t *seq,
			   struct record_ring_command *command);

/* Tells the agent: the state, and how many windows were opened so far. */
void record_ring_set_capture(struct record_ring *ring, enum record_ring_capture_state state,
			     uint32_t nr_windows);

void record_ring_finish(struct record_ring *ring); /* the state becomes RECORD_RING_FINISHED */

/* When the agent last looked at this ring, by CLOCK_MONOTONIC; 0: never. */
uint64_t record_ring_last_beat(const struct record_ring *ring);

/* Whether the agent has the stacks of launches by the guest's probe, and the guest need not walk them. */
bool record_ring_is_probed(const struct record_ring *ring);

/* --- agent --------------------------------------------------------------------------------------------------- */

/* Maps a guest's memfd after checking type (tmpfs, no huge pages), seals, size and layout. fd stays the caller's and
 * may be closed; the ring keeps a descriptor of its own. Only the control pages are mapped: reading allocates no
 * memory that the guest has not written, whatever the ring's size. Returns 0; -EPROTO: not a ring, or a layout that
 * no guest makes; -EPERM: seals missing; -errno of dup, mmap, malloc. */
int record_ring_map(int fd, struct record_ring **ring);
void record_ring_unmap(struct record_ring *ring); /* accepts NULL */

/* The control pages could not be read (ring_guard.h): all lanes are given up, and nothing else that they say counts. */
bool record_ring_is_broken(const struct record_ring *ring);

/* The guest will see it within a tenth of a second. */
void record_ring_command(struct record_ring *ring, const struct record_ring_command *command);

/* As the guest says: not to be trusted further than for display. */
uint32_t record_ring_capture(const struct record_ring *ring, uint32_t *nr_windows);
/* The agent still lives. */
void record_ring_beat(struct record_ring *ring, uint64_t now_ns);

/* What record_ring_is_probed() answers. */
void record_ring_probe(struct record_ring *ring, bool on);

/* How far one pass reads. */
struct record_ring_snapshot {
	uint64_t activity;
	uint64_t definition;
	uint64_t collective;
	uint32_t lanes; /* launch lanes ever claimed: lane < lanes */
	uint64_t launch[RECORD_RING_LANES_MAX];
	int finished; /* the guest had said goodbye before any counter was read */
};
void record_ring_snapshot(struct record_ring *ring, struct record_ring_snapshot *snapshot);

/* Copies up to max records not yet read and within the snapshot, and moves the read cursor. Returns their number;
 * -EPROTO: this lane's counters make no sense, or nobody wrote what they say; it is given up and never read again. */
int record_ring_read_launches(struct record_ring *ring, const struct record_ring_snapshot *snapshot,
			      uint32_t lane, struct launch_record *out, uint32_t max);
int record_ring_read_activity(struct record_ring *ring, const struct record_ring_snapshot *snapshot,
			      struct gpu_record *out, uint32_t max);

/* Likewise; a record that is claimed and not yet written ends it. gone: whoever wrote them is, and such records are
 * left out: *nr_lost, so many. */
int record_ring_read_collectives(struct record_ring *ring,
				 const struct record_ring_snapshot *snapshot, bool gone,
				 struct collective_record *out, uint32_t max, uint32_t *nr_lost);

/* Copies the next definition into body; in a ring that an earlier agent has read, those of its log come first (some
 * then a second time). Returns 1; 0: none within the snapshot; -EPROTO as above; -EMSGSIZE: larger than body_max,
 * skipped. */
int record_ring_read_definition(struct record_ring *ring,
				const struct record_ring_snapshot *snapshot, uint32_t *type,
				void *body, uint32_t body_max, uint32_t *size);

/* Copies a stack, leaf first, up to RECORD_STACK_DEPTH words. Returns its depth; -ENOENT: no such stack; -EPROTO. */
int record_ring_read_stack(const struct record_ring *ring, uint32_t stack_id, uint64_t *frames);

/* A Python function's names. */
struct record_ring_code {
	uint32_t file_size, name_size;
	char file[RECORD_CODE_TEXT_MAX], name[RECORD_CODE_TEXT_MAX]; /* no NUL */
};

/* 0; -ENOENT: no such code; -EPROTO. */
int record_ring_read_code(const struct record_ring *ring, uint32_t code_id,
			  struct record_ring_code *code);

/* Read positions, to be given back through record_ring_release() once what they cover is acknowledged. */
struct record_ring_position {
	uint64_t activity, definition, collective;
	uint32_t lanes;
	uint64_t *launch; /* [lanes] owned by whoever keeps the position; free() */
};
int record_ring_position(const struct record_ring *ring, struct record_ring_position *position);
void record_ring_release(struct record_ring *ring, const struct record_ring_position *position);

/* Releases what was read of every lane that is more than half full of it, acknowledged or not: the reader has it in its
 * own memory, and a lane that runs full would lose what is still to come. Only a reader that dies meanwhile loses by
 * it. Returns the number of lanes. */
uint32_t record_ring_release_crowded(struct record_ring *ring);

/* Copies the ledger's nonzero entries, LEDGER_LAUNCHES and LEDGER_LAUNCH_RING_FULL (from the lanes) included, and what
 * record_ring_resume() found gone.
 * Returns their number, at most max; (RECORD_DEVICES_MAX + 1) * LEDGER_REASONS always suffices. -EPROTO: a counter says
 * what no guest can have counted, or cannot be read. */
int record_ring_ledger(const struct record_ring *ring, struct ledger_entry *out, uint32_t max);

/* Records that were published and not yet read, over all lanes (give up lanes count 0). */
uint64_t record_ring_unread(const struct record_ring *ring);

/* --- from one agent to the next --------------------------------------------------------------------------------
 *
 * A ring is offered by its guest, perhaps several times, and taken by one agent at a time: its owner, whose epoch it
 * carries from then on. Which mark it is read from depends on whose epoch an agent finds when a ring is offered:
 *   - nobody's (a new ring, or its last owner's successor died while it took it): from `release`;
 *   - its own: it has read all of it, or still does, and the offer changes nothing. An agent that was stalled finds its
 *     guests' offers when it wakes, also those of processes that have ended meanwhile;
 *   - another's, that said how far it came (by way of the aggregator): from that message's mark, or from `release` if
 *     that is later. What lies between is gone, and counted;
 *   - another's, of which nobody knows any more: from `release`.
 * The old owner may live: it is stalled, or somebody removed its socket. Its epoch is over with the aggregator's
 * answer, so what it sends afterwards arrives nowhere, and it ends. One that finds another's epoch in a ring of its own
 * reads no more of it.
 *
 * An agent may be killed between any two stores of these functions: the next one reads on from the same place and
 * comes to the same counts. */

/* Whose the ring is: true, and its epoch; false: nobody's. The memory's word, to be checked with whoever knows. */
bool record_ring_owner(const struct record_ring *ring, uint8_t epoch[static RECORD_RING_EPOCH]);

/* In a ring that was mapped and not yet read: goes to what was released by now. Agents may have had the ring since it
 * was mapped. */
void record_ring_begin(struct record_ring *ring);

/* In a ring that was mapped and not yet read: goes to where the last owner's message `durable_seq` ended, or to what it
 * had released, whichever is later. What lies between was given back to the guest and is in no message that arrived:
 * the ring's ledger has it from now on, as lost because the lanes were full. Marks that make no sense count as none. */
void record_ring_resume(struct record_ring *ring, uint64_t durable_seq);

/* In a ring that was just taken, and not yet read: how many records of its launch lanes and of its activity lane agents
 * before this one have passed on. The memory's word: for display alone. */
void record_ring_passed_on(const struct record_ring *ring, uint64_t *launches, uint64_t *records);

/* In a ring that was mapped and not yet read: launches, GPU records and collectives that are there already will not be
 * read. */
void record_ring_skip(struct record_ring *ring);

/* Makes the ring this agent's: whoever had it before must read no more. Forgets the marks of others, which
 * record_ring_resume() has to have seen before. */
void record_ring_own(struct record_ring *ring, const uint8_t epoch[static RECORD_RING_EPOCH]);

/* Notes how far all lanes are read, before the message `seq` leaves that carries what came last; numbers only grow.
 * 0; -EBUSY: RECORD_RING_MARKS are waiting for their acknowledgement. */
int record_ring_mark(struct record_ring *ring, uint64_t seq);
bool record_ring_can_mark(const struct record_ring *ring);

/* Messages up to seq are acknowledged, and record_ring_release() was told: older marks are needed no more. */
void record_ring_unmark(struct record_ring *ring, uint64_t seq);

#endif
