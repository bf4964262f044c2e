/* An agent for one guest: takes its ring, reads all of it while the program runs, and keeps
 * everything for a test to look at. Single-threaded. */
#ifndef TEST_AGENT_H
#define TEST_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/definition.h"
#include "proto/handshake.h"
#include "proto/ring/record_ring.h"

#define TEST_AGENT_NAMES         256u
#define TEST_AGENT_MODULES       256u
#define TEST_AGENT_DEVICES       64u
#define TEST_AGENT_NOTICES       64u
#define TEST_AGENT_CALLS         512u
#define TEST_AGENT_CONFIGS       512u
#define TEST_AGENT_CALLS_OF_NCCL 4096u
#define TEST_AGENT_COMMUNICATORS 64u

struct test_module {
	struct definition_module head;
	char path[512];
};

struct test_agent {
	char folder[64], socket_path[96];
	int listener;
	enum handshake_status answer; /* to the guest */
	bool silent;                  /* does not answer at all */
	bool greedy;                  /* never releases what it read */
	int guest_socket;             /* kept open while silent */

	struct record_ring *ring; /* owned; NULL: no guest yet */
	struct guest_hello hello;
	bool finished; /* the guest said goodbye */
	uint32_t nr_connections;

	struct launch_record *launches; /* owned */
	struct gpu_record *records;     /* owned */
	uint32_t nr_launches, nr_records;
	char names[TEST_AGENT_NAMES][128]; /* by name_id */
	struct test_module modules[TEST_AGENT_MODULES];
	uint32_t nr_modules;
	struct definition_device devices[TEST_AGENT_DEVICES];
	uint32_t nr_devices;
	struct {
		struct definition_notice head;
		char text[512];
	} notices[TEST_AGENT_NOTICES];
	uint32_t nr_notices;
	struct definition_clock last_clock;
	uint32_t nr_clocks, nr_windows, nr_streams;
	struct test_call {
		struct definition_api_statistic head;
		char name[128];
	} calls[TEST_AGENT_CALLS]; /* the last of each key, as of configs */
	uint32_t nr_calls;
	struct definition_kernel_config configs[TEST_AGENT_CONFIGS];
	uint32_t nr_configs;
	struct collective_record collectives[TEST_AGENT_CALLS_OF_NCCL];
	uint32_t nr_collectives;
	struct definition_communicator communicators[TEST_AGENT_COMMUNICATORS]; /* by id - 1 */
	uint32_t nr_communicators;

	pid_t pid; /* of the program */
	int pidfd;
	int status;           /* as waitpid() says */
	char output[1 << 16]; /* stdout and stderr of the program */
};

/* A program to run: argv and further environment, both ended by NULL ("NAME=value"). */
struct test_program {
	const char *const *argv;
	const char *const *environment;
	uint64_t file_size_limit; /* RLIMIT_FSIZE; 0: none */
};

void test_agent_open(struct test_agent *agent);
void test_agent_close(struct test_agent *agent); /* kills what still runs */

/* Starts a program with the guest. */
void test_agent_start(struct test_agent *agent, const struct test_program *program);

/* Serves until done() says so (NULL: never) or the program has ended. Fails the test after a
 * minute. */
void test_agent_serve(struct test_agent *agent, bool (*done)(struct test_agent *agent));

/* Serves until the program has ended, then reads what is left and its output. */
void test_agent_finish(struct test_agent *agent);

uint64_t test_agent_ledger(struct test_agent *agent, uint32_t device_id, enum ledger_reason reason);
/* The same over all devices and the process. */
uint64_t test_agent_ledger_sum(struct test_agent *agent, enum ledger_reason reason);

/* The module that holds an address; NULL: none. */
const struct test_module *test_agent_module(const struct test_agent *agent, uint64_t address);

/* The sums of a function's calls that returned error (0: all); NULL: none came. */
const struct definition_api_statistic *test_agent_call(const struct test_agent *agent,
						       const char *name, uint32_t error);

/* Whether a notice of this code came. */
bool test_agent_has_notice(const struct test_agent *agent, enum definition_notice_code code);

#endif
