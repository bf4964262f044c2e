#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "timeline/log/event_format.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/log/event_reader.h"

#define SECOND 1000000000ull

struct fixture {
	char store[64];
	struct event_log *log;
	uint64_t next; /* number of the next event */
	uint64_t now_ns;
	/* as read */
	uint64_t first, last, count, ns;
	struct event_sums sums;
	uint64_t from_ns, to_ns; /* if to_ns is not 0: blocks with a part of it are wanted */
	uint32_t id;             /* is added to ids */
};

static const uint8_t profile[EVENT_FORMAT_ID] = "a test's profile";

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->store, sizeof(fixture->store), "/tmp/flamegrid-events.XXXXXX");
	assert_non_null(mkdtemp(fixture->store));
	strcat(fixture->store, "/profile.db");
	fixture->now_ns = 1000 * SECOND;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	event_log_close(fixture->log);
	*strrchr(fixture->store, '/') = '\0';
	snprintf(command, sizeof(command), "rm -r %s", fixture->store);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static void open_log(struct fixture *fixture, const struct event_log_options *options)
{
	struct event_log_options all = *options;

	memcpy(all.profile, profile, sizeof(profile));
	assert_int_equal(event_log_open(fixture->store, &all, &fixture->log), 0);
}

/* Event n is a launch at n us and a kernel 3 us later. */
static uint64_t duration_of(uint64_t n)
{
	n = (n ^ n >> 7) * 0x9e3779b97f4a7c15ull;
	n = (n ^ n >> 29) * 0x9e3779b97f4a7c15ull;
	return 1 + (n >> 32) % 100000;
}

static void add(struct fixture *fixture, uint32_t count)
{
	struct event_packer *packer = event_log_packer(fixture->log);

	event_packer_begin(packer, 7, -12345, true);
	for (uint32_t i = 0; i < count; i++, fixture->next++) {
		const uint64_t n = fixture->next;

		event_packer_launch(packer, &(struct launch_record){.time_ns = n * 1000,
								    .correlation_id = (uint32_t)n,
								    .stack_id = fixture->id +
										(uint32_t)(n % 100),
								    .tid = 12,
								    .window = 1});
		event_packer_record(packer, &(struct gpu_record){
						    .start_ns = n * 1000 + 3000,
						    .end_ns = n * 1000 + 3000 + duration_of(n),
						    .correlation_id = (uint32_t)n,
						    .name_id = fixture->id + 1 + (uint32_t)(n % 10),
						    .window = 1});
	}
}

static void write_log(struct fixture *fixture)
{
	event_log_write(fixture->log, fixture->now_ns);
}

static int take(void *context, const struct message_events *events)
{
	struct fixture *fixture = context;

	assert_int_equal(events->process_id, 7);
	assert_int_equal(events->clock_offset_ns, -12345);
	for (uint32_t i = 0; i < events->nr_gpu; i++) {
		const struct gpu_record *record = &events->gpu[i];
		const uint64_t n = (record->start_ns - 3000) / 1000;

		assert_int_equal(record->end_ns, n * 1000 + 3000 + duration_of(n));
		assert_int_equal(record->correlation_id, (uint32_t)n);
		assert_int_equal(record->name_id, fixture->id + 1 + (uint32_t)(n % 10));
		if (fixture->count++ == 0)
			fixture->first = n;
		fixture->last = n;
		fixture->ns += record->end_ns - record->start_ns;
	}
	for (uint32_t i = 0; i < events->nr_launches; i++)
		assert_int_equal(events->launches[i].time_ns,
				 events->launches[i].correlation_id * 1000ull);
	return 0;
}

static bool wants(void *context, const struct event_block_head *head,
		  const struct event_span *spans)
{
	const struct fixture *fixture = context;

	assert_true(head->nr_spans <= 1);
	if (!head->nr_spans || !fixture->to_ns)
		return true;
	assert_int_equal(spans->process_id, 7);
	return spans->last_ns >= fixture->from_ns && spans->first_ns < fixture->to_ns;
}

static void read_log(struct fixture *fixture)
{
	const struct event_asks asks = {
		.take = take, .wants = wants, .context = fixture, .profile = profile};

	fixture->count = fixture->ns = 0;
	fixture->sums = (struct event_sums){0};
	assert_int_equal(event_reader_read(fixture->store, &asks, &fixture->sums), 0);
}

static void path_of(const struct fixture *fixture, uint32_t number, char path[static 128])
{
	snprintf(path, 128, "%s.timeline/%08u.events", fixture->store, number);
}

/* ---- tests */

static void everything_that_is_written_is_read(void **state)
{
	struct fixture *fixture = *state;

	open_log(fixture, &(struct event_log_options){.keeps = true});
	add(fixture, 100000);
	write_log(fixture);
	add(fixture, 1);
	write_log(fixture);
	read_log(fixture);
	assert_int_equal(fixture->count, 100001);
	assert_int_equal(fixture->sums.launches, 100001);
	for (uint64_t n = 0; n <= 100000; n++)
		fixture->ns -= duration_of(n);
	assert_int_equal(fixture->ns, 0);
	assert_int_equal(fixture->sums.damaged + fixture->sums.lost_events +
				 fixture->sums.dropped_events,
			 0);
	assert_in_range(fixture->sums.bytes, 1, 6 * 200002);
}

static void what_is_not_written_is_not_there_after_a_crash(void **state)
{
	struct fixture *fixture = *state;

	open_log(fixture, &(struct event_log_options){.keeps = true});
	add(fixture, 10);
	write_log(fixture);
	add(fixture, 10);
	event_log_close(fixture->log);
	fixture->next = 10;
	open_log(fixture, &(struct event_log_options){.keeps = true});
	add(fixture, 10);
	write_log(fixture);
	read_log(fixture);
	assert_int_equal(fixture->count, 20);
	assert_int_equal(fixture->sums.files, 2);
}

static void the_oldest_files_of_a_full_log_go_first_and_are_counted(void **state)
{
	const struct event_log_options options = {.keeps = true, .bytes_max = 2u << 20};
	struct fixture *fixture = *state;

	open_log(fixture, &options);
	for (uint32_t i = 0; i < 200; i++) {
		add(fixture, 10000);
		write_log(fixture);
		if (i == 150) {
			event_log_close(fixture->log);
			open_log(fixture, &options);
		}
	}
	read_log(fixture);
	assert_in_range(fixture->sums.bytes, 1 << 20, (2u << 20) + (256u << 10));
	assert_int_equal(fixture->last, fixture->next - 1);
	assert_int_equal(fixture->count, fixture->last - fixture->first + 1);
	assert_true(fixture->first > 0);
	assert_int_equal(fixture->sums.dropped_events, 2 * fixture->first);
	assert_int_equal(fixture->sums.damaged, 0);
}

static void at_least_the_wanted_time_stays(void **state)
{
	struct fixture *fixture = *state;

	open_log(fixture, &(struct event_log_options){.keeps = true, .keep_ns = 8 * SECOND});
	for (uint32_t second = 0; second < 30; second++) {
		add(fixture, 10);
		write_log(fixture);
		fixture->now_ns += SECOND;
	}
	read_log(fixture);
	assert_int_equal(fixture->last, 299);
	assert_in_range(fixture->first, 190, 219);
	assert_int_equal(fixture->sums.dropped_events, 2 * fixture->first);

	/* A writer that goes on does not know how old the files are. */
	event_log_close(fixture->log);
	open_log(fixture, &(struct event_log_options){.keeps = true, .keep_ns = 8 * SECOND});
	const uint64_t first = fixture->first;
	add(fixture, 10);
	write_log(fixture);
	read_log(fixture);
	assert_int_equal(fixture->first, first);
	assert_int_equal(fixture->last, 309);
}

static void a_damaged_block_is_counted_and_skipped(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	open_log(fixture, &(struct event_log_options){.keeps = true});
	for (uint32_t i = 0; i < 3; i++) {
		add(fixture, 1000);
		write_log(fixture);
	}
	path_of(fixture, 1, path);
	int fd = open(path, O_RDWR);
	struct event_block_head head;
	off_t at = sizeof(struct event_file_head);
	assert_int_equal(pread(fd, &head, sizeof(head), at), sizeof(head));
	at += (off_t)(sizeof(head) + head.nr_spans * sizeof(struct event_span) + head.stored_bytes);
	/* the second block's bytes, then also its head, then also the file's head, then its end */
	assert_int_equal(pwrite(fd, "damage", 6, at + 120), 6);
	read_log(fixture);
	assert_int_equal(fixture->count, 2000);
	assert_int_equal(fixture->sums.damaged, 1);
	assert_int_equal(pwrite(fd, "damage", 6, at), 6);
	read_log(fixture);
	assert_int_equal(fixture->count, 2000);
	assert_int_equal(fixture->sums.damaged, 1);
	assert_int_equal(pwrite(fd, "damage", 6, 10), 6);
	read_log(fixture);
	assert_int_equal(fixture->count, 2000);
	assert_int_equal(fixture->sums.damaged, 2);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 1), 0);
	read_log(fixture);
	assert_int_equal(fixture->count, 1000);
	assert_int_equal(fixture->sums.damaged, 3);
	close(fd);
}

static void without_a_folder_there_is_no_log(void **state)
{
	struct fixture *fixture = *state;

	const struct event_asks asks = {.take = take, .context = fixture, .profile = profile};

	assert_int_equal(event_reader_read(fixture->store, &asks, &fixture->sums), -ENOENT);
}

static void events_that_the_disk_does_not_take_are_counted(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	open_log(fixture, &(struct event_log_options){.keeps = true});
	path_of(fixture, 1, path);
	assert_int_equal(mkdir(path, 0700), 0);
	add(fixture, 10);
	write_log(fixture);
	assert_int_equal(event_packer_lost(event_log_packer(fixture->log)), 20);
	assert_int_equal(rmdir(path), 0);
	add(fixture, 10);
	write_log(fixture);
	add(fixture, 10);
	write_log(fixture);
	read_log(fixture);
	assert_int_equal(fixture->count, 20);
	assert_int_equal(fixture->sums.lost_events, 20);
}

/* Also if nothing follows them, and by two writers. */
static void losses_at_the_end_are_told(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	for (uint32_t writer = 1; writer <= 2; writer++) {
		open_log(fixture, &(struct event_log_options){.keeps = true});
		path_of(fixture, 2 * writer - 1, path); /* the next one has the loss */
		assert_int_equal(mkdir(path, 0700), 0);
		add(fixture, 10);
		write_log(fixture);
		assert_int_equal(rmdir(path), 0);
		write_log(fixture);
		read_log(fixture);
		assert_int_equal(fixture->count, 0);
		assert_int_equal(fixture->sums.lost_events, 20 * writer);
		assert_int_equal(fixture->sums.damaged, 0);
		event_log_close(fixture->log);
		fixture->log = NULL;
	}
}

/* Links, folders and pipes with names of the log's files, and files of another profile. */
static void what_is_none_of_the_log_is_left_out_and_counted(void **state)
{
	struct fixture *fixture = *state;
	struct event_log_options other = {.keeps = true, .profile = "another profile"};
	struct event_log *log;
	char path[128], target[128];

	assert_int_equal(event_log_open(fixture->store, &other, &log), 0);
	event_packer_begin(event_log_packer(log), 9, 0, true);
	event_packer_launch(event_log_packer(log), &(struct launch_record){.time_ns = 5});
	event_log_write(log, fixture->now_ns);
	event_log_close(log);
	path_of(fixture, 2, path);
	path_of(fixture, 1, target);
	assert_int_equal(symlink(target, path), 0);
	path_of(fixture, 3, path);
	assert_int_equal(mkdir(path, 0700), 0);
	path_of(fixture, 4, path);
	assert_int_equal(mkfifo(path, 0600), 0);

	open_log(fixture, &(struct event_log_options){.keeps = true});
	add(fixture, 10);
	write_log(fixture);
	read_log(fixture);
	assert_int_equal(fixture->count, 10);
	assert_int_equal(fixture->sums.foreign, 4);
	assert_int_equal(fixture->sums.files, 1);
	assert_int_equal(fixture->sums.damaged + fixture->sums.lost_events, 0);
	path_of(fixture, 5, path);
	assert_int_equal(access(path, F_OK), 0);
}

static void copy_file(const struct fixture *fixture, const char *name)
{
	char command[300];

	snprintf(command, sizeof(command), "cd %s.timeline && cp 00000001.events %s",
		 fixture->store, name);
	assert_int_equal(system(command), 0);
}

/* Under other numbers, and under other names of the same number. */
static void copies_of_a_file_are_left_out_and_counted(void **state)
{
	struct fixture *fixture = *state;

	open_log(fixture, &(struct event_log_options){.keeps = true});
	add(fixture, 10);
	write_log(fixture);
	copy_file(fixture, "00000002.events");
	copy_file(fixture, "1.events");
	copy_file(fixture, "0000000001.events");
	read_log(fixture);
	assert_int_equal(fixture->count, 10);
	assert_int_equal(fixture->sums.files, 1);
	assert_int_equal(fixture->sums.foreign, 2);
	assert_int_equal(fixture->sums.misnamed, 1);
	assert_int_equal(fixture->sums.misnamed_number, 2);
	assert_int_equal(fixture->sums.damaged, 0);
	/* A writer that goes on takes no copy's name. */
	event_log_close(fixture->log);
	open_log(fixture, &(struct event_log_options){.keeps = true});
	add(fixture, 10);
	write_log(fixture);
	read_log(fixture);
	assert_int_equal(fixture->count, 20);
	assert_int_equal(fixture->sums.files, 2);
	assert_int_equal(fixture->sums.foreign, 2);
	assert_int_equal(fixture->sums.misnamed, 1);
}

/* It would take long to read it all. Two blocks lie before and behind the hole. */
static void a_hole_of_any_size_is_damage_and_is_not_read(void **state)
{
	struct fixture *fixture = *state;
	char command[300];

	open_log(fixture, &(struct event_log_options){.keeps = true});
	struct stat first;
	char path[128];

	add(fixture, 10);
	write_log(fixture);
	path_of(fixture, 1, path);
	assert_int_equal(stat(path, &first), 0);
	add(fixture, 10);
	write_log(fixture);
	snprintf(command, sizeof(command),
		 "cd %s.timeline && tail -c +%zu 00000001.events >block && truncate -s %zu "
		 "00000001.events && truncate -s 1T 00000001.events && cat block >>00000001.events "
		 "&& rm block",
		 fixture->store, (size_t)first.st_size + 1, (size_t)first.st_size);
	assert_int_equal(system(command), 0);
	read_log(fixture);
	assert_int_equal(fixture->count, 20);
	assert_int_equal(fixture->sums.damaged, 1);
	assert_int_equal(fixture->sums.damaged_number, 1);
	snprintf(command, sizeof(command), "truncate -s +500G %s.timeline/00000001.events",
		 fixture->store);
	assert_int_equal(system(command), 0);
	read_log(fixture);
	assert_int_equal(fixture->count, 20);
	assert_int_equal(fixture->sums.damaged, 2);
}

/* Its files have no id and no spans. */
static void files_of_the_first_version_are_read(void **state)
{
	struct fixture *fixture = *state;
	struct event_file_head_1 file = {.magic = EVENT_FORMAT_MAGIC, .version = 1, .number = 2};
	struct event_block_head head;
	struct event_span span;
	char path[128];
	size_t size;

	open_log(fixture, &(struct event_log_options){.keeps = true});
	add(fixture, 10);
	struct event_packer *packer = event_log_packer(fixture->log);
	const uint8_t *block = event_packer_blocks(packer, &size);
	memcpy(&head, block, sizeof(head));
	assert_int_equal(head.nr_spans, 1);
	struct event_block_head_1 old = {.magic = EVENT_FORMAT_BLOCK_1,
					 .codec = head.codec,
					 .plain_bytes = head.plain_bytes,
					 .stored_bytes = head.stored_bytes,
					 .nr_launches = head.nr_launches,
					 .nr_records = head.nr_records,
					 .data_checksum = head.data_checksum};
	old.checksum = EVENT_FORMAT_CHECKSUM(&old);
	file.checksum = EVENT_FORMAT_CHECKSUM(&file);
	path_of(fixture, 2, path);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(&file, sizeof(file), 1, out), 1);
	assert_int_equal(fwrite(&old, sizeof(old), 1, out), 1);
	assert_int_equal(fwrite(block + sizeof(head) + sizeof(span), head.stored_bytes, 1, out), 1);
	assert_int_equal(fclose(out), 0);
	write_log(fixture);
	read_log(fixture);
	assert_int_equal(fixture->count, 20);
	assert_int_equal(fixture->sums.nameless, 1);
	assert_int_equal(fixture->sums.files, 2);
	assert_int_equal(fixture->sums.damaged + fixture->sums.foreign, 0);
}

static void ids_above_those_of_a_wire_are_kept(void **state)
{
	struct fixture *fixture = *state;

	open_log(fixture, &(struct event_log_options){.keeps = true});
	fixture->id = 0xfffff000u;
	add(fixture, 1000);
	write_log(fixture);
	read_log(fixture);
	assert_int_equal(fixture->count, 1000);
	assert_int_equal(fixture->sums.damaged + fixture->sums.lost_events, 0);
}

/* Kernel n ends at most 103 us after n us, by CUPTI's clock, which is 12345 ns ahead. */
static void a_part_of_the_time_needs_few_blocks(void **state)
{
	struct fixture *fixture = *state;

	open_log(fixture, &(struct event_log_options){.keeps = true});
	fixture->next = 1000;
	for (uint32_t i = 0; i < 100; i++) {
		add(fixture, 10000);
		write_log(fixture);
	}
	read_log(fixture);
	assert_int_equal(fixture->sums.blocks, 100);
	assert_int_equal(fixture->sums.blocks_read, 100);
	fixture->from_ns = 505 * 1000 * 1000;
	fixture->to_ns = 506 * 1000 * 1000;
	read_log(fixture);
	assert_int_equal(fixture->sums.blocks, 100);
	assert_int_equal(fixture->sums.blocks_read, 1);
	assert_int_equal(fixture->first, 501000);
	assert_int_equal(fixture->count, 10000);
	/* within the last kernels of the block before */
	fixture->from_ns = 511 * 1000 * 1000 + 20 * 1000;
	fixture->to_ns = fixture->from_ns + 1;
	read_log(fixture);
	assert_int_equal(fixture->sums.blocks_read, 2);
	fixture->from_ns = 2000 * 1000 * 1000;
	fixture->to_ns = fixture->from_ns + 1;
	read_log(fixture);
	assert_int_equal(fixture->sums.blocks_read, 0);
}

/* The clocks are compared again and again, with errors that differ. */
static void offsets_that_hardly_change_stay_as_they_are(void **state)
{
	struct fixture *fixture = *state;
	struct event_packer *packer;
	struct event_block_head head;
	size_t size;

	open_log(fixture, &(struct event_log_options){.keeps = true});
	packer = event_log_packer(fixture->log);
	for (int i = 0; i < 1000; i++) {
		event_packer_begin(packer, 7, -12345 + (i % 7) * 1000, true);
		event_packer_launch(packer,
				    &(struct launch_record){.time_ns = 1000, .correlation_id = 1});
	}
	const uint8_t *block = event_packer_blocks(packer, &size);
	memcpy(&head, block, sizeof(head));
	assert_int_equal(head.nr_launches, 1000);
	assert_true(head.plain_bytes < 200); /* one frame */
	write_log(fixture);
	read_log(fixture); /* take() checks the offset */
	assert_int_equal(fixture->sums.launches, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything_that_is_written_is_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_written_is_not_there_after_a_crash,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_oldest_files_of_a_full_log_go_first_and_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(at_least_the_wanted_time_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_block_is_counted_and_skipped, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_a_folder_there_is_no_log, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(events_that_the_disk_does_not_take_are_counted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(losses_at_the_end_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_none_of_the_log_is_left_out_and_counted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(copies_of_a_file_are_left_out_and_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_hole_of_any_size_is_damage_and_is_not_read,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_of_the_first_version_are_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ids_above_those_of_a_wire_are_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_part_of_the_time_needs_few_blocks, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(offsets_that_hardly_change_stay_as_they_are, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
