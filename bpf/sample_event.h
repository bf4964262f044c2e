/* Defines the events of the BPF programs: the bytes in the ring buffer, and the values of the maps that both sides
 * touch. Plain C for both compilers. Only the kernel's half of this agent writes them, so sizes are checked and nothing
 * is distrusted. */
#ifndef SAMPLE_EVENT_H
#define SAMPLE_EVENT_H

#include <linux/types.h>

#include "proto/host_sample.h"

#define SAMPLE_USER_DEPTH    127u  /* frames: default of kernel.perf_event_max_stack */
#define SAMPLE_KERNEL_DEPTH  48u   /* frames */
#define SAMPLE_PROCESSES_MAX 2048u /* watched at the same time */
#define SAMPLE_COMMAND_SIZE  16u   /* TASK_COMM_LEN */
#define SAMPLE_PARTS         3u    /* parts of a copied stack after the first */

enum sample_event_flags {
	SAMPLE_EVENT_PREEMPTED = 1,  /* the thread would have run on */
	SAMPLE_EVENT_PYTHON_CUT = 2, /* more Python frames exist */
};

/* A value of sample_event.kind, distinct from enum host_sample_kind: the process has just become another program. The
 * event stands for no time. */
#define SAMPLE_EVENT_EXEC 66u

/* A part of a stack's copy, which continues above frames too large to be copied. */
struct sample_part {
	__u64 sp;       /* stack address of its first byte; 0: no such part */
	__u32 offset;   /* its offset in the copy */
	__u32 reserved; /* 0 */
};

struct sample_event {
	__u64 time_ns;       /* CLOCK_MONOTONIC, at the end of the time that the event stands for */
	__u64 duration_ns;   /* the time that the event stands for */
	__u64 process_start; /* CLOCK_BOOTTIME, ns: tells processes with the same pid apart */
	/* HOST_SAMPLE_CALL: the function, by the number that its probe was given. HOST_SAMPLE_OFF_CPU:
	 * sample_event_queued(). */
	__u64 argument;
	__u32 pid;        /* the process's pid, as the agent sees it */
	__u32 tid;        /* as the process sees it */
	__u32 exec_id;    /* differs from the last event's if the process called exec */
	__u32 code_pages; /* differs from the last event's if files were mapped or unmapped */
	__u16 user_size;  /* bytes of the user's addresses, leaf first; they come first ... */
	/* bytes of the kernel's addresses, leaf first, which follow */
	__u16 kernel_size;
	__u8 kind;  /* enum host_sample_kind */
	__u8 flags; /* enum sample_event_flags */
	__u16 cpu;  /* the CPU on which the thread ran; for a wait, the CPU that it left */
	/* bytes of the user's stack from user_sp on, in all parts; they follow the addresses. 0: none */
	__u32 stack_size;
	__u32 python_size; /* bytes of struct sample_python_frame, leaf first, behind the stack */
	__u64 user_pc, user_sp, user_fp;        /* the thread's registers in its program */
	struct sample_part parts[SAMPLE_PARTS]; /* parts of the copy after the first */
	char command[SAMPLE_COMMAND_SIZE];
	/* Only the addresses that exist are sent; the event ends behind the last. */
	__u64 addresses[SAMPLE_USER_DEPTH + SAMPLE_KERNEL_DEPTH];
};

/* Returns the time at the end of a wait in which the thread was awake and had no CPU, in ns; at most duration_ns. */
static inline __attribute__((always_inline)) __u64
sample_event_queued(const struct sample_event *event)
{
	return event->kind == HOST_SAMPLE_OFF_CPU ? event->argument : 0;
}

/* Sets that time for a thread that was woken at woken_ns (0: it was not). A part below min_ns is too short for a sample
 * of its own, and stays in the wait. */
static inline __attribute__((always_inline)) void
sample_event_set_queued(struct sample_event *event, __u64 woken_ns, __u64 min_ns)
{
	event->argument = 0;
	if (woken_ns && woken_ns < event->time_ns)
		event->argument = event->time_ns - woken_ns;
	if (event->argument > event->duration_ns)
		event->argument = event->duration_ns;
	if (event->argument < min_ns)
		event->argument = 0;
}

/* Returns the number of samples of an event: two for a wait with such a part and a remainder, else one. */
static inline __attribute__((always_inline)) __u64
sample_event_samples(const struct sample_event *event)
{
	__u64 queued_ns = sample_event_queued(event);

	return queued_ns && queued_ns < event->duration_ns ? 2 : 1;
}

#define SAMPLE_EVENT_HEAD_SIZE 152u /* bytes before addresses */

/* of a CPU sample: a value of a map of each CPU has 32 KiB at most */
#define SAMPLE_STACK_PAGES_MAX 4u
#define SAMPLE_WAIT_PAGES_MAX  2u /* pages of a wait */
#define SAMPLE_CALL_PAGES_MAX  8u /* pages of a call */
#define SAMPLE_STACK_MAX       (SAMPLE_STACK_PAGES_MAX * 4096u)
#define SAMPLE_CALL_STACK_MAX  (SAMPLE_CALL_PAGES_MAX * 4096u)

#define SAMPLE_PYTHON_DEPTH      256u /* Python frames of an event at most */
#define SAMPLE_PYTHON_WAIT_DEPTH 128u /* Python frames of a wait at most */

/* A frame as it was when the event came; its code can be looked up later. */
struct sample_python_frame {
	__u64 code; /* address of the code object; above it owner and mark (SAMPLE_PYTHON_...) */
	__u64 instruction; /* the frame's value: an address, or a number */
	/* the code's sample_python_hash(), which differs from that of other code at this address. 0: it could not be
	 * read */
	__u64 identity;
};

#define SAMPLE_PYTHON_CODE_BITS 56u
#define SAMPLE_PYTHON_CODE      ((1ull << SAMPLE_PYTHON_CODE_BITS) - 1)
/* Bits of the owner. The mark above them has as many. A value too high for them is given as the highest. */
#define SAMPLE_PYTHON_OWNER    4u
#define SAMPLE_PYTHON_MAX      (SAMPLE_PYTHON_DEPTH * 24u)
#define SAMPLE_PYTHON_WAIT_MAX (SAMPLE_PYTHON_WAIT_DEPTH * 24u)

/* An event with room for a copy of the stack and for Python frames. */
struct sample_event_copy {
	struct sample_event event;
	__u8 stack[SAMPLE_STACK_MAX];
	__u8 python[SAMPLE_PYTHON_MAX];
};

/* An event of a call, with room for the larger copy of its stack and for Python frames. */
struct sample_call_copy {
	struct sample_event event;
	__u8 stack[SAMPLE_CALL_STACK_MAX];
	__u8 python[SAMPLE_PYTHON_MAX];
};

#define SAMPLE_PYTHON_NONE 0xffffu /* the offset of a field that does not exist */

/* Bytes of a frame and of a code object that are read at once, from offset 0 and from code_low on. */
#define SAMPLE_PYTHON_FRAME_MAX 128u
#define SAMPLE_PYTHON_CODE_MAX  128u

/* Map "pythons", by pid: where a process's CPython keeps the data that a walk needs. Offsets are those of
 * python/python_layout.h. Every field that is read of a frame or a code lies within frame_size and code_size. */
struct sample_python {
	/* the process_start and exec_id of the program in which this was found. 0: no event of it was seen yet,
	 * whichever program it is */
	__u64 start;
	__u64 interpreters; /* address of the list of interpreters */
	__u64 code_mask;    /* mask for a frame's pointer to its code */
	__u32 exec_id;
	__u16 interpreter_next, interpreter_threads;
	__u16 thread_prev, thread_next, thread_interpreter, thread_id;
	__u16 thread_frame, c_frame_frame;
	__u16 frame_size, frame_code, frame_back, frame_instruction;
	__u16 frame_owner, frame_mark; /* bytes; 0: no such field */
	__u16 instruction_size;        /* 4 or 8 */
	__u16 code_low, code_size;     /* below, offsets from code_low on */
	__u16 code_file, code_name, code_lines, code_first_line;
	__u16 code_version; /* 4 bytes; SAMPLE_PYTHON_NONE */
};

/* Map "python_threads", by the thread id in the first namespace: the last place of the thread's state, if any. */
struct sample_python_thread {
	__u64 state;    /* 0: none was found ... */
	__u64 first;    /* ... while this was the first of the interpreter's list ... */
	__u64 first_id; /* ... and this its thread's id */
	__u64 searched_ns;
	__u32 max; /* limit of states in that search */
	__u32 reserved;
};

#define SAMPLE_PYTHON_THREADS 4096u

/* Distinguishes a code object from an earlier one at its address. In versions that give each code a number, it is that
 * number. Otherwise it is the ends of its names and of its table of lines, since all of them may be at old addresses,
 * too. */
struct sample_python_identity {
	__u64 file, name, lines; /* addresses */
	__u32 first_line;
	__u32 version;                    /* 0: no version */
	__u64 file_head[2], name_head[2]; /* length and hash; 0: there is a version, as below */
	__u64 lines_head[3]; /* length, its hash, which does not count, and the first bytes */
	__u64 lines_tail[2]; /* the last 16 bytes of the object */
};

#define SAMPLE_PYTHON_HEAD 16u /* offset of the length, in a string and in a table */

static inline __attribute__((always_inline)) __u64 sample_python_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static inline __attribute__((always_inline)) __u64
sample_python_hash(const struct sample_python_identity *code)
{
	__u64 hash = sample_python_mix(code->file, code->name), size = code->lines_head[0];

	hash = sample_python_mix(hash, code->lines);
	hash = sample_python_mix(hash, (__u64)code->version << 32 | code->first_line);
	if (!code->version) {
		hash = sample_python_mix(hash, code->file_head[0] ^ code->file_head[1]);
		hash = sample_python_mix(hash, code->name_head[0] ^ code->name_head[1]);
		hash = sample_python_mix(hash, size);
		if (size >= 16)
			hash = sample_python_mix(hash, code->lines_head[2] ^ code->lines_tail[0]);
		if (size >= 8)
			hash = sample_python_mix(hash, code->lines_tail[1]);
	}
	return hash ? hash : 1;
}

/* Map "watched", by pid: the processes whose threads are watched. */
enum watched_flags {
	/* watches processes that it starts from now on, but not itself */
	WATCHED_CHILDREN_ONLY = 1,
	WATCHED_HAS_GUEST = 2, /* its guest records its calls itself */
	/* it has a guest that cannot capture, or had one that was refused */
	WATCHED_NO_CAPTURE = 4,
};

struct watched {
	__u64 start;        /* its process_start; 0: the agent added it */
	__u32 parent;       /* its parent's pid; 0: the agent added it */
	__u32 flags;        /* enum watched_flags */
	__u32 met;          /* exec_id + 1 of the program whose first event has woken the agent */
	__u32 fork_exec_id; /* its parent's exec_id, until it calls exec itself. 0: not known */
};

/* Map "counts", by pid and CPU: counts of everything that was to be sent, whether it was sent or not. */
struct sample_counts {
	__u64 samples, samples_ns; /* a wait may count as two: sample_event_samples() */
	__u64 lost, lost_ns;       /* of these, lost for lack of room */
	__u64 short_waits, short_waits_ns;
	__u64 probes_lost;      /* stacks of launches that found no room */
	__u64 collectives;      /* calls of a collective library (collective_event.h) ... */
	__u64 collectives_lost; /* ... of these, lost for lack of room */
};

/* Map "viewer", one entry: the pid namespace of the agent, and failures over all processes. */
struct sample_viewer {
	__u64 pid_namespace; /* an address in the kernel */
	__u32 level;         /* 0: the first namespace, which sees all */
	__u32 reserved;
	__u64 unwatched;    /* processes that found no room */
	__u64 unnoted;      /* waits of threads that found no room */
	__u64 python_steps; /* thread states that were read in search of a thread's own */
};

/* Map "settings" of each program. */
struct sample_settings {
	__u64 period_ns;   /* period of the sampling clock */
	__u64 wait_min_ns; /* shorter waits are only counted */
	__u64 stack_pages; /* pages of a stack to copy */
};

/* Map "waits", by the thread id in the first namespace: the state of a thread that is not on a CPU. */
struct sample_wait {
	__u64 since_ns; /* start of the wait; 0: it runs */
	__u64 woken_ns; /* time of its wakeup; 0: it sleeps, or would have run on */
	__u64 ran_ns;   /* its CPU time at the start of the wait */
	struct sample_event event;
	__u8 stack[SAMPLE_WAIT_PAGES_MAX * 4096u];
	__u8 python[SAMPLE_PYTHON_WAIT_MAX];
};

_Static_assert(sizeof(struct sample_event) == SAMPLE_EVENT_HEAD_SIZE + 8 * (127 + 48),
	       "sample_event");
_Static_assert(sizeof(struct sample_python_frame) == 24, "sample_python_frame");
_Static_assert(sizeof(struct sample_python) == 72, "sample_python");
_Static_assert(sizeof(struct watched) == 24, "watched");
_Static_assert(sizeof(struct sample_counts) == 72, "sample_counts");
_Static_assert(sizeof(struct sample_viewer) == 40, "sample_viewer");
_Static_assert(sizeof(struct sample_settings) == 24, "sample_settings");

#endif
