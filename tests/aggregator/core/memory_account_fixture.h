/* An account of memory, made anew for each test, and events for it. Fails the running test on any error. */
#ifndef MEMORY_ACCOUNT_FIXTURE_H
#define MEMORY_ACCOUNT_FIXTURE_H

#include <stdint.h>

#include "aggregator/core/memory_account.h"
#include "proto/memory_kind.h"

struct memory_account_fixture {
	struct memory_account *account; /* owns */
	struct memory_account_options options;
};

/* For cmocka: *state is a struct memory_account_fixture from set_up until tear_down. The account has the default limits
 * and tracks changes. */
int memory_account_fixture_set_up(void **state);
int memory_account_fixture_tear_down(void **state);

/* Replaces the account by an empty one with these options, tracking changes. */
void memory_account_fixture_limit(struct memory_account_fixture *fixture,
				  struct memory_account_options options);

/* An allocation of 0 bytes on device 0, of stack 1 and thread 7. */
struct memory_event memory_account_fixture_event(uint64_t time_ns, uint64_t address);

void memory_account_fixture_add(struct memory_account_fixture *fixture,
				const struct memory_event *event);
void memory_account_fixture_alloc(struct memory_account_fixture *fixture, uint64_t time_ns,
				  uint64_t address, uint64_t bytes, uint32_t stack_id);
void memory_account_fixture_free(struct memory_account_fixture *fixture, uint64_t time_ns,
				 uint64_t address);
void memory_account_fixture_finish(struct memory_account_fixture *fixture);

/* Zeros if there are none. */
struct memory_sums memory_account_fixture_sums(const struct memory_account_fixture *fixture,
					       uint32_t device_id, enum memory_space space);

/* Those of device 0's own memory. */
struct memory_sums memory_account_fixture_device(const struct memory_account_fixture *fixture);

/* Of a stack on device 0, all threads and kinds. */
struct memory_row memory_account_fixture_row(const struct memory_account_fixture *fixture,
					     uint32_t stack_id);

#endif
