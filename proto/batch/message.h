/* The messages between agent and aggregator, as structs. wire.md is their specification; batch_encode.h and
 * batch_decode.h turn them into frames and back.
 *
 * The agent gives out the ids on the wire. It numbers strings, modules, codes, frames, stack nodes and processes from 1
 * without gaps, for the life of its epoch. An id is defined before it is used: by a lower sequence number, or earlier
 * in the same message. Symbols are the exception: they come later than the frames that they name.
 *
 * Plain data; no function here. The encoder borrows pointers for its call; the decoder's are borrowed until its next
 * call. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "statistics_rows.h"

#include "proto/collective.h"
#include "proto/counter_sampling.h"
#include "proto/device_limits.h"
#include "proto/device_telemetry.h"
#include "proto/host_sample.h"
#include "proto/ledger.h"
#include "proto/record.h"

#define WIRE_VERSION         1u
#define WIRE_VERSION_HELLO   1u         /* of HELLO and REFUSE; it never changes */
#define WIRE_VERSION_FOLDS   2u         /* of the protocol, if HELLO folds */
#define WIRE_FRAME_MAX       (4u << 20) /* bytes of one frame */
#define WIRE_DEPTH_MAX       4u         /* nested arrays */
#define WIRE_STRING_MAX      65535u     /* bytes of one string */
#define WIRE_STACK_DEPTH_MAX 576u       /* nodes from a leaf to its root */
#define WIRE_EVENTS_MAX      65536u     /* records of one kind in one EVENTS message */
#define WIRE_ITEMS_MAX                                                                             \
	65536u /* strings, modules, codes, frames, nodes, symbols, entries in one message */
#define WIRE_ELEMENTS_MAX (1u << 17) /* MessagePack elements of one frame, over all its arrays */
#define WIRE_ID_MAX       (1u << 24) /* of any dictionary: an agent refuses to define more */
#define WIRE_TYPE_MAX     65535u     /* a message type, known or not */
#define WIRE_EPOCH_SIZE   16u
#define WIRE_UUID_SIZE    16u
#define WIRE_BUILD_ID_MAX 32u

enum message_type {
	MESSAGE_HELLO = 1,
	MESSAGE_WELCOME = 2,
	MESSAGE_REFUSE = 3,
	MESSAGE_STRINGS = 4,
	MESSAGE_STACKS = 5,
	MESSAGE_EVENTS = 6,
	MESSAGE_PAGES = 7,
	MESSAGE_LEDGER = 8,
	MESSAGE_CLOCK = 9,
	MESSAGE_ACK = 10,
	MESSAGE_PROCESS = 11,
	MESSAGE_PING = 12,
	MESSAGE_PONG = 13,
	MESSAGE_BYE = 14,
	MESSAGE_STATISTICS = 15,
	MESSAGE_CONTROL = 16,
	MESSAGE_STREAM = 17,
	MESSAGE_SAMPLES = 18,
	MESSAGE_COLLECTIVES = 19,
	MESSAGE_PLACEMENT = 20,
	MESSAGE_FETCH = 21,
	MESSAGE_PROOF = 22,
};

/* The version of the layout in which a message of this type travels. Peers of any two versions understand each other's
 * HELLO and REFUSE, so that a refusal can say why. */
static inline uint32_t message_version(enum message_type type)
{
	return type == MESSAGE_HELLO || type == MESSAGE_REFUSE ? WIRE_VERSION_HELLO : WIRE_VERSION;
}

struct message_text {
	const char *data; /* UTF-8 is not promised: names come from the application; no NUL */
	uint32_t size;
};

#define MESSAGE_JOB_NAME_MAX 255u /* bytes of a key or a user */
#define MESSAGE_JOB_RAW      1u   /* flag: the profile keeps each sample of host threads */
#define MESSAGE_JOB_COARSE   2u   /* flag: reports have no source lines */
#define MESSAGE_HELLO_ASKS   4u   /* on the wire among these: message_hello.asks */
#define MESSAGE_HELLO_FOLDS  8u   /* on the wire among these: message_hello.folds */
#define MESSAGE_HELLO_OFFERS 16u  /* on the wire among these: message_hello.offers */

/* The job to which an agent belongs, for an aggregator that keeps one profile for each job. */
struct message_job {
	/* all agents of the job send the same key, agents of other jobs a different one; no blanks. "": no job */
	struct message_text key;
	struct message_text user; /* the job's owner, no blanks; "": not known */
	struct message_text title;
	int32_t nr_nodes, world_size; /* -1: not known */
	uint32_t flags;               /* MESSAGE_JOB_… */
};

/* The first frame of every connection, also after a reconnect. It has no sequence number. */
struct message_hello {
	uint32_t version_min, version_max;
	uint8_t epoch[WIRE_EPOCH_SIZE]; /* random for each start of an agent */
	struct message_text software;   /* "flamegrid 0.1.0" */
	struct message_text node;       /* --node-name, else Slurm's, else the hostname */
	struct message_text boot_id;    /* /proc/sys/kernel/random/boot_id */
	struct message_job job;
	/* The successor of that epoch's agent asks how far the epoch is stored. The answer ends the epoch. */
	bool asks;
	/* It sends PAGES and BYE alone: a node's profile, which the node itself folds. Its versions are those from
	 * WIRE_VERSION_FOLDS on, so that an aggregator that does not know PAGES refuses it. */
	bool folds;
	/* an agent that has sent nothing: its node can fold, and WELCOME says whether it is to. That WELCOME makes no
	 * session: an agent that is to send says HELLO again */
	bool offers;
};

/* The version of the protocol that follows this HELLO, if the sender speaks it. */
static inline uint32_t message_hello_version(const struct message_hello *hello)
{
	return hello->folds ? WIRE_VERSION_FOLDS : WIRE_VERSION;
}

struct message_welcome {
	uint32_t version;       /* chosen */
	uint32_t window_frames; /* at most this many unacknowledged sequenced frames */
	uint64_t window_bytes;
	/* last sequence number of this epoch that is safely stored; 0: none */
	uint64_t durable_seq;
	struct message_text profile; /* the profile's place, for people; "": not told */
	bool folds; /* the answer to an offer: the node is to fold, and the agent sends nothing here */
};

enum refuse_code {
	REFUSE_VERSION = 1,
	REFUSE_MALFORMED = 2,  /* the frame breaks the specification */
	REFUSE_SEQUENCE = 3,   /* a gap: frames are missing before this one */
	REFUSE_UNDEFINED = 4,  /* the frame uses an id that was not defined */
	REFUSE_NO_HELLO = 5,   /* a sequenced frame before HELLO: say HELLO again */
	REFUSE_STORE = 6,      /* the store is full or fails */
	REFUSE_LIMIT = 7,      /* too many peers, or an id above WIRE_ID_MAX */
	REFUSE_SUPERSEDED = 8, /* a successor has asked for this epoch, which ended the epoch */
	REFUSE_DENIED = 9,     /* the connection's key is another user's */
	REFUSE_UNPROVEN = 10,  /* nobody knows whose the connection's key is: prove it (again) */
};

struct message_refuse {
	uint32_t code;              /* enum refuse_code */
	struct message_text reason; /* for people */
};

struct message_strings {
	uint64_t seq;
	uint32_t base; /* id of the first */
	uint32_t count;
	const struct message_text *strings;
	/* For each string the user whose share of the profile it uses; 0: no user's, for strings of the agent itself.
	 * NULL: all are 0. */
	const uint32_t *owners;
};

#define MESSAGE_OWNER_NONE                                                                         \
	UINT32_MAX /* not known, because an older agent sent it; no user has this id */

struct message_module {
	uint32_t path;  /* string id */
	uint32_t flags; /* enum definition_module_flags */
	/* The user whose processes map the file. Its names are believed for this user's processes alone. */
	uint32_t owner;
	uint32_t build_id_size; /* 0: none known */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
};

/* The name of a frame that is no place in a file: a Python function, or a mark such as "[frames missing]". */
struct message_code {
	uint32_t file; /* string id; 0: a mark, whose name is shown as it is */
	uint32_t name; /* string id, never 0: the qualified name, or the mark */
};

enum message_frame_limits {
	MESSAGE_FRAME_NO_MODULE = 0, /* offset is then the plain address */
	MESSAGE_FRAME_NATIVE = 0,    /* no code */
};

struct message_frame {
	uint32_t module; /* module id, or MESSAGE_FRAME_NO_MODULE */
	/* code id (module is then MESSAGE_FRAME_NO_MODULE), or MESSAGE_FRAME_NATIVE */
	uint32_t code;
	/* Virtual address in the ELF file of the call, that is the return address - 1. With a code: the line that
	 * runs, 0: none. */
	uint64_t offset;
};

struct message_node {
	uint32_t parent; /* node id, below this node's own; 0: this is a root (outermost frame) */
	uint32_t frame;  /* frame id */
};

struct message_symbol {
	uint32_t frame; /* frame id */
	/* string id; 0: the frame was looked up and has no name. wire.md describes inlined functions and lines. */
	uint32_t name;
};

/* New call stacks as a prefix tree; a stack_id of an EVENTS record is a node id. */
struct message_stacks {
	uint64_t seq;
	uint32_t module_base, nr_modules;
	uint32_t frame_base, nr_frames;
	uint32_t node_base, nr_nodes;
	uint32_t nr_symbols;
	uint32_t code_base, nr_codes;
	const struct message_module *modules;
	const struct message_frame *frames;
	const struct message_node *nodes;
	const struct message_symbol *symbols;
	const struct message_code *codes; /* frames of the same message may use them */
};

enum statistics_domain { /* CUPTI's numbers */
			 STATISTICS_DRIVER = 1,
			 STATISTICS_RUNTIME = 2,
};

#define MESSAGE_RANK_NONE  (-1)
#define MESSAGE_INDEX_NONE (-1)

struct message_device {
	uint32_t device_id; /* CUDA ordinal in the process */
	int32_t index; /* physical index on the node by PCI order; MESSAGE_INDEX_NONE: not found */
	uint8_t uuid[WIRE_UUID_SIZE];
	uint32_t name; /* string id, 0: none */
	uint32_t pci;  /* string id, "0000:17:00.0" */
	struct device_limits limits;
};

enum process_state {
	PROCESS_RUNNING = 0,
	PROCESS_ENDED = 1,   /* flushed and said goodbye */
	PROCESS_UNCLEAN = 2, /* died without a goodbye */
};

/* A process and its state. It is sent again whenever something changed, and the last one counts. Nothing of a process
 * follows its end. */
struct message_process {
	uint64_t seq;
	uint32_t process_id; /* the agent's, from 1 */
	uint32_t pid;        /* as the agent sees it */
	uint64_t start_ticks, pid_namespace;
	uint8_t instance[16];
	uint32_t state;                       /* enum process_state */
	int32_t rank, local_rank, world_size; /* MESSAGE_RANK_NONE */
	uint32_t job;                         /* string id, 0: none */
	uint32_t command;                     /* string id */
	uint32_t nr_devices;
	const struct message_device *devices;
	uint32_t nr_notices;
	const uint32_t *notices; /* string ids: lines for the report */
};

/* Raw records of one process. name_id is a string id; stack_id and capture_stack_id are node ids. */
struct message_events {
	uint64_t seq;
	uint32_t process_id;
	/* CLOCK_MONOTONIC - CUPTI's clock, by the newest calibration; 0 where clock_valid is 0: there is none */
	int64_t clock_offset_ns;
	uint32_t clock_valid;
	uint32_t nr_launches, nr_gpu;
	const struct launch_record *launches;
	const struct gpu_record *gpu;
};

struct message_stream {
	uint32_t context_id, stream_id; /* as in GPU records */
	uint32_t name;                  /* string id, 0: none */
	int32_t priority;               /* lower numbers go first */
	uint32_t flags;                 /* enum definition_stream_flags */
};

/* A green context: a part of the device, made within a parent context. */
struct message_context {
	uint32_t context_id; /* as in GPU records */
	uint32_t
		parent_id; /* as in GPU records; message_stream.context_id of its streams is the parent's */
	uint32_t device_id;          /* CUDA ordinal */
	uint32_t nr_multiprocessors; /* of the device's, that are this context's; 0: not known */
	uint32_t flags;              /* enum definition_context_flags */
};

/* The streams and green contexts of a process. What a later message says of a stream replaces what an earlier one
 * said. */
struct message_streams {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_streams, nr_contexts;
	const struct message_stream *streams;
	const struct message_context *contexts;
};

/* Samples, waits and calls of a process's host threads, from the agent's BPF programs. stack_id is a node id, name_id
 * a string id. */
struct message_samples {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_samples; /* WIRE_EVENTS_MAX at most */
	const struct host_sample *samples;
	/* CLOCK_REALTIME - CLOCK_MONOTONIC of the node, the same in all messages of an agent; 0: not known */
	int64_t realtime_offset_ns;
};

/* Calls of a collective library by one process, and the communicators that these calls are the first to use.
 * Communicators have ids from 1 without gaps. What a later message says of a communicator replaces what an earlier one
 * said. stack_id is a node id. */
struct message_collectives {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_communicators; /* WIRE_ITEMS_MAX at most */
	uint32_t nr_collectives;   /* WIRE_EVENTS_MAX at most */
	const struct communicator *communicators;
	const struct collective *collectives;
};

/* The process's whole ledger so far (ledger.h). It replaces the one that was sent before. */
struct message_ledger {
	uint64_t seq;
	uint32_t process_id; /* 0: the agent itself */
	uint32_t nr_entries;
	const struct ledger_entry *entries;
};

/* Sums of one process so far. Each row replaces the row with its key; other rows stay. */
struct message_statistics {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_calls, nr_configs, nr_metrics;
	const struct message_api_call *calls;
	const struct message_kernel_config *configs;
	const struct message_kernel_metric *metrics;
};

#define WIRE_PAGE_BYTES_MAX (64u << 20) /* of one page */

/* A part of one page of a profile (aggregator/pages/profile_page.h). A round's pages come by tables and numbers rising,
 * each once, and the parts of a page from its first byte to its last. */
struct message_page_part {
	uint32_t table;
	uint32_t number;     /* of the page in its table, from 0 */
	uint32_t page_bytes; /* the whole page; 1 to WIRE_PAGE_BYTES_MAX */
	uint32_t at;   /* the part's first byte in the page; at + size is page_bytes at most */
	uint32_t size; /* bytes of the part, never 0 */
};

/* A table of the profile at the end of a round. Tables come rising; those that do not come have no pages. */
struct message_page_table {
	uint32_t table;
	uint32_t nr_pages; /* pages from this number on are no longer in the profile */
};

/* Pages of a node's profile that have changed since the round before. They count when the whole round has come. The
 * first round of an epoch has all pages. */
struct message_pages {
	uint64_t seq;
	uint8_t writer[WIRE_EPOCH_SIZE]; /* the profile's writer (docs/store.md) */
	uint64_t round;                  /* from 1, rising; the same in all messages of a round */
	uint32_t nr_parts;               /* WIRE_ITEMS_MAX at most, as nr_tables */
	uint32_t nr_bytes;               /* the sum of the parts' sizes */
	const struct message_page_part *parts;
	const uint8_t *bytes; /* of all parts, one after the other */
	uint32_t nr_tables;   /* 0: more messages of this round follow */
	const struct message_page_table *tables;
};

/* Everything up to seq is committed. An ACK may be repeated, and may be lost: the next one says as much. */
struct message_ack {
	uint64_t seq;
	uint32_t window_frames;
	uint64_t window_bytes;
	/* to a link of a node's profile: somebody watches, so a round is to come after this time; 0: nobody does */
	uint32_t round_ms;
};

struct message_ping {
	uint64_t token; /* PONG gives it back */
	/* PING: time since the last of this node's ranks has ended, 1 at least; 0: ranks run, or it is not known */
	uint64_t ended_ms;
};

/* The agent's last word: seq is the highest ever sent and includes this frame. */
struct message_bye {
	uint64_t seq;
};

#define PLACEMENT_NODE_NONE UINT32_MAX /* not known */

struct message_placed_device {
	uint32_t device_id; /* CUDA ordinal of a device that PROCESS has described */
	uint32_t numa_node; /* the operating system's number, or PLACEMENT_NODE_NONE */
	uint32_t cpus; /* string id of that node's CPUs as a list, "0-15,32-47"; 0: not known */
};

struct message_placed_thread {
	uint32_t tid;
	uint32_t numa_node;
	uint64_t count; /* how often the thread was seen on a CPU of that node, so far */
};

enum device_link {
	DEVICE_LINK_NONE = 0, /* not known */
	DEVICE_LINK_NVLINK = 1,
	DEVICE_LINK_PCIE = 2,
};

struct message_link {
	uint32_t device_id;        /* CUDA ordinal of a device that PROCESS has described */
	uint32_t link;             /* enum device_link, or one that a newer agent knows */
	uint64_t bytes_per_second; /* its peak in one direction; never 0 */
};

/* The NUMA nodes of a process's devices, those on which its launching threads run, the devices' links to other GPUs,
 * their telemetry, and samples of their counters. A row replaces the row with its key: device_id, tid and numa_node, or
 * device_id and begin_ns. */
struct message_placement {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_devices, nr_threads, nr_links, nr_telemetry, nr_counter_states, nr_counters;
	const struct message_placed_device *devices;
	const struct message_placed_thread *threads;
	const struct message_link *links;
	const struct device_telemetry *telemetry;
	const struct counter_state *counter_states;
	const struct counter_sample *counters;
};

enum clock_kind {
	CLOCK_ASK = 0, /* from an agent: t1_ns */
	CLOCK_ANSWER =
		1, /* from the aggregator: the agent's t1_ns, t2_ns, t3_ns, realtime_offset_ns */
	/* from an agent: t1_ns, the time of the comparison, and all fields from realtime_offset_ns on */
	CLOCK_RESULT = 2,
	CLOCK_KINDS,
};

#define CLOCK_BOUND_MAX_NS 60000000000ll /* a comparison with a greater bound is not used */

/* Compares the clocks of an agent's node and of the aggregator's. The messages have no sequence number, and each may be
 * lost. t1_ns (the question leaves) and t4_ns (the answer arrives; not sent) are the agent's CLOCK_MONOTONIC. t2_ns
 * (the question arrives) and t3_ns (the answer leaves) are the aggregator's. A field that a kind does not use is 0. */
struct message_clock {
	uint32_t kind; /* enum clock_kind */
	uint64_t t1_ns, t2_ns, t3_ns;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC of the sender; 0: not known */
	int64_t offset_ns;          /* the agent's CLOCK_MONOTONIC - the aggregator's */
	uint64_t bound_ns; /* the true offset is within offset_ns ± this; 1 to CLOCK_BOUND_MAX_NS */
	uint64_t round_trip_ns; /* without the time from t2_ns to t3_ns */
};

enum control_kind {
	CONTROL_ASK = 0,   /* from `flamegrid control`: the command; the agents' fields are 0 */
	CONTROL_ORDER = 1, /* from the aggregator to agents: the command, with absolute times */
	CONTROL_TAKEN = 2, /* from an agent: token, state, nr_processes, bound_ns */
	CONTROL_ANSWER =
		3, /* from the aggregator to `flamegrid control`: the order, and each agent's state */
	CONTROL_KINDS,
};

enum control_state {
	CONTROL_WAITING = 0, /* the agent has not answered yet */
	CONTROL_IN_TIME = 1,
	CONTROL_LATE = 2, /* the order reached the agent after from_ns */
	CONTROL_STATES,
};

#define WIRE_CONTROL_ACTION_MAX 2u
#define WIRE_CONTROL_AGENTS_MAX 4096u

struct message_control_agent {
	struct message_text node;
	uint32_t state;        /* enum control_state */
	uint32_t nr_processes; /* guests that this agent commands now */
	/* the most by which the time used may differ from the aggregator's CLOCK_REALTIME; 0: not known */
	uint64_t bound_ns;
};

/* A command to all agents of a job. The messages have no sequence number: `flamegrid control` repeats its question,
 * with the same token, until all agents have taken the command. */
struct message_control {
	uint32_t kind;              /* enum control_kind */
	uint64_t token;             /* the command's: random, never 0 */
	uint32_t action;            /* 0: as the run's options say, 1: start, 2: stop */
	uint32_t relative;          /* CONTROL_ASK: 1: times count from the question's arrival */
	uint64_t from_ns, until_ns; /* the aggregator's CLOCK_REALTIME; 0: at once, without end */
	uint32_t state;             /* this and the next two: CONTROL_TAKEN */
	uint32_t nr_processes;
	uint64_t bound_ns;
	uint32_t nr_agents; /* CONTROL_ANSWER */
	const struct message_control_agent *agents;
	/* CONTROL_ASK: the job whose agents are meant, where the aggregator keeps one profile for each job; "": agents
	 * without a job */
	struct message_text job_key, job_user;
};

enum fetch_kind {
	FETCH_LIST = 0,  /* from `flamegrid fetch`: which jobs of the user are there? */
	FETCH_READ = 1,  /* from `flamegrid fetch`: bytes of a file of a complete job */
	FETCH_JOBS = 2,  /* the aggregator's answer to FETCH_LIST */
	FETCH_BYTES = 3, /* the aggregator's answer to FETCH_READ */
	FETCH_KINDS,
};

enum fetch_file {
	FETCH_NODES = 0, /* the profiles of nodes that are not in the store; mostly there is none */
	FETCH_STORE = 1,
	FETCH_FILES,
};

enum fetch_state {
	FETCH_RUNNING = 0,
	FETCH_REPORTING = 1, /* its reports are being made */
	FETCH_COMPLETE = 2,
	FETCH_STATES,
};

#define WIRE_FETCH_BYTES_MAX     (1u << 20) /* of a file in one message */
#define WIRE_FETCH_JOBS_MAX      256u       /* in one message */
#define WIRE_FETCH_IDENTITY_SIZE 16u

struct message_fetch_job {
	struct message_text name; /* of its directory */
	struct message_text key;
	uint32_t state;                  /* enum fetch_state */
	uint64_t size_bytes, written_ns; /* of its files; the last write, CLOCK_REALTIME */
};

/* Profiles of jobs for the user whose they are. The messages have no sequence number: `flamegrid fetch` repeats a
 * question that has no answer. A field that a kind does not use is 0 or empty. */
struct message_fetch {
	uint32_t kind;  /* enum fetch_kind */
	uint64_t token; /* the question's, never 0; the answer has the same */
	struct message_text
		user; /* whose jobs; MESSAGE_JOB_NAME_MAX bytes at most, as the next one */
	/* FETCH_LIST and FETCH_JOBS: only jobs whose names follow this one; else the job's directory */
	struct message_text name;
	uint32_t file;        /* enum fetch_file */
	uint64_t offset;      /* of the first byte */
	uint64_t total_bytes; /* FETCH_BYTES: the file's size; 0: there is no such file */
	/* FETCH_BYTES: changes when the file is another one, or was written */
	uint8_t identity[WIRE_FETCH_IDENTITY_SIZE];
	uint32_t nr_bytes; /* FETCH_BYTES: WIRE_FETCH_BYTES_MAX, or fewer at the file's end */
	const uint8_t *bytes;
	uint32_t
		nr_jobs; /* FETCH_JOBS, names rising; fewer than WIRE_FETCH_JOBS_MAX: these were all */
	const struct message_fetch_job *jobs;
};

#define WIRE_PROOF_MAX 4096u /* bytes of a credential; munge's have about 300 */

/* Says whose the connection's key is, where the aggregator asks munge. The message has no sequence number; one without
 * an answer is followed by another, with a new credential. */
struct message_proof {
	/* To the aggregator: a munge credential over key_set_proof(), at most WIRE_PROOF_MAX bytes. From it: the
	 * user's name there. Never empty. */
	struct message_text text;
};

struct message {
	enum message_type type;
	union {
		struct message_hello hello;
		struct message_welcome welcome;
		struct message_refuse refuse;
		struct message_strings strings;
		struct message_stacks stacks;
		struct message_process process;
		struct message_events events;
		struct message_ledger ledger;
		struct message_statistics statistics;
		struct message_ack ack;
		struct message_ping ping; /* and PONG */
		struct message_bye bye;
		struct message_placement placement;
		struct message_pages pages;
		struct message_clock clock;
		struct message_control control;
		struct message_fetch fetch;
		struct message_proof proof;
		struct message_streams streams;
		struct message_samples samples;
		struct message_collectives collectives;
	};
};

#endif
