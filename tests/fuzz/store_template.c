#include "store_template.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/host_sample.h"
#include "tests/aggregator/store_fixture.h"
#include "tests/aggregator/straggler_fixture.h"

/* A copy, complete in itself, of a store that may be open. */
static struct store_template read_store(const char *path)
{
	struct store_template made;
	struct stat status;
	sqlite3 *database;
	char copy[128], sql[160];

	snprintf(copy, sizeof(copy), "%s.copy", path);
	snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", copy);
	if (sqlite3_open(path, &database) != SQLITE_OK ||
	    sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_close(database) != SQLITE_OK)
		abort();
	int fd = open(copy, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0)
		abort();
	made.size = (size_t)status.st_size;
	made.bytes = malloc(made.size);
	if (!made.bytes || read(fd, made.bytes, made.size) != status.st_size)
		abort();
	close(fd);
	unlink(copy);
	return made;
}

static struct store_template make_scenario(void)
{
	struct store_template made;
	void *state = NULL;

	if (store_fixture_set_up(&state) != 0)
		abort();
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	made = read_store(store_fixture.path);
	store_fixture_tear_down(&state);
	return made;
}

/* Two ranks that wait for each other in turns. */
static void add_work(uint32_t process, uint32_t rank)
{
	for (uint32_t i = 1; i <= 12; i++) {
		uint64_t start_ns = 1000000ull * i, late_ns = rank == i % 2 ? 200000 : 0;
		struct collective call = job_all_reduce(1, i, 100 + i, start_ns + late_ns, 5000);
		const struct job_kernel kernel = {
			.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
			.stack = "train.py:main;train.py:step",
			.correlation_id = 100 + i,
			.tid = 9,
			.start_ns = start_ns + late_ns + 10000,
			.ns = 400000 - late_ns,
		};

		job_call(process, &call);
		job_kernel(process, &kernel);
		job_sample(process, i % HOST_SAMPLE_KINDS, "train.py:main;train.py:load", "futex", 9,
			   start_ns + late_ns, 100000);
	}
}

static struct store_template make_job(void)
{
	struct store_template made;
	void *state = NULL;

	if (job_set_up(&state) != 0)
		abort();
	job_keep_samples();
	for (uint32_t rank = 0; rank < 2; rank++) {
		uint32_t process = job_process((int32_t)rank);

		job_communicator(process, 1, 77, rank, 2);
		add_work(process, rank);
		job_end(process);
	}
	job_commit();
	job_restart();
	made = read_store(job_path());
	job_tear_down(&state);
	return made;
}

struct store_template store_template_make(uint32_t number)
{
	return number == 0 ? make_scenario() : make_job();
}
