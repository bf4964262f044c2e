#include "tests/support/cmocka_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "inject/launch/launch_probe.h"
#include "launch_stack.skel.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/probe/probe_event.h"
#include "node-agent/probe/probe_note.h"
#include "node-agent/probe/probe_ring.h"
#include "red_zone_leaf.h"

#define SELF      "/proc/self/exe"
#define CALLS     100000u
#define RING_SIZE 65536u

struct watch {
	struct launch_stack_bpf *program;
	struct probe_ring *ring;
	int fd;
};

static int start(void **state)
{
	static struct watch watch;

	watch.program = launch_stack_bpf__open();
	assert_non_null(watch.program);
	assert_int_equal(bpf_map__set_max_entries(watch.program->maps.events, RING_SIZE), 0);
	if (launch_stack_bpf__load(watch.program) != 0)
		fail_msg("BPF cannot be used here");
	assert_int_equal(
		probe_ring_open(bpf_map__fd(watch.program->maps.events), RING_SIZE, &watch.ring),
		0);
	watch.fd = -1;
	*state = &watch;
	return 0;
}

static int stop(void **state)
{
	struct watch *watch = *state;

	probe_ring_close(watch->ring);
	launch_stack_bpf__destroy(watch->program);
	return 0;
}

static void open_probe(struct watch *watch, const char *provider, const char *name)
{
	struct elf_file *file;
	struct probe_note note;

	assert_int_equal(elf_file_open(SELF, &file), 0);
	assert_int_equal(probe_note_find(file, provider, name, &note), 0);
	elf_file_close(file);
	assert_int_equal(probe_event_open(SELF, &note, getpid(),
					  bpf_program__fd(watch->program->progs.on_launch),
					  &watch->fd),
			 0);
}

/* How many calls found other values than theirs. */
static uint32_t call(struct watch *watch, const char *name, uint32_t (*leaf)(uint64_t seed),
		     const unsigned short *semaphore)
{
	uint64_t before = probe_ring_end(watch->ring);
	uint32_t wrong = 0;

	open_probe(watch, "flamegrid_test", name);
	assert_int_equal(*(const volatile unsigned short *)semaphore, 1);
	for (uint32_t i = 0; i < CALLS; i++)
		wrong += leaf((uint64_t)i << 32 | ~i) != 0;
	assert_true(probe_ring_end(watch->ring) > before || before >= RING_SIZE / 2);
	close(watch->fd);
	assert_int_equal(*(const volatile unsigned short *)semaphore, 0);
	return wrong;
}

static void variables_survive_a_watched_probe_without_a_red_zone(void **state)
{
	assert_int_equal(call(*state, "leaf_without_red_zone", leaf_without_red_zone,
			      &leaf_without_red_zone_semaphore),
			 0);
}

/* A fact of the kernel, not of ours. */
static void what_the_kernel_does_to_a_red_zone_is_told(void **state)
{
	uint32_t wrong = call(*state, "leaf_with_red_zone", leaf_with_red_zone,
			      &leaf_with_red_zone_semaphore);

	print_message("with a red zone: variables were overwritten in %u of %u calls\n", wrong,
		      CALLS);
	assert_true(wrong <= CALLS);
}

static __attribute__((noinline)) uint64_t fire_with_variables(uint32_t i)
{
	volatile uint64_t kept[8];
	uint64_t sum = 0;

	for (uint32_t k = 0; k < 8; k++)
		kept[k] = (uint64_t)i * k;
	launch_probe_fire(i, 307, 0, 1, 0);
	for (uint32_t k = 0; k < 8; k++)
		sum += kept[k];
	return sum;
}

static void variables_of_who_fires_the_launch_probe_survive(void **state)
{
	struct watch *watch = *state;
	uint32_t wrong = 0;

	assert_false(launch_probe_is_watched());
	open_probe(watch, "flamegrid", "launch");
	assert_true(launch_probe_is_watched());
	for (uint32_t i = 0; i < CALLS; i++)
		wrong += fire_with_variables(i) != 28ull * i;
	close(watch->fd);
	assert_int_equal(wrong, 0);
	assert_false(launch_probe_is_watched());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_survive_a_watched_probe_without_a_red_zone),
		cmocka_unit_test(what_the_kernel_does_to_a_red_zone_is_told),
		cmocka_unit_test(variables_of_who_fires_the_launch_probe_survive),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
