/* A bpf_source without an agent around it, and all that it sends, checked as it comes: nothing is named before it is
 * defined, nothing of a process is sent after its end. Fails the running test on any error. */
#ifndef BPF_FIXTURE_H
#define BPF_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node-agent/watch/bpf_options.h"
#include "node-agent/watch/bpf_source.h"
#include "proto/ledger.h"
#include "proto/batch/message.h"
#include "victim_report.h"

#define BPF_FIXTURE_PROCESSES 256u

struct bpf_fixture_process {
	uint32_t pid, state;
	char command[128];
	uint64_t nr_samples[HOST_SAMPLE_KINDS], ns[HOST_SAMPLE_KINDS];
	uint64_t nr_collectives;
	uint32_t nr_communicators;
	struct ledger_entry ledger[LEDGER_REASONS];
};

struct bpf_fixture_sample {
	uint32_t process_id;
	struct host_sample sample;
};

struct bpf_fixture_communicator {
	uint32_t process_id;
	struct communicator communicator;
};

struct bpf_fixture_collective {
	uint32_t process_id;
	struct collective collective;
};

struct bpf_fixture {
	struct event_loop *loop;
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct batch_builder *builder;
	struct symbolizer *symbolizer;
	struct frame_names *names;
	struct bpf_source *source;
	uint32_t nr_ids;
	bool no_room; /* the publisher's window is full */
	struct bpf_fixture_process processes[BPF_FIXTURE_PROCESSES]; /* by id; nr_processes + 1 */
	uint32_t nr_processes;
	struct bpf_fixture_sample *samples; /* owns */
	uint32_t nr_samples, max_samples;
	struct bpf_fixture_communicator *communicators; /* owns */
	uint32_t nr_communicators;
	struct bpf_fixture_collective *collectives; /* owns; in the order in which they came */
	uint32_t nr_collectives;
	uint32_t *symbols; /* owns; frame id to name id */
	uint32_t max_symbols;
	char **texts; /* owns; by string id */
	uint32_t nr_texts;
	char notices[2048]; /* lines */
};

struct bpf_fixture *bpf_fixture_create(const struct bpf_options *options);
void bpf_fixture_destroy(struct bpf_fixture *fixture);

/* The same; fails the running test if BPF can't be loaded. */
struct bpf_fixture *bpf_fixture_create_loaded(const struct bpf_options *options);

/* Starts bpf_victim (the test's first argument) with two words, and waits until it may go on. */
void bpf_fixture_victim(const char *path);

/* From now on it runs this script, and the victim is what runs it; NULL: it runs by itself. */
void bpf_fixture_script(const char *path);
pid_t bpf_fixture_start(struct bpf_fixture *fixture, const char *what, uint64_t amount);
void bpf_fixture_release(struct bpf_fixture *fixture);

/* Makes passes until the program has ended; its status must be 7. */
struct victim_report bpf_fixture_await(struct bpf_fixture *fixture, pid_t pid);

/* One pass of an agent's loop, after at most so long. */
void bpf_fixture_pass(struct bpf_fixture *fixture, uint32_t wait_ms);

/* From now on each look at the clock finds it so much later; 0: it is the real one again. */
void bpf_fixture_step_clock(uint64_t step_ns);

/* Makes passes until so many files are probed. */
void bpf_fixture_await_files(struct bpf_fixture *fixture, uint32_t count);

/* Makes passes until all names that were asked for are known. A process in another root must live until then. */
void bpf_fixture_await_names(struct bpf_fixture *fixture);

/* Ends the capture; all names are known afterwards. */
void bpf_fixture_stop(struct bpf_fixture *fixture);

/* Runs the victim to its end in a capture of its own, which watches this process and is stopped afterwards; there must
 * be no notice. Owns: bpf_fixture_destroy(). */
struct bpf_fixture *bpf_fixture_capture(const struct bpf_options *options, const char *what,
					uint64_t amount, struct victim_report *report);

/* Asserts of every process that everything that was taken from the kernel is accounted for: it was sent, or counted as
 * lost for want of room. */
void bpf_fixture_check_accounts(const struct bpf_fixture *fixture);

/* By pid and command; NULL: there is none. The last one that fits. */
struct bpf_fixture_process *bpf_fixture_process(struct bpf_fixture *fixture, pid_t pid,
						const char *command);
uint32_t bpf_fixture_id(const struct bpf_fixture *fixture,
			const struct bpf_fixture_process *process);

/* Whether the function is a frame of the sample's stack, and at which distance from the leaf; -1: it is not. */
int bpf_fixture_depth_of(const struct bpf_fixture *fixture, const struct host_sample *sample,
			 const char *function);

/* The Python frame so many frames from the leaf, as "file:function:line", without folders; "" for another frame; NULL:
 * the stack is not as deep. Valid until the next call. */
const char *bpf_fixture_python(const struct bpf_fixture *fixture, const struct host_sample *sample,
			       int depth);

const char *bpf_fixture_text(const struct bpf_fixture *fixture, uint32_t string_id);

/* Prints the stack, for failures. */
void bpf_fixture_print(const struct bpf_fixture *fixture, const struct host_sample *sample);

#endif
