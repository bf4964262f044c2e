/* Turns events of host threads, which the kernel sends through BPF, into messages: CPU samples and waits of watched
 * processes. If the kernel does not allow something, one line says so, once, and the rest goes on. A build without BPF
 * has only that line. Single-threaded: only the agent loop calls it. */
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
	uint32_t *nr_processes; /* number of process ids given so far */
	/* 0 or -errno, which the caller of this source gets */
	int (*send)(void *context, struct message *message);
	bool (*has_room)(void *context); /* room exists for another message of samples */
	uint64_t (*now_ns)(void);        /* CLOCK_MONOTONIC */
	int (*module)(void *context, const struct symbolizer_module *module); /* module_table.h */
	void (*notice)(void *context, const char *line);
	void *context;
};

/* Writes a line about what this agent is not allowed to do; lost says what the user loses. false: nothing is missing,
 * and line is "". */
bool bpf_source_missing(const char *lost, char line[static BPF_SOURCE_LINE_MAX]);

/* Creates the source. If nothing is asked for, or nothing is allowed, it returns 0 and *source is NULL, which all
 * functions below accept. 0; -ENOMEM; -EPERM: something required is not allowed, and a notice has said so. */
int bpf_source_create(const struct bpf_options *options, const struct bpf_source_scope *scope,
		      struct bpf_source **source);
void bpf_source_destroy(struct bpf_source *source);

enum bpf_source_watch {
	/* stops watching the process, if bpf_source_watch() began that */
	BPF_SOURCE_WATCH_END,
	BPF_SOURCE_WATCH_CHILDREN, /* watches processes that this process starts from now on */
	BPF_SOURCE_WATCH_PROCESS,  /* watches the process itself, too, also when it calls exec */
};

/* Watches a process, or stops watching it. 0 or -errno: it can't be watched. */
int bpf_source_watch(struct bpf_source *source, pid_t pid, enum bpf_source_watch what);

/* Says that a guest has arrived, which has no id yet. *process_id: the id under which the process is known already, 0:
 * it is not. 0 or -errno. */
int bpf_source_claim(struct bpf_source *source, pid_t pid, uint32_t *process_id);

/* Says that the guest was accepted: samples of the pid belong to the guest's process from now on. The guest is borrowed
 * until bpf_source_detach(). */
int bpf_source_attach(struct bpf_source *source, pid_t pid, struct guest_process *guest);

/* Says whether the guest can capture, as far as it has told. If it cannot, calls_auto times its process's calls. */
void bpf_source_set_blocked(struct bpf_source *source, const struct guest_process *guest,
			    bool blocked);

/* Says that a guest came and was refused. */
void bpf_source_refuse(struct bpf_source *source, pid_t pid);

/* bpf_source_account() brings the guest's ledger up to date; call it before the guest's last pass. bpf_source_detach()
 * lets the guest go; call it before it is destroyed. */
void bpf_source_account(struct bpf_source *source, const struct guest_process *guest);
void bpf_source_detach(struct bpf_source *source, const struct guest_process *guest);

/* Returns whether, a moment ago, Python code was gone before its samples were read. The caller should then read samples
 * sooner. */
bool bpf_source_misses_code(const struct bpf_source *source, uint64_t now_ns);

/* Returns whether the kernel has something that should not wait for the next pass; true until that pass. */
bool bpf_source_is_urgent(struct bpf_source *source);

enum bpf_source_progress {
	BPF_SOURCE_ALL,     /* every event was read */
	BPF_SOURCE_NO_ROOM, /* messages had no room: call again when they have */
	BPF_SOURCE_MORE,    /* the pass's time was up: call again soon */
};

/* Reads and sends the waiting events. It takes BPF_SOURCE_PASS_NS and the time of one sample at most, since others wait
 * meanwhile. Returns enum bpf_source_progress, or -errno: the agent can't go on. */
#define BPF_SOURCE_PASS_NS 25000000ull
int bpf_source_pass(struct bpf_source *source, uint64_t now_ns);

/* Returns whether everything was read that the kernel had written about a guest's process by the first such call. The
 * caller must keep the guest until then, so that its threads' samples are sent before its end. */
bool bpf_source_is_read(struct bpf_source *source, const struct guest_process *guest);

/* Stops the events, and ends waits that still last. The caller then makes passes until BPF_SOURCE_ALL; the last of them
 * sends the accounts. 0 or -errno. */
int bpf_source_stop(struct bpf_source *source, uint64_t now_ns);

/* Returns the number of files whose calls are timed now. */
uint32_t bpf_source_probed_files(const struct bpf_source *source);

/* Returns the number of samples taken so far, of all processes. */
uint64_t bpf_source_samples(const struct bpf_source *source);

#endif
