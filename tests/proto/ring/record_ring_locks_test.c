/* What a reader asks of the shared memory's descriptor: no call that waits for a lock which its guest can hold. The
 * kernel itself watches, and ends the reader at the first such call. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/definition.h"
#include "record_ring_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint8_t first_epoch[] = "the first agent.", second_epoch[] = "the second agent";

/* Of the inode: what writes, or changes or tells its size. Of the file's position: what goes by that. */
static const uint32_t waiting_calls[] = {
	SYS_write,           SYS_pwrite64,   SYS_writev,    SYS_pwritev,
	SYS_pwritev2,        SYS_ftruncate,  SYS_fallocate, SYS_fsync,
	SYS_fdatasync,       SYS_fchmod,     SYS_fchown,    SYS_fstat,
	SYS_statx,           SYS_newfstatat, SYS_lseek,     SYS_read,
	SYS_readv,           SYS_sendfile,   SYS_splice,    SYS_flock,
	SYS_copy_file_range, SYS_utimensat,
};

/* From now on each of them is this process's end. 0 or -1. */
static int forbid_waiting(void)
{
	struct sock_filter filter[COUNT(waiting_calls) + 3];
	struct sock_fprog program = {.len = COUNT(filter), .filter = filter};
	uint32_t at = 0;

	filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    offsetof(struct seccomp_data, nr));
	for (uint32_t i = 0; i < COUNT(waiting_calls); i++, at++)
		filter[at] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, waiting_calls[i],
						     (uint8_t)(COUNT(waiting_calls) - i), 0);
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* All that an agent does with a ring. Returns the number of records, or -1. */
static int read_everything(struct record_ring *ring, const uint8_t *epoch, uint64_t seq)
{
	struct record_ring_snapshot snapshot;
	struct record_ring_position position;
	struct record_ring_code code;
	struct ledger_entry entries[8];
	struct launch_record launches[8];
	struct gpu_record records[8];
	struct collective_record collectives[8];
	uint8_t body[DEFINITION_SIZE_MAX];
	uint64_t frames[RECORD_STACK_DEPTH];
	uint32_t type, size, nr_lost;
	int count = 0;

	record_ring_own(ring, epoch);
	record_ring_beat(ring, 1);
	record_ring_snapshot(ring, &snapshot);
	while (record_ring_read_definition(ring, &snapshot, &type, body, sizeof(body), &size) > 0)
		continue;
	for (uint32_t i = 0; i < snapshot.lanes; i++)
		count += record_ring_read_launches(ring, &snapshot, i, launches, 8);
	count += record_ring_read_activity(ring, &snapshot, records, 8);
	record_ring_read_collectives(ring, &snapshot, true, collectives, 8, &nr_lost);
	record_ring_read_stack(ring, 1, frames);
	record_ring_read_code(ring, 1, &code);
	if (record_ring_mark(ring, seq) || record_ring_position(ring, &position) ||
	    record_ring_ledger(ring, entries, 8) < 0)
		return -1;
	record_ring_release(ring, &position);
	record_ring_unmark(ring, seq);
	free(position.launch);
	return count;
}

/* Ends with 0, or at a call that is forbidden. */
static void read_as_two_agents(int fd)
{
	struct record_ring *ring;
	int count;

	if (forbid_waiting())
		_exit(2);
	if (record_ring_map(fd, &ring))
		_exit(3);
	count = read_everything(ring, first_epoch, 1);
	record_ring_unmap(ring);
	if (record_ring_map(fd, &ring))
		_exit(4);
	record_ring_resume(ring, 0);
	if (read_everything(ring, second_epoch, 1) < 0)
		_exit(5);
	record_ring_skip(ring);
	record_ring_unmap(ring);
	_exit(count == 3 ? 0 : 6);
}

static void a_reader_waits_for_no_lock_of_its_guest(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	const struct gpu_record records[2] = {{.start_ns = 1, .end_ns = 2},
					      {.start_ns = 2, .end_ns = 3}};
	const struct launch_record launch = {.time_ns = 1};
	int lane = record_ring_claim_lane(pair.guest);
	int status;

	(void)state;
	assert_true(record_ring_push_launch(pair.guest, (uint32_t)lane, &launch));
	assert_int_equal(record_ring_push_activity(pair.guest, records, 2), 2);
	pid_t child = fork();
	if (child == 0)
		read_as_two_agents(pair.fd);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFSIGNALED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	record_ring_fixture_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_waits_for_no_lock_of_its_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
