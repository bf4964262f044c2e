/* The shared memory that one guest writes and the agent reads: a sealed memfd with
 *   - launch lanes: one single-producer ring of launch_records for each launching thread;
 *   - the collective lane: collective_records of any thread, lock-free;
 *   - the activity lane: gpu_records; a lock of the guest, which is not on the launch path, serialises its producers;
 *   - the definition lane: definitions of variable size; another lock of the guest serialises its producers;
 *   - the stack arena: bodies of interned stacks, append-only and lock-free. A stack's body is in the memfd before the
 *     first launch record that refers to it;
 *   - the code arena: names of Python functions, append-only and lock-free, before the first stack that refers to them;
 *   - counters for the ledger, and a meter for each launch lane;
 *   - two things for the next agent, if this one dies: the log, which is a copy of every definition but clocks and
 *     samples of kernels, and the agent's marks, which say how far it had read when it sent a message. Cubins are in
 *     the log if the guest wants it, and fill half of it at most.
 * The memory outlives a killed guest: everything that was published can still be read.
 *
 * Order. A consumer needs definitions and launches before the records that refer to them. It takes a
 * record_ring_snapshot() first, and reads no further than that. The snapshot reads the activity lane's counter, then
 * those of the launch lanes and of the collective lane, then the definition lane's. So everything that a GPU record of
 * the snapshot refers to is in the snapshot, too.
 *
 * Each lane has two cursors. `read` moves when the agent has copied records; `release` moves when the aggregator has
 * acknowledged them, or when the lane gets crowded. The producer overwrites only released records. A full lane drops
 * the newest record and counts it.
 *
 * Threads: each launch lane has one producer; the consumer is one thread. Atomics are here and nowhere else on the way.
 * The consumer treats all content as hostile. It copies and checks the layout once, and bounds every index. A lane
 * whose counters make no sense is given up (-EPROTO) without harm to others. */
#ifndef RECORD_RING_H
#define RECORD_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/collective_record.h"
#include "proto/ledger.h"
#include "proto/record.h"

#define RECORD_RING_LANES_MAX 1024u
#define RECORD_RING_SIZE_MAX  (4ull << 30) /* bytes: no guest asks for more, no agent maps more */
#define RECORD_RING_LOG_MAX   (256u << 20) /* bytes */
#define RECORD_RING_LOG_CODE  2u           /* cubins fill one part in so many of the log at most */
#define RECORD_RING_MARKS     1024u        /* unacknowledged messages with a mark */
#define RECORD_RING_EPOCH     16           /* bytes: an agent's epoch */

#define RECORD_RING_DEFINITION_MIN (256u << 10) /* bytes of a definition lane */

struct record_ring; /* one side's view of the memory: the guest's is made by create, the agent's by map */

/* Sizes of a new ring. Powers of two, asserted on create, checked on map. */
struct record_ring_sizes {
	uint32_t launch_lanes;        /* up to RECORD_RING_LANES_MAX */
	uint32_t launch_lane_records; /* in each lane */
	uint32_t activity_records;
	uint32_t definition_bytes;
	uint32_t stacks;      /* up to RECORD_STACKS_MAX */
	uint32_t stack_words; /* of 8 bytes, for all stack bodies together */
	uint32_t codes;       /* up to RECORD_CODES_MAX */
	uint32_t code_words;  /* of 8 bytes, for all code names together */
	uint32_t log_bytes;   /* any number; 0: the next agent learns no definition of the past */
	uint32_t collectives; /* records; 0: no collective lane */
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

/* A command of the agent to the guest; the newest one counts. Times are CLOCK_REALTIME; 0: now, without end. */
struct record_ring_command {
	uint32_t action; /* enum record_ring_action */
	uint64_t from_ns, until_ns;
};

enum record_ring_capture_state {
	RECORD_RING_CAPTURE_OFF = 0, /* CUPTI is not in use: launches cost nothing */
	RECORD_RING_CAPTURE_ON = 1,  /* a window is open */
	RECORD_RING_CAPTURE_ENDING =
		2, /* the window is over; the guest waits for a moment to leave CUPTI */
	RECORD_RING_CAPTURE_LOADED = 3,  /* off, but CUPTI could not be left: launches still cost */
	RECORD_RING_CAPTURE_BLOCKED = 4, /* a window should be open, but CUPTI cannot be used */
};

/* What the guest costs its launching threads: LEDGER_METER and those after it. Words only grow; times are in ns. */
enum record_meter_word {
	RECORD_METER_THREADS,
	RECORD_METER_THREAD_NS,
	RECORD_METER_METERED, /* calls that were metered */
	RECORD_METER_CALLS,   /* and the calls that they stand for, as the five times do */
	RECORD_METER_ENTRY_NS,
	RECORD_METER_NATIVE_NS,
	RECORD_METER_PYTHON_NS,
	RECORD_METER_INTERN_NS,
	RECORD_METER_EXIT_NS,
	RECORD_METER_OUTLIERS,
	RECORD_METER_OUTLIER_NS,
	RECORD_METER_STACKS,
	RECORD_METER_STACK_NS,
	RECORD_METER_LESS, /* launches with less of their stack: a word for each level from COST_LEVEL_PYTHON on */
	RECORD_METER_WORDS = RECORD_METER_LESS + 3,
};

/* ---- guest */

/* Bytes of a ring of these sizes; 0: no ring may have these sizes. */
uint64_t record_ring_bytes(const struct record_ring_sizes *sizes);

/* Makes and maps a new memfd, sparse and sealed against resizing. The caller owns *fd, and may close it once the agent
 * has it. Raises no SIGXFSZ: a size above RLIMIT_FSIZE is -EFBIG.
 * Returns 0 or -errno; on error *ring is NULL and *fd -1. Uses mmap only, never malloc. */
int record_ring_create(const struct record_ring_sizes *sizes, struct record_ring **ring, int *fd);

/* Unmaps. Accepts NULL. */
void record_ring_destroy(struct record_ring *ring);

/* Claims a launch lane for the calling thread. Lock-free; reuses lanes that were given back.
 * Returns the lane's index; -EBUSY: no lane is free. */
int record_ring_claim_lane(struct record_ring *ring);
void record_ring_give_back_lane(struct record_ring *ring, uint32_t lane);

/* Appends to a claimed lane; only its owner calls. false: the lane is full, and has counted the record. Wait-free. */
bool record_ring_push_launch(struct record_ring *ring, uint32_t lane,
			     const struct launch_record *record);

/* Appends to the activity lane; callers hold the guest's activity lock. Returns the number of records that fitted. The
 * caller counts the rest, because the ledger counts by device. */
uint32_t record_ring_push_activity(struct record_ring *ring, const struct gpu_record *records,
				   uint32_t count);

/* Appends to the collective lane; any thread, lock-free. false: no room, and the caller counts the record. */
bool record_ring_push_collective(struct record_ring *ring, const struct collective_record *record);

/* Give memory of resting lanes back to the system: a lane rests if all its records are released and none was written
 * since the call before. Nobody reads released records until they are written again. A sixth of the lane, behind its
 * last record, stays. The guest calls each function from one thread only. Launches may come meanwhile; callers of the
 * second one hold the guest's activity lock. Both return the number of bytes. */
uint64_t record_ring_trim_launches(struct record_ring *ring);
uint64_t record_ring_trim_activity(struct record_ring *ring);

/* Free records in the activity lane. */
uint32_t record_ring_activity_room(const struct record_ring *ring);

/* Appends a definition (definition.h) in two parts; callers hold the guest's definition lock. false: no room, and the
 * caller counts the loss. */
bool record_ring_define(struct record_ring *ring, uint32_t type, const void *head,
			uint32_t head_size, const void *tail, uint32_t tail_size);

/* From now on the log has cubins, because there may be a next agent. The pieces of one come in order, and none of
 * another cubin between them. A cubin that finds no room has a piece there without its rest. Call it before the first
 * definition. */
void record_ring_keep_code(struct record_ring *ring);

/* Returns whether a definition of size_bytes leaves a quarter of the definition lane free. Those that come in masses
 * ask first, so that the others find room. Callers hold the same lock. */
bool record_ring_spares(const struct record_ring *ring, uint32_t size_bytes);

/* Stores a stack's words (leaf first) and returns its new id, from 1; RECORD_STACK_NONE: no room. Lock-free. */
uint32_t record_ring_add_stack(struct record_ring *ring, const uint64_t *frames, uint32_t depth);

/* Stores the names of a Python function, without a NUL, at most RECORD_CODE_TEXT_MAX bytes each, and returns its new
 * id, from 1; 0: no room. Lock-free. */
uint32_t record_ring_add_code(struct record_ring *ring, const char *file, uint32_t file_size,
			      const char *name, uint32_t name_size);

/* Adds to the ledger. device_id LEDGER_DEVICE_NONE: the whole process; above RECORD_DEVICES_MAX: counted under the last
 * device. The lanes count LEDGER_LAUNCHES and LEDGER_LAUNCH_RING_FULL themselves; a caller adds to LEDGER_LAUNCHES only
 * the launches for which it had no lane. */
void record_ring_count(struct record_ring *ring, uint32_t device_id, enum ledger_reason reason,
		       uint64_t count, uint64_t ns);

/* The words of a lane's meter, by enum record_meter_word; only the lane's owner adds. Borrowed for good. */
_Atomic uint64_t *record_ring_meter(struct record_ring *ring, uint32_t lane);

/* Lanes ever claimed: lane < lanes. Any thread of the guest. */
uint32_t record_ring_own_lanes(const struct record_ring *ring);

/* Launches so far that asked the GPU for work and did not fail, recorded or not, by the lanes and the ledger. */
uint64_t record_ring_own_launches(const struct record_ring *ring);

/* The highest id of a stack so far. Any thread of the guest. */
uint32_t record_ring_own_stacks(const struct record_ring *ring);

/* The agent's command if it is newer than *seq, which then becomes its number (0 before the first). One thread. */
bool record_ring_commanded(struct record_ring *ring, uint32_t *seq,
			   struct record_ring_command *command);

/* Tells the agent the state, and the number of windows that were opened so far. */
void record_ring_set_capture(struct record_ring *ring, enum record_ring_capture_state state,
			     uint32_t nr_windows);

void record_ring_finish(struct record_ring *ring); /* the state becomes RECORD_RING_FINISHED */

/* The time at which the agent last looked at this ring, CLOCK_MONOTONIC; 0: never. */
uint64_t record_ring_last_beat(const struct record_ring *ring);

/* Returns whether the agent gets the launches' stacks from the guest's probe, so that the guest need not walk them. */
bool record_ring_is_probed(const struct record_ring *ring);

/* ---- agent */

/* Maps a guest's memfd after checking type (tmpfs, no huge pages), seals, size and layout. fd stays the caller's and
 * may be closed; the ring keeps a descriptor of its own. Only the control pages are mapped: reading allocates no
 * memory that the guest has not written, whatever the ring's size. Returns 0; -EPROTO: not a ring, or a layout that
 * no guest makes; -EPERM: seals missing; -errno of dup, mmap, malloc. */
int record_ring_map(int fd, struct record_ring **ring);
void record_ring_unmap(struct record_ring *ring); /* accepts NULL */

/* The control pages could not be read (ring_guard.h). All lanes are given up, and the pages' other contents are not
 * used. */
bool record_ring_is_broken(const struct record_ring *ring);

/* The guest will see it within a tenth of a second. */
void record_ring_command(struct record_ring *ring, const struct record_ring_command *command);

/* The capture state and number of windows that the guest claims; for display only. */
uint32_t record_ring_capture(const struct record_ring *ring, uint32_t *nr_windows);
/* Tells the guest that the agent still lives. */
void record_ring_beat(struct record_ring *ring, uint64_t now_ns);

/* Sets the answer of record_ring_is_probed(). */
void record_ring_probe(struct record_ring *ring, bool on);

/* The end of one pass of reading. */
struct record_ring_snapshot {
	uint64_t activity;
	uint64_t definition;
	uint64_t collective;
	uint32_t lanes; /* launch lanes ever claimed: lane < lanes */
	uint64_t launch[RECORD_RING_LANES_MAX];
	int finished; /* the guest had said goodbye before any counter was read */
};
void record_ring_snapshot(struct record_ring *ring, struct record_ring_snapshot *snapshot);

/* Returns how many launches, GPU records and collectives of the snapshot are unread. */
uint64_t record_ring_unread(const struct record_ring *ring,
			    const struct record_ring_snapshot *snapshot);

/* Copy up to max unread records of the snapshot, and move the read cursor. Return their number; -EPROTO: the lane's
 * counters make no sense, or count records that nobody wrote. The lane is then given up and never read again. */
int record_ring_read_launches(struct record_ring *ring, const struct record_ring_snapshot *snapshot,
			      uint32_t lane, struct launch_record *out, uint32_t max);
int record_ring_read_activity(struct record_ring *ring, const struct record_ring_snapshot *snapshot,
			      struct gpu_record *out, uint32_t max);

/* The same for collectives. A record whose place is claimed but not yet written ends the pass. gone: the guest has
 * ended, so such records are skipped, and *nr_lost is their number. */
int record_ring_read_collectives(struct record_ring *ring,
				 const struct record_ring_snapshot *snapshot, bool gone,
				 struct collective_record *out, uint32_t max, uint32_t *nr_lost);

/* Copies the next definition into body. In a ring that an earlier agent has read, those of its log come first, and some
 * may come twice; samples of kernels do not. Returns 1; 0: the snapshot has no more; -EPROTO as above; -EMSGSIZE:
 * larger than body_max, and skipped. */
int record_ring_read_definition(struct record_ring *ring,
				const struct record_ring_snapshot *snapshot, uint32_t *type,
				void *body, uint32_t body_max, uint32_t *size);

/* Copies a stack, leaf first, of at most RECORD_STACK_DEPTH words. Returns its depth; -ENOENT: no such stack; -EPROTO.
 */
int record_ring_read_stack(const struct record_ring *ring, uint32_t stack_id, uint64_t *frames);

/* A Python function's names. */
struct record_ring_code {
	uint32_t file_size, name_size;
	char file[RECORD_CODE_TEXT_MAX], name[RECORD_CODE_TEXT_MAX]; /* no NUL */
};

/* 0; -ENOENT: no such code; -EPROTO. */
int record_ring_read_code(const struct record_ring *ring, uint32_t code_id,
			  struct record_ring_code *code);

/* Read positions. They go to record_ring_release() once all records before them are acknowledged. */
struct record_ring_position {
	uint64_t activity, definition, collective;
	uint32_t lanes;
	uint64_t *launch; /* [lanes]; the caller owns it: free() */
};
int record_ring_position(const struct record_ring *ring, struct record_ring_position *position);
void record_ring_release(struct record_ring *ring, const struct record_ring_position *position);

/* Releases the read records of every lane that is more than half full of them, acknowledged or not. A full lane would
 * lose new records, while the reader has the old ones in its own memory. They are lost only if the reader dies before
 * they are acknowledged. Returns the number of lanes. */
uint32_t record_ring_release_crowded(struct record_ring *ring);

/* Copies the ledger's nonzero entries. They include LEDGER_LAUNCHES, LEDGER_LAUNCH_RING_FULL and the meters from the
 * lanes, and the records that record_ring_resume() found gone. Returns their number, at most max;
 * (RECORD_DEVICES_MAX + 1) * LEDGER_REASONS always suffices. -EPROTO: a counter cannot be read, or is higher than any
 * guest can have counted. */
int record_ring_ledger(const struct record_ring *ring, struct ledger_entry *out, uint32_t max);

/* ---- from one agent to the next
 *
 * A guest offers its ring, perhaps several times. One agent at a time takes it and is then its owner; the ring holds
 * the owner's epoch. An agent that is offered a ring begins to read at a place that depends on the epoch in it:
 *   - None (a new ring, or an agent died while it took the ring): from `release`.
 *   - Its own: the offer changes nothing, because the agent has read the ring or still does. An agent that was stalled
 *     finds its guests' offers when it wakes, also those of processes that have ended meanwhile.
 *   - Another agent's, and the aggregator knows that agent's last stored message: from that message's mark, or from
 *     `release` if that is later. The records between the two are gone, and counted.
 *   - Another agent's, which the aggregator does not know: from `release`.
 * The old owner may still live: it is stalled, or somebody removed its socket. The aggregator's answer has ended its
 * epoch. So nothing that it sends is stored any more, and it ends. An agent that finds another epoch in a ring of its
 * own stops reading that ring.
 *
 * An agent may be killed between any two stores of these functions. The next one reads on from the same place and comes
 * to the same counts. */

/* true: the ring has an owner, and *epoch is the owner's; false: none. The guest may have forged the epoch: the caller
 * asks the aggregator about it. */
bool record_ring_owner(const struct record_ring *ring, uint8_t epoch[static RECORD_RING_EPOCH]);

/* Moves a ring that was mapped and not yet read to `release`, as it is now: other agents may have read the ring since
 * it was mapped. */
void record_ring_begin(struct record_ring *ring);

/* Moves a ring that was mapped and not yet read to the mark of the last owner's message `durable_seq`, or to `release`
 * if that is later. The records between the two were given back to the guest and are in no stored message. The ring's
 * ledger counts them from now on as lost because the lanes were full. Marks that make no sense are ignored. */
void record_ring_resume(struct record_ring *ring, uint64_t durable_seq);

/* The numbers of launches and GPU records that earlier agents have passed on, in a ring that was taken and not yet
 * read. The guest may have forged them: for display only. */
void record_ring_passed_on(const struct record_ring *ring, uint64_t *launches, uint64_t *records);

/* Skips all launches, GPU records and collectives that a ring has, which was mapped and not yet read. */
void record_ring_skip(struct record_ring *ring);

/* Makes this agent the ring's owner; the owner before must stop reading. Forgets the marks of other agents: call
 * record_ring_resume() before. */
void record_ring_own(struct record_ring *ring, const uint8_t epoch[static RECORD_RING_EPOCH]);

/* Notes how far all lanes are read. Call it before the message `seq` leaves that carries the newest records; numbers
 * only grow. 0; -EBUSY: RECORD_RING_MARKS messages are unacknowledged. */
int record_ring_mark(struct record_ring *ring, uint64_t seq);
bool record_ring_can_mark(const struct record_ring *ring);

/* Drops the marks of messages up to seq. They are acknowledged, and record_ring_release() was called for them. */
void record_ring_unmark(struct record_ring *ring, uint64_t seq);

#endif
