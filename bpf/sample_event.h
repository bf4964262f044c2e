/* What the BPF programs tell the agent: the bytes in the ring buffer and the values of the maps that both sides touch. Plain C for both
 * compilers. Written by the kernel's half of this agent alone, so sizes are checked and nothing is distrusted. */
#ifndef SAMPLE_EVENT_H
#define SAMPLE_EVENT_H

#include <linux/types.h>

#define SAMPLE_USER_DEPTH    127u  /* frames: default of kernel.perf_event_max_stack */
#define SAMPLE_KERNEL_DEPTH  48u   /* frames */
#define SAMPLE_PROCESSES_MAX 2048u /* watched at the same time */
#define SAMPLE_COMMAND_SIZE  16u   /* TASK_COMM_LEN */

enum sample_event_flags {
	SAMPLE_EVENT_PREEMPTED = 1, /* it would have run on */
};

struct sample_event {
	__u64 time_ns;       /* CLOCK_MONOTONIC, of the end of what it stands for */
	__u64 duration_ns;   /* what it stands for */
	__u64 process_start; /* CLOCK_BOOTTIME, ns: tells processes with the same pid apart */
	__u64 argument; /* HOST_SAMPLE_CALL: which function, by the number that its probe was given */
	__u32 pid;      /* of the process, as the agent sees it */
	__u32 tid;      /* as the process sees it */
	__u32 exec_id;     /* another one: the process called exec */
	__u32 code_pages;  /* another number: files were mapped or unmapped */
	__u16 user_size;   /* bytes of addresses: first the user's, leaf first ... */
	__u16 kernel_size; /* ... then the kernel's, likewise */
	__u8 kind;         /* enum host_sample_kind */
	__u8 flags;        /* enum sample_event_flags */
	__u8 reserved[2];  /* 0 */
	__u32 stack_size; /* bytes of the user's stack from user_sp on, behind the addresses; 0: none */
	__u32 reserved_2;                /* 0 */
	__u64 user_pc, user_sp, user_fp; /* where the thread was in its program */
	char command[SAMPLE_COMMAND_SIZE];
	/* As many as there are: what is sent ends behind the last. */
	__u64 addresses[SAMPLE_USER_DEPTH + SAMPLE_KERNEL_DEPTH];
};

#define SAMPLE_EVENT_HEAD_SIZE 104u /* bytes before addresses */

#define SAMPLE_STACK_PAGES_MAX 4u /* of a CPU sample */
#define SAMPLE_WAIT_PAGES_MAX  2u /* of a wait */
#define SAMPLE_STACK_MAX       (SAMPLE_STACK_PAGES_MAX * 4096u)

/* An event with room for a copy of the stack. */
struct sample_event_copy {
	struct sample_event event;
	__u8 stack[SAMPLE_STACK_MAX];
};

/* Map "watched", by pid: whose threads are looked at. */
enum watched_flags {
	WATCHED_CHILDREN_ONLY = 1, /* those that it starts from now on, and not itself */
	WATCHED_HAS_GUEST = 2,     /* which tells of its calls itself */
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
	__u64 samples, samples_ns;
	__u64 lost, lost_ns; /* of these, for lack of room */
	__u64 short_waits, short_waits_ns;
	__u64 probes_lost; /* stacks of launches for which there was no room */
};

/* Map "viewer", one entry: from which pid namespace the agent looks, and what went wrong for all. */
struct sample_viewer {
	__u64 pid_namespace; /* an address in the kernel */
	__u32 level;         /* 0: the first namespace, which sees all */
	__u32 reserved;
	__u64 unwatched; /* processes for which there was no room */
	__u64 unnoted;   /* waits of threads for which there was no room */
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
	struct sample_event event;
	__u8 stack[SAMPLE_WAIT_PAGES_MAX * 4096u];
};

_Static_assert(sizeof(struct sample_event) == SAMPLE_EVENT_HEAD_SIZE + 8 * (127 + 48),
	       "sample_event");
_Static_assert(sizeof(struct watched) == 24, "watched");
_Static_assert(sizeof(struct sample_counts) == 56, "sample_counts");
_Static_assert(sizeof(struct sample_viewer) == 32, "sample_viewer");
_Static_assert(sizeof(struct sample_settings) == 24, "sample_settings");

#endif
