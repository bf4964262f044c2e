/* The messages between agent and aggregator, as structs. wire.md is their specification; batch_encode.h and
 * batch_decode.h turn them into frames and back.
 *
 * Ids on the wire are the agent's: strings, modules, codes, frames, stack nodes and processes are numbered by the agent
 * from 1 without gaps for the life of its epoch, and defined before (lower sequence number, or earlier in the same
 * message) anything that names them. Only symbols come later than the frames that they name. Plain data; no function
 * here. Pointers are borrowed: by the encoder for the call, from the decoder until the next. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/collective.h"
#include "proto/device_limits.h"
#include "proto/host_sample.h"
#include "proto/kernel_config.h"
#include "proto/ledger.h"
#include "proto/record.h"

#define WIRE_VERSION         1u
#define WIRE_VERSION_HELLO   1u         /* of HELLO and REFUSE, for ever */
#define WIRE_FRAME_MAX       (4u << 20) /* bytes of one frame */
#define WIRE_DEPTH_MAX       4u         /* nested arrays */
#define WIRE_STRING_MAX      65535u     /* bytes of one string */
#define WIRE_STACK_DEPTH_MAX 512u       /* nodes from a leaf to its root */
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
	MESSAGE_FOLD = 7, /* reserved */
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
};

/* The layout in which a message of this type travels. Ends of any two versions understand each other's HELLO and
 * REFUSE, so that they can at least disagree in words. */
static inline uint32_t message_version(enum message_type type)
{
	return type == MESSAGE_HELLO || type == MESSAGE_REFUSE ? WIRE_VERSION_HELLO : WIRE_VERSION;
}

struct message_text {
	const char *data; /* UTF-8 is not promised: names come from the application; no NUL */
	uint32_t size;
};

#define MESSAGE_JOB_NAME_MAX 255u /* bytes of a key or a user */
#define MESSAGE_JOB_RAW      1u   /* of its flags: samples of host threads one by one */
#define MESSAGE_JOB_COARSE   2u   /* reports without source lines */
#define MESSAGE_HELLO_ASKS   4u   /* on the wire among these: message_hello.asks */

/* The job that an agent is of, for an aggregator that keeps a profile for each. */
struct message_job {
	/* the same of all its agents, and of no other job's; no blanks. "": of none */
	struct message_text key;
	struct message_text user; /* whose it is, likewise without blanks; "": not known */
	struct message_text title;
	int32_t nr_nodes, world_size; /* -1: not known */
	uint32_t flags;               /* MESSAGE_JOB_… */
};

/* First frame of every connection, in both directions of time: also after a reconnect. Carries no sequence number. */
struct message_hello {
	uint32_t version_min, version_max;
	uint8_t epoch[WIRE_EPOCH_SIZE]; /* random for each start of an agent */
	struct message_text software;   /* "flamegrid 0.1.0" */
	struct message_text node;       /* --node-name, else Slurm's, else the hostname */
	struct message_text boot_id;    /* /proc/sys/kernel/random/boot_id */
	struct message_job job;
	bool asks; /* as the successor of that epoch's agent, which is over with the answer */
};

struct message_welcome {
	uint32_t version;       /* chosen */
	uint32_t window_frames; /* at most this many unacknowledged sequenced frames */
	uint64_t window_bytes;
	/* last sequence number of this epoch that is safely stored; 0: none */
	uint64_t durable_seq;
	struct message_text profile; /* where it is kept, for people; "": not told */
};

enum refuse_code {
	REFUSE_VERSION = 1,
	REFUSE_MALFORMED = 2,  /* the frame breaks the specification */
	REFUSE_SEQUENCE = 3,   /* a gap: frames are missing before this one */
	REFUSE_UNDEFINED = 4,  /* names an id that was not defined */
	REFUSE_NO_HELLO = 5,   /* a sequenced frame before HELLO: say HELLO again */
	REFUSE_STORE = 6,      /* the store can't take it (full, failing) */
	REFUSE_LIMIT = 7,      /* too many peers, or an id above WIRE_ID_MAX */
	REFUSE_SUPERSEDED = 8, /* a successor has asked for this epoch: it is over */
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
	/* Of each the user whose share of the profile it takes; 0: no user's, as of the agent itself. NULL: all 0 */
	const uint32_t *owners;
};

#define MESSAGE_OWNER_NONE UINT32_MAX /* no user has this id: an older agent does not tell */

struct message_module {
	uint32_t path;  /* string id */
	uint32_t flags; /* enum definition_module_flags */
	uint32_t owner; /* the user whose processes map it: names are believed for them alone */
	uint32_t build_id_size; /* 0: none known */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
};

/* What a frame that is no place in a file is called: a Python function, or words of our own. */
struct message_code {
	uint32_t file; /* string id; 0: a mark, its name is shown as it is */
	uint32_t name; /* string id, never 0: the qualified name, or the mark */
};

enum message_frame_limits {
	MESSAGE_FRAME_NO_MODULE = 0, /* offset is then the plain address */
	MESSAGE_FRAME_NATIVE = 0,    /* no code */
};

struct message_frame {
	uint32_t module; /* module id, or MESSAGE_FRAME_NO_MODULE */
	/* code id, and module is then MESSAGE_FRAME_NO_MODULE; or MESSAGE_FRAME_NATIVE */
	uint32_t code;
	/* Virtual address in the ELF file: of the call, so return address - 1. With a code: the line that
	 * runs, 0: none. */
	uint64_t offset;
};

struct message_node {
	uint32_t parent; /* node id, below this node's own; 0: this is a root (outermost frame) */
	uint32_t frame;  /* frame id */
};

struct message_symbol {
	uint32_t frame; /* frame id */
	/* string id; 0: looked up, has no name. Inlined functions and source lines: wire.md */
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
	const struct message_code *codes; /* frames of the same message may name them */
};

enum statistics_domain { /* CUPTI's numbers */
			 STATISTICS_DRIVER = 1,
			 STATISTICS_RUNTIME = 2,
};

/* CUDA_ERROR_NOT_READY, cudaErrorNotReady: an answer, and no error, as CUDA says itself. */
#define STATISTICS_NOT_READY 600u

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
	PROCESS_UNCLEAN = 2, /* died without */
};

/* A process and what became of it. Sent again whenever something changed: the last one counts. An ended process sends
 * nothing afterwards. */
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
	int64_t clock_offset_ns; /* CLOCK_MONOTONIC - CUPTI's clock, by the newest calibration; 0 and valid 0: none */
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

/* What is known of streams of a process: a later word on a stream replaces the earlier one. */

/* A context that is a part of another. */
struct message_context {
	uint32_t context_id,
		parent_id;  /* as in GPU records; the parent's is that of its streams here */
	uint32_t device_id; /* CUDA ordinal */
	uint32_t nr_multiprocessors; /* its share of the device's; 0: not known */
	uint32_t flags;              /* enum definition_context_flags */
};
struct message_streams {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_streams, nr_contexts;
	const struct message_stream *streams;
	const struct message_context *contexts;
};

/* What the kernel saw of a process's host threads. stack_id is a node id, name_id a string id. */
struct message_samples {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_samples; /* WIRE_EVENTS_MAX at most */
	const struct host_sample *samples;
	/* CLOCK_REALTIME - CLOCK_MONOTONIC of the node, once and for all of the agent; 0: not known */
	int64_t realtime_offset_ns;
};

/* Calls of a collective library by one process, and the communicators that they are the first to name, which are
 * defined by ids from 1 without gaps; a later word on a communicator replaces the earlier one. stack_id is a node
 * id. */
struct message_collectives {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_communicators; /* WIRE_ITEMS_MAX at most */
	uint32_t nr_collectives;   /* WIRE_EVENTS_MAX at most */
	const struct communicator *communicators;
	const struct collective *collectives;
};

/* The process's whole ledger so far (ledger.h): replaces what was sent before. */
struct message_ledger {
	uint64_t seq;
	uint32_t process_id; /* 0: the agent itself */
	uint32_t nr_entries;
	const struct ledger_entry *entries;
};

/* The calls of one function of CUDA's API. Its key: domain, cbid, error. */
struct message_api_call {
	uint32_t domain; /* enum statistics_domain */
	uint32_t cbid;   /* CUPTI's, of that domain */
	uint32_t error;  /* 0: all calls; else those that returned this, and only count counts */
	uint32_t name;   /* string id of the function */
	uint64_t count, total_ns, min_ns, max_ns;
	uint64_t errors;
};

/* The launches of one kernel with one configuration. Its key: config. */
struct message_kernel_config {
	struct kernel_config config; /* its name: a string id, 0: lost */
	uint64_t count, total_ns, min_ns, max_ns;
};

/* Sums of one process so far; each row replaces the one of its key, other rows stay. */
struct message_statistics {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_calls, nr_configs;
	const struct message_api_call *calls;
	const struct message_kernel_config *configs;
};

/* Cumulative: everything up to seq is committed. Repeatable, may be lost. */
struct message_ack {
	uint64_t seq;
	uint32_t window_frames;
	uint64_t window_bytes;
};

struct message_ping {
	uint64_t token; /* PONG gives it back */
};

/* The agent's last word: seq is the highest ever sent and includes this frame. */
struct message_bye {
	uint64_t seq;
};

#define PLACEMENT_NODE_NONE UINT32_MAX /* not known */

struct message_placed_device {
	uint32_t device_id; /* CUDA ordinal, which PROCESS has described */
	uint32_t numa_node; /* the operating system's number; PLACEMENT_NODE_NONE */
	uint32_t cpus;      /* string id: the CPUs there, as a list: "0-15,32-47"; 0: not known */
};

struct message_placed_thread {
	uint32_t tid;
	uint32_t numa_node;
	uint64_t count; /* how often it was seen on a CPU of that node, so far */
};

/* Where a process's devices are, and where the threads that launch on them run. A row replaces that of its key
 * (device_id; tid and numa_node). */
struct message_placement {
	uint64_t seq;
	uint32_t process_id;
	uint32_t nr_devices, nr_threads;
	const struct message_placed_device *devices;
	const struct message_placed_thread *threads;
};

enum clock_kind {
	CLOCK_ASK = 0,    /* agent: t1_ns */
	CLOCK_ANSWER = 1, /* aggregator: t1_ns given back, t2_ns, t3_ns, realtime_offset_ns */
	/* agent: t1_ns, when its clock was compared, and all from realtime_offset_ns on */
	CLOCK_RESULT = 2,
	CLOCK_KINDS,
};

#define CLOCK_BOUND_MAX_NS 60000000000ll /* a worse comparison says nothing */

/* How two nodes' clocks stand, asked and told without numbers: each may be lost. t1_ns and t4_ns (the answer's arrival,
 * which nobody sends) are the agent's CLOCK_MONOTONIC, t2_ns (the question's arrival) and t3_ns (the answer's leaving)
 * the aggregator's. What a kind does not have is 0. */
struct message_clock {
	uint32_t kind; /* enum clock_kind */
	uint64_t t1_ns, t2_ns, t3_ns;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC of who sends it; 0: not known */
	int64_t offset_ns;          /* the agent's CLOCK_MONOTONIC - the aggregator's */
	uint64_t bound_ns;      /* the truth is within offset_ns +- this; 1 to CLOCK_BOUND_MAX_NS */
	uint64_t round_trip_ns; /* without the aggregator's own time */
};

enum control_kind {
	CONTROL_ASK = 0,    /* who commands: everything but what agents tell */
	CONTROL_ORDER = 1,  /* aggregator to agents: the same, with absolute times */
	CONTROL_TAKEN = 2,  /* agent: token, state, nr_processes, bound_ns */
	CONTROL_ANSWER = 3, /* aggregator to who commands: as the order, and how far it came */
	CONTROL_KINDS,
};

enum control_state {
	CONTROL_WAITING = 0, /* not heard of, yet */
	CONTROL_IN_TIME = 1,
	CONTROL_LATE = 2, /* the time had come before the agent heard of it */
	CONTROL_STATES,
};

#define WIRE_CONTROL_ACTION_MAX 2u
#define WIRE_CONTROL_AGENTS_MAX 4096u

struct message_control_agent {
	struct message_text node;
	uint32_t state;        /* enum control_state */
	uint32_t nr_processes; /* that it commands now */
	/* how far off its CLOCK_REALTIME's translation may be; 0: it could not be translated */
	uint64_t bound_ns;
};

/* A command to all agents of a job. Nothing of it is numbered: who commands asks again, with the same token, until all
 * have taken it. */
struct message_control {
	uint32_t kind;              /* enum control_kind */
	uint64_t token;             /* of the command: random, never 0 */
	uint32_t action;            /* 0 as the run's options say, 1 start, 2 stop */
	uint32_t relative;          /* CONTROL_ASK: 1: the times count from when it comes */
	uint64_t from_ns, until_ns; /* the aggregator's CLOCK_REALTIME; 0: at once, without end */
	uint32_t state;             /* CONTROL_TAKEN, as the next two */
	uint32_t nr_processes;
	uint64_t bound_ns;
	uint32_t nr_agents; /* CONTROL_ANSWER */
	const struct message_control_agent *agents;
	/* CONTROL_ASK: the job that is meant, of an aggregator that keeps a profile for each; "": the agents of no
	 * job */
	struct message_text job_key, job_user;
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
		struct message_clock clock;
		struct message_control control;
		struct message_streams streams;
		struct message_samples samples;
		struct message_collectives collectives;
	};
};

#endif
