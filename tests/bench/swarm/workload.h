/* The job that all nodes of a swarm run: its kernels, call stacks and names, and when each rank does what. It is the
 * same program on all ranks, as in training. Everything follows from the options: two swarms with one seed run the same
 * job. Times are virtual: nanoseconds from the first launch. Constant after workload_begin();
 * single-threaded. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdint.h>

#include "node-agent/publish/batch_builder.h"
#include "swarm_options.h"

#define WORKLOAD_COMMUNICATOR 1u /* its id in each process */

struct workload {
	const struct swarm_options *options; /* borrowed */
	struct string_dictionary *strings;   /* owns, as the next */
	struct stack_dictionary *stacks;
	uint32_t *leaves; /* owns: the stack of each key, and at last that of the collectives */
	/* ids of strings; of kernels and of symbols those of the first */
	uint32_t kernel_name, collective_kernel_name, symbol_name, launching_function;
	uint32_t device_name, pci_name, job, command, thread_name;
	uint32_t nr_ranks;
	uint32_t nr_steps;       /* collectives of each rank */
	uint64_t *last_arrivals; /* owns: of each step, from its begin */
	/* when the first launch is made, by the clocks of all nodes; workload_begin() sets them */
	uint64_t monotonic_ns, realtime_ns;
	uint64_t launch_ns; /* from one launch of a process to its next */
};

/* Makes the job of these options, which are borrowed until workload_destroy() (accepts NULL). NULL: out of memory. */
struct workload *workload_create(const struct swarm_options *options);
void workload_destroy(struct workload *workload);

/* The first launch is made at this time of CLOCK_MONOTONIC, which is so far before CLOCK_REALTIME. CUPTI's clock is the
 * latter. */
void workload_begin(struct workload *workload, uint64_t monotonic_ns, int64_t realtime_offset_ns);
int64_t workload_clock_offset_ns(const struct workload *workload); /* as in struct message_events */

/* Sends all that launches and records will name through the builder, which has the workload's dictionaries. 0 or
 * -errno. */
int workload_define(const struct workload *workload, struct batch_builder *builder);

/* The launch number n of a rank: its stack, its kernel's name, and how long the kernel runs. */
uint32_t workload_stack(const struct workload *workload, uint64_t n);
uint32_t workload_kernel(const struct workload *workload, uint64_t n);
uint64_t workload_kernel_ns(const struct workload *workload, uint32_t rank, uint64_t n);

/* The collectives: when a step begins, and when a rank comes to its all_reduce, counted from there. */
uint64_t workload_step_ns(const struct workload *workload, uint32_t step);
uint64_t workload_arrival_ns(const struct workload *workload, uint32_t rank, uint32_t step);

/* A number that is as good as random, and the same for equal arguments. */
uint64_t workload_random(const struct workload *workload, uint64_t a, uint64_t b);

#endif
