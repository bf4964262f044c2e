/* Blocks of an event log that are there more than once. */
#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/log/event_reader.h"

#define BLOCKS 3u
#define EACH   1000u
#define APART  1000000u /* ns from one launch to the next */

struct fixture {
	char store[64], path[128];
	uint64_t nr_launches, sum;
	uint64_t from_ns; /* earlier blocks are not wanted */
	struct event_sums sums;
};

static const uint8_t profile[EVENT_FORMAT_ID] = "a test's profile";

static void write_blocks(struct fixture *f)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;
	uint32_t id = 0;

	memcpy(options.profile, profile, sizeof(profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct event_packer *packer = event_log_packer(log);

		event_packer_begin(packer, 7, 0, true);
		for (uint32_t k = 0; k < EACH; k++) {
			id++;
			event_packer_launch(packer,
					    &(struct launch_record){.time_ns = (uint64_t)id * APART,
								    .correlation_id = id,
								    .tid = 12,
								    .window = 1});
		}
		event_log_write(log, (i + 1) * UINT64_C(1000000000));
	}
	event_log_close(log);
}

static int set_up(void **state)
{
	static struct fixture made;
	struct fixture *f = &made;

	*f = (struct fixture){.store = "/tmp/flamegrid-copies.XXXXXX"};
	assert_non_null(mkdtemp(f->store));
	strcat(f->store, "/profile.db");
	snprintf(f->path, sizeof(f->path), "%.63s.timeline/00000001.events", f->store);
	write_blocks(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	*strrchr(f->store, '/') = '\0';
	snprintf(command, sizeof(command), "rm -r %s", f->store);
	assert_int_equal(system(command), 0);
	return 0;
}

/* Appends the file's first block to it once more. */
static void copy_block(const struct fixture *f)
{
	const int fd = open(f->path, O_RDWR);
	const off_t at = sizeof(struct event_file_head);
	struct event_block_head head;

	assert_int_equal(pread(fd, &head, sizeof(head), at), sizeof(head));
	const size_t size =
		sizeof(head) + head.nr_spans * sizeof(struct event_span) + head.stored_bytes;
	void *block = malloc(size);
	assert_non_null(block);
	assert_int_equal(pread(fd, block, size, at), size);
	assert_int_equal(pwrite(fd, block, size, lseek(fd, 0, SEEK_END)), size);
	free(block);
	close(fd);
}

static int take(void *context, const struct message_events *events)
{
	struct fixture *f = context;

	f->nr_launches += events->nr_launches;
	for (uint32_t i = 0; i < events->nr_launches; i++)
		f->sum += events->launches[i].correlation_id;
	return 0;
}

static bool wants(void *context, const struct event_block_head *head,
		  const struct event_span *spans)
{
	const struct fixture *f = context;

	assert_int_equal(head->nr_spans, 1);
	return spans->last_ns >= f->from_ns;
}

static void read_log(struct fixture *f)
{
	const struct event_asks asks = {
		.take = take, .wants = wants, .context = f, .profile = profile};

	f->nr_launches = f->sum = 0;
	f->sums = (struct event_sums){0};
	assert_int_equal(event_reader_read(f->store, &asks, &f->sums), 0);
}

static void assert_all(const struct fixture *f)
{
	const uint64_t all = BLOCKS * EACH;

	assert_int_equal(f->nr_launches, all);
	assert_int_equal(f->sum, all * (all + 1) / 2);
	assert_int_equal(f->sums.launches, all);
}

static void a_copy_of_a_block_counts_as_damage_and_nowhere_else(void **state)
{
	struct fixture *f = *state;

	read_log(f);
	assert_all(f);
	assert_int_equal(f->sums.damaged, 0);
	copy_block(f);
	copy_block(f);
	read_log(f);
	assert_all(f);
	assert_int_equal(f->sums.damaged, 2);
	assert_int_equal(f->sums.damaged_number, 1);
}

static void heads_alone_tell_the_same(void **state)
{
	const struct event_asks heads = {.profile = profile};
	struct fixture *f = *state;
	struct event_sums sums = {0};

	copy_block(f);
	assert_int_equal(event_reader_read(f->store, &heads, &sums), 0);
	assert_int_equal(sums.launches, BLOCKS * EACH);
	assert_int_equal(sums.damaged, 1);
}

static void a_copy_of_what_nobody_wants_is_damage(void **state)
{
	struct fixture *f = *state;

	copy_block(f);
	f->from_ns = (2 * EACH + EACH / 2) * UINT64_C(1000000);
	read_log(f);
	assert_int_equal(f->nr_launches, EACH);
	assert_int_equal(f->sums.damaged, 1);
}

static void a_copy_of_a_damaged_block_is_read_in_its_place(void **state)
{
	struct fixture *f = *state;

	copy_block(f);
	const int fd = open(f->path, O_RDWR);
	const off_t at = sizeof(struct event_file_head) + sizeof(struct event_block_head) +
			 sizeof(struct event_span) + 32;
	assert_int_equal(pwrite(fd, "damage", 6, at), 6);
	close(fd);
	read_log(f);
	assert_all(f);
	assert_int_equal(f->sums.damaged, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_copy_of_a_block_counts_as_damage_and_nowhere_else),
		TEST(heads_alone_tell_the_same),
		TEST(a_copy_of_what_nobody_wants_is_damage),
		TEST(a_copy_of_a_damaged_block_is_read_in_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
