/* What the BPF programs tell the agent: the bytes in the ring buffer and the values of the maps that both sides touch.
 * Plain C for both compilers. Written by the kernel's half of this agent alone, so sizes are checked and nothing is
 * distrusted. */
#ifndef SAMPLE_EVENT_H
#define SAMPLE_EVENT_H

#include <linux/types.h>

#include "proto/host_sample.h"

#define SAMPLE_USER_DEPTH    127u  /* frames: default of kernel.perf_event_max_stack */
#define SAMPLE_KERNEL_DEPTH  48u   /* frames */
#define SAMPLE_PROCESSES_MAX 2048u /* watched at the same time */
#define SAMPLE_COMMAND_SIZE  16u   /* TASK_COMM_LEN */
#define SAMPLE_PARTS         3u    /* of a copied stack, beside the first */

enum sample_event_flags {
	SAMPLE_EVENT_PREEMPTED = 1,  /* it would have run on */
	SAMPLE_EVENT_PYTHON_CUT = 2, /* there were more Python frames */
};

/* In sample_event.kind, of no enum host_sample_kind: the process has just become another program. It stands for no
 * time. */
#define SAMPLE_EVENT_EXEC 66u

/* Where a copy of a stack goes on, above frames too large to be copied. */
struct sample_part {
	__u64 sp;       /* of its first byte; 0: there is no such part */
	__u32 offset;   /* of it in the copy */
	__u32 reserved; /* 0 */
};

struct sample_event {
	__u64 time_ns;       /* CLOCK_MONOTONIC, of the end of what it stands for */
	__u64 duration_ns;   /* what it stands for */
	__u64 process_start; /* CLOCK_BOOTTIME, ns: tells processes with the same pid apart */
	/* HOST_SAMPLE_CALL: which function, by the number that its probe was given.
	 * HOST_SAMPLE_OFF_CPU: sample_event_queued(). */
	__u64 argument;
	__u32 pid;         /* of the process, as the agent sees it */
	__u32 tid;         /* as the process sees it */
	__u32 exec_id;     /* another one: the process called exec */
	__u32 code_pages;  /* another number: files were mapped or unmapped */
	__u16 user_size;   /* bytes of addresses: first the user's, leaf first ... */
	__u16 kernel_size; /* ... then the kernel's, likewise */
	__u8 kind;         /* enum host_sample_kind */
	__u8 flags;        /* enum sample_event_flags */
	__u16 cpu;         /* where it ran, and a thread that waits left */
	__u32 stack_size; /* bytes of the user's stack from user_sp on, all parts, behind the addresses; 0: none */
	__u32 python_size; /* bytes of Python frames (struct sample_python_frame), leaf first, behind the stack */
	__u64 user_pc, user_sp, user_fp;        /* where the thread was in its program */
	struct sample_part parts[SAMPLE_PARTS]; /* of the copy, but for the first */
	char command[SAMPLE_COMMAND_SIZE];
	/* As many as there are: what is sent ends behind the last. */
	__u64 addresses[SAMPLE_USER_DEPTH + SAMPLE_KERNEL_DEPTH];
};

/* Of a wait, the time at its end in which the thread was awake and had no CPU, in ns; at most duration_ns. */
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

/* A wait with such a part and another is two samples, all else is one. */
static inline __attribute__((always_inline)) __u64
sample_event_samples(const struct sample_event *event)
{
	__u64 queued_ns = sample_event_queued(event);

	return queued_ns && queued_ns < event->duration_ns ? 2 : 1;
}

#define SAMPLE_EVENT_HEAD_SIZE 152u /* bytes before addresses */

#define SAMPLE_STACK_PAGES_MAX                                                                     \
	4u /* of a CPU sample: a value of a map of each CPU has 32 KiB at most */
#define SAMPLE_WAIT_PAGES_MAX 2u /* of a wait */
#define SAMPLE_CALL_PAGES_MAX 8u /* of a call */
#define SAMPLE_STACK_MAX      (SAMPLE_STACK_PAGES_MAX * 4096u)
#define SAMPLE_CALL_STACK_MAX (SAMPLE_CALL_PAGES_MAX * 4096u)

#define SAMPLE_PYTHON_DEPTH      256u /* Python frames of an event at most */
#define SAMPLE_PYTHON_WAIT_DEPTH 128u /* of a wait */

/* A frame as it was when the thread stood: what it runs can be looked up later. */
struct sample_python_frame {
	__u64 code; /* address of the code object; above it the owner and the mark: SAMPLE_PYTHON_... */
	__u64 instruction; /* as the frame has it: an address, or a number */
	/* of the code, by sample_python_hash(): another one at this address has another. 0: it could not be read */
	__u64 identity;
};

#define SAMPLE_PYTHON_CODE_BITS 56u
#define SAMPLE_PYTHON_CODE      ((1ull << SAMPLE_PYTHON_CODE_BITS) - 1)
#define SAMPLE_PYTHON_OWNER                                                                        \
	4u /* bits of it; above them the mark, likewise; a higher value is given as the highest */
#define SAMPLE_PYTHON_MAX      (SAMPLE_PYTHON_DEPTH * 24u)
#define SAMPLE_PYTHON_WAIT_MAX (SAMPLE_PYTHON_WAIT_DEPTH * 24u)

/* An event with room for a copy of the stack and for Python frames. */
struct sample_event_copy {
	struct sample_event event;
	__u8 stack[SAMPLE_STACK_MAX];
	__u8 python[SAMPLE_PYTHON_MAX];
};

/* Likewise, of a call. */
struct sample_call_copy {
	struct sample_event event;
	__u8 stack[SAMPLE_CALL_STACK_MAX];
	__u8 python[SAMPLE_PYTHON_MAX];
};

#define SAMPLE_PYTHON_NONE 0xffffu /* of an offset: there is no such field */

/* What of a frame and of a code object is read at once, from offset 0 and from code_low on. */
#define SAMPLE_PYTHON_FRAME_MAX 128u
#define SAMPLE_PYTHON_CODE_MAX  128u

/* Map "pythons", by pid: where a process's CPython has what a walk needs. Offsets as in python/python_layout.h; every
 * field that is read of a frame or a code lies within frame_size and code_size. */
struct sample_python {
	/* as process_start, and exec_id: of the program that this was found in. 0: nothing of it was seen yet,
	 * whichever it is */
	__u64 start;
	__u64 interpreters; /* address of the list of interpreters */
	__u64 code_mask;    /* of a frame's pointer to its code */
	__u32 exec_id;
	__u16 interpreter_next, interpreter_threads;
	__u16 thread_prev, thread_next, thread_interpreter, thread_id;
	__u16 thread_frame, c_frame_frame;
	__u16 frame_size, frame_code, frame_back, frame_instruction;
	__u16 frame_owner, frame_mark; /* bytes; 0: there is none */
	__u16 instruction_size;        /* 4 or 8 */
	__u16 code_low, code_size;     /* below, offsets from code_low on */
	__u16 code_file, code_name, code_lines, code_first_line;
	__u16 code_version; /* 4 bytes; SAMPLE_PYTHON_NONE */
};

/* Map "python_threads", by the first namespace's thread id: where its state was last, or that it had none. */
struct sample_python_thread {
	__u64 state;    /* 0: none was found ... */
	__u64 first;    /* ... while this was the first of the interpreter's list ... */
	__u64 first_id; /* ... and this its thread's id */
	__u64 searched_ns;
	__u32 max; /* states that were to be looked at */
	__u32 reserved;
};

#define SAMPLE_PYTHON_THREADS 4096u

/* What tells a code from another that was at its address before. Of versions that give each code a number, that; else
 * what its names and its table of lines begin and end with, as all of them may be at old addresses, too. */
struct sample_python_identity {
	__u64 file, name, lines; /* addresses */
	__u32 first_line;
	__u32 version;                    /* 0: there is none */
	__u64 file_head[2], name_head[2]; /* length and hash; 0: there is a version, as below */
	__u64 lines_head[3]; /* length, its hash, which does not count, and the first bytes */
	__u64 lines_tail[2]; /* the last 16 bytes of the object */
};

#define SAMPLE_PYTHON_HEAD  16u /* where the length is, in a string and in a table */
#define SAMPLE_PYTHON_LINES 32u /* where a table begins */

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

/* Map "watched", by pid: whose threads are looked at. */
enum watched_flags {
	WATCHED_CHILDREN_ONLY = 1, /* those that it starts from now on, and not itself */
	WATCHED_HAS_GUEST = 2,     /* which tells of its calls itself */
	WATCHED_NO_CAPTURE = 4,    /* it has a guest that cannot, or had one that was sent away */
};

struct watched {
	__u64 start;        /* as process_start; 0: the agent entered it */
	__u32 parent;       /* pid; 0: likewise */
	__u32 flags;        /* enum watched_flags */
	__u32 met;          /* exec_id + 1 of the program whose first event has woken the agent */
	__u32 fork_exec_id; /* of its parent: until it calls exec itself. 0: not known */
};

/* Map "counts", by pid and CPU: everything that was to be sent, sent or not. */
struct sample_counts {
	__u64 samples, samples_ns; /* a wait may be two: sample_event_samples() */
	__u64 lost, lost_ns;       /* of these, for lack of room */
	__u64 short_waits, short_waits_ns;
	__u64 probes_lost;      /* stacks of launches for which there was no room */
	__u64 collectives;      /* calls of a collective library (collective_event.h) ... */
	__u64 collectives_lost; /* ... of these, for lack of room */
};

/* Map "viewer", one entry: from which pid namespace the agent looks, and what went wrong for all. */
struct sample_viewer {
	__u64 pid_namespace; /* an address in the kernel */
	__u32 level;         /* 0: the first namespace, which sees all */
	__u32 reserved;
	__u64 unwatched;    /* processes for which there was no room */
	__u64 unnoted;      /* waits of threads for which there was no room */
	__u64 python_steps; /* states of threads that were looked at in search of a thread's own */
};

/* Map "settings" of each program. */
struct sample_settings {
	__u64 period_ns;   /* of the sampling clock */
	__u64 wait_min_ns; /* waits below are counted only */
	__u64 stack_pages; /* of a stack, to copy */
};

/* Map "waits", by the first namespace's thread id: where a thread is that is not on a CPU. */
struct sample_wait {
	__u64 since_ns; /* 0: it runs */
	__u64 woken_ns; /* 0: it sleeps, or would have run on */
	__u64 ran_ns;   /* all that it had run by then */
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
