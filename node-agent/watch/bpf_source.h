/* What the kernel tells of host threads, through BPF: CPU samples and waits of watched processes, as messages. What the
 * kernel does not allow is said once, in one line, and the rest goes on. Without BPF in the build there is nothing but
 * that line. Single-threaded: only the agent loop calls it. */
#ifndef BPF_SOURCE_H
#define BPF_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct batch_builder;
struct bpf_options;
struct bpf_source;
struct device_list;
struct event_loop;
struct guest_process;
struct message;
struct stack_dictionary;
struct string_dictionary;
struct symbolizer_module;

#define BPF_SOURCE_LINE_MAX 512u /* bytes, with the NUL */

/* Borrowed until bpf_source_destroy(). */
struct bpf_source_scope {
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct batch_builder *builder;
	const struct device_list *devices;
	struct event_loop *loop;
	uint32_t *nr_processes; /* process ids that were given */
	int (*send)(
		void *context,
		struct message *message); /* 0 or -errno, which the caller of this source gets */
	bool (*has_room)(void *context);  /* for another message of samples */
	uint64_t (*now_ns)(void);         /* CLOCK_MONOTONIC */
	int (*module)(void *context, const struct symbolizer_module *module); /* module_table.h */
	void (*notice)(void *context, const char *line);
	void *context;
};

/* Puts one line on what this agent is not allowed in line; lost says what the user goes without. false: nothing is
 * missing, line is "". */
bool bpf_source_missing(const char *lost, char line[static BPF_SOURCE_LINE_MAX]);

/* Nothing is asked for, or nothing is allowed: 0 and *source is NULL, which everything below accepts. 0; -ENOMEM;
 * -EPERM: what is required is not allowed, and that was said. */
int bpf_source_create(const struct bpf_options *options, const struct bpf_source_scope *scope,
		      struct bpf_source **source);
void bpf_source_destroy(struct bpf_source *source);

enum bpf_source_watch {
	BPF_SOURCE_WATCH_END,      /* no longer, where it was the following that this began */
	BPF_SOURCE_WATCH_CHILDREN, /* what this process starts from now on */
	BPF_SOURCE_WATCH_PROCESS,  /* and the process itself, with what it becomes by exec */
};

/* 0 or -errno: it can't be watched. */
int bpf_source_watch(struct bpf_source *source, pid_t pid, enum bpf_source_watch what);

/* A guest has arrived, before it has an id: what the process is known by already, 0: it is not. 0 or -errno. */
int bpf_source_claim(struct bpf_source *source, pid_t pid, uint32_t *process_id);

/* It was taken in: samples of the pid are the guest's process from now on. Borrowed until it is let go. */
int bpf_source_attach(struct bpf_source *source, pid_t pid, struct guest_process *guest);

/* Whether the guest can capture, as far as it has said: if not, its process's calls are timed, with calls_auto. */
void bpf_source_set_blocked(struct bpf_source *source, const struct guest_process *guest,
			    bool blocked);

/* A guest has come and was sent away. */
void bpf_source_refuse(struct bpf_source *source, pid_t pid);

/* Before the guest's last pass: brings its ledger up to date; and before it is destroyed. */
void bpf_source_account(struct bpf_source *source, const struct guest_process *guest);
void bpf_source_detach(struct bpf_source *source, const struct guest_process *guest);

/* A moment ago there was Python code that was gone already when its samples were read: what runs now should be looked
 * at sooner. */
bool bpf_source_misses_code(const struct bpf_source *source, uint64_t now_ns);

/* The kernel has something that should not wait for the next pass: true once. */
bool bpf_source_is_urgent(struct bpf_source *source);

enum bpf_source_progress {
	BPF_SOURCE_ALL,     /* everything that was there */
	BPF_SOURCE_NO_ROOM, /* there was none for messages: call again when there is */
	BPF_SOURCE_MORE,    /* its time was up: call again soon */
};

/* Reads and sends what is there, for BPF_SOURCE_PASS_NS and the time of one sample at most: others wait meanwhile.
 * enum bpf_source_progress, or -errno: the agent can't go on. */
#define BPF_SOURCE_PASS_NS 25000000ull
int bpf_source_pass(struct bpf_source *source, uint64_t now_ns);

/* Whether all has been read that the kernel had written of a guest's process when this was first asked. The guest
 * is not to be let go before: what its threads did is sent before its end. */
bool bpf_source_is_read(struct bpf_source *source, const struct guest_process *guest);

/* No more events from now on; waits that last end now. Then passes until BPF_SOURCE_ALL. The last of them sends
 * the accounts. 0 or -errno. */
int bpf_source_stop(struct bpf_source *source, uint64_t now_ns);

/* Files whose calls are timed now. */
uint32_t bpf_source_probed_files(const struct bpf_source *source);

/* Samples taken so far, of all processes. */
uint64_t bpf_source_samples(const struct bpf_source *source);

#endif
