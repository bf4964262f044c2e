/* NCCL as the caller of its profiler plugins, in each version of their interface, and a ring in whose other end the
 * agent reads what came of it. One for each test program; fails the running test on any error. A caller is used by one
 * thread at a time, the agent's side by one. */
#ifndef NCCL_FIXTURE_H
#define NCCL_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/base/definition_writer.h"
#include "proto/ring/record_ring.h"
#include "tests/inject/test_ring.h"

#define NCCL_FIXTURE_PLACES   64u /* for collectives in the ring */
#define NCCL_FIXTURE_VERSIONS 7u
#define NCCL_FIXTURE_HASH     0x1234567890abcdefull
#define NCCL_FIXTURE_RANK     3
#define NCCL_FIXTURE_RANKS    8

struct told_plugin;

/* Zeroed until nccl_fixture_init(). */
struct nccl_fixture {
	struct test_ring ring;
	struct definition_writer definitions;
};
extern struct nccl_fixture nccl_fixture;

/* The ring, once. */
void nccl_fixture_init(void);

/* The guest is there, once. */
void nccl_fixture_start(void);

/* Whether the guest records; from the start it does. */
void nccl_fixture_record(bool on);

/* ---- NCCL's side */

/* One end of a communicator. */
struct nccl_fixture_caller {
	uint32_t version; /* 1 to NCCL_FIXTURE_VERSIONS */
	struct told_plugin *plugin;
	void *context;
	int mask;  /* of events that are asked for */
	void *api; /* of the next task */
};

/* init() and finalize(). */
void nccl_fixture_begin(struct nccl_fixture_caller *nccl, uint32_t version, uint64_t hash);
void nccl_fixture_end(struct nccl_fixture_caller *nccl);

/* The calling thread's last launch, as the launch callback leaves it. */
void nccl_fixture_launched(uint32_t correlation_id, uint64_t time_ns);

/* The application's call, of versions that tell of it (from 5 on). */
void nccl_fixture_call(struct nccl_fixture_caller *nccl, bool p2p, void *stream, bool captured);

/* The group that tasks follow. */
void nccl_fixture_post(struct nccl_fixture_caller *nccl);

/* A task: function as version 1 numbers it and as the others call it (NULL: they don't). */
void nccl_fixture_collective(struct nccl_fixture_caller *nccl, const char *function, uint8_t number,
			     uint64_t sequence, uint64_t count);
void nccl_fixture_send_to(struct nccl_fixture_caller *nccl, int peer, uint64_t count);

/* ---- the agent's side */

/* So many records came, which are released. */
uint32_t nccl_fixture_take(struct collective_record *records, uint32_t max);
struct collective_record nccl_fixture_take_one(void); /* exactly one came */

/* The next definition, which is a communicator's; false: there is none. */
bool nccl_fixture_take_definition(struct definition_communicator *communicator);

uint64_t nccl_fixture_counted(enum ledger_reason reason);

#endif
