/* A guest's ring with the source that reads it, and what came out. Fails the running test on any error
 * that is not asked for. */
#ifndef RING_SOURCE_FIXTURE_H
#define RING_SOURCE_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node-agent/guests/ring_ownership.h"
#include "node-agent/guests/ring_source.h"
#include "proto/batch/batch_encode.h"

/* Of every ring. */
extern const struct record_ring_sizes ring_source_fixture_sizes;

/* One guest with its source, and what came out of it. */
struct ring_source_fixture {
	struct record_ring *guest;
	int ring_fd;
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct cubin_cache *cubins;
	struct device_list devices;
	/* The aggregator has messages up to this one of the agent before. NULL: it knows of no such agent. */
	const uint64_t *stored_seq;
	struct process_description *description;
	struct process_ledger *ledger;
	struct process_statistics *statistics;
	struct ring_source *source;
	struct ring_ownership ownership;
	struct batch_builder *builder;
	struct batch_encoder *encoder;
	uint64_t seq;
	struct launch_record launches[64];
	struct gpu_record gpu[64];
	uint32_t nr_launches, nr_gpu;
	char notice[1024];
	uint32_t nr_notices, nr_modules;
};

struct ring_source_fixture *ring_source_fixture_create(void);
void ring_source_fixture_destroy(struct ring_source_fixture *fixture);

/* For cmocka: *state is a struct ring_source_fixture from set_up until tear_down. */
int ring_source_fixture_set_up(void **state);
int ring_source_fixture_tear_down(void **state);

/* Maps the guest's ring anew, as if the process had just arrived. */
void ring_source_fixture_open_source(struct ring_source_fixture *fixture, pid_t pid);
void ring_source_fixture_close_source(struct ring_source_fixture *fixture);

/* One pass; true if the guest had said goodbye. */
bool ring_source_fixture_pass(struct ring_source_fixture *fixture);

uint64_t ring_source_fixture_ledger_count(struct ring_source_fixture *fixture, uint32_t device_id,
					  enum ledger_reason reason);

/* A string that was entered, "-": none; and the frames of a node, leaf first, each as file:line:name, or as a name alone.
 * The last four texts and the last stack are kept. */
const char *ring_source_fixture_text(struct ring_source_fixture *fixture, uint32_t string_id);
const char *ring_source_fixture_stack(struct ring_source_fixture *fixture, uint32_t node_id);

/* The guest's side. */
void ring_source_fixture_define_name(struct ring_source_fixture *fixture, uint32_t name_id,
				     const char *name);
void ring_source_fixture_define_module(struct ring_source_fixture *fixture, uint64_t start,
				       uint64_t end, uint32_t flags, const char *path);
void ring_source_fixture_push_launch(struct ring_source_fixture *fixture, uint32_t lane,
				     uint32_t correlation_id, uint32_t stack_id);
void ring_source_fixture_push_record(struct ring_source_fixture *fixture, uint32_t correlation_id,
				     uint32_t name_id);

#endif
