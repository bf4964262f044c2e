#include "store_template.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/host_sample.h"
#include "tests/aggregator/store/store_fixture.h"
#include "tests/report/straggler/straggler_fixture.h"

/* What the fixtures do not tell: a second host, both hosts' clocks, where launches ran, a part of a context, and a
 * call whose kernel has not come. */
static const char more_hosts[] =
	"INSERT INTO hosts VALUES ((SELECT max(id) + 1 FROM hosts), 2, 1);"
	"UPDATE processes SET host = (SELECT max(id) FROM hosts) WHERE id = 2;"
	"UPDATE devices SET host = (SELECT max(id) FROM hosts) WHERE id = 2;"
	"INSERT INTO clock_offsets SELECT id, 1, time_ns, 0, 50000, 100000, 0, 0 FROM hosts,"
	" (SELECT 1 AS time_ns UNION SELECT 4000000 UNION SELECT 9000000);"
	"INSERT INTO device_topology VALUES (1, 0, 1);"
	"INSERT INTO device_links VALUES (1, 1, 478116000000), (2, 2, 64000000000);"
	"INSERT INTO device_telemetry SELECT id, 5, 0, 900, 3, 895, 895, 1262, 2344, 1410, 1980,"
	" 0, 0, 0, 0, 0, 400, 0, 0, 0, 495, 895, 350, 895, 448, 60, 895, 0, 0,"
	" 0, 800, 600, 800, 500, 800, 90, 800, 0, 800, 200, 800, 7, 800, 8, 800, 9, 800, 10, 800, "
	"11 FROM "
	"devices;"
	"INSERT INTO counter_states SELECT id, 5, 0, 900, 100, 8, 7, 1, 2, 3, 800, 700, 4 FROM "
	"devices;"
	"INSERT INTO counter_samples SELECT id, 100, 200, 127, 600000, 300000, 200000, 400000,"
	" 300, 144, 48 FROM devices;"
	"INSERT INTO sample_levels SELECT process, sort, min(level) FROM sample_blocks"
	" GROUP BY 1, 2;"
	"INSERT OR IGNORE INTO host_clocks SELECT id, 1000 * id FROM hosts;"
	"INSERT INTO launch_cpus VALUES (1, 9, 0, 5), (1, 9, 1, 6);"
	"INSERT INTO contexts VALUES (1, 5, 1, 0, 8, 1);"
	"INSERT OR REPLACE INTO collective_joins VALUES (1, 3, 2);"
	"UPDATE collectives SET gpu_start_ns = NULL, gpu_ns = NULL, device_id = NULL,"
	" gpu_clock_offset_ns = NULL WHERE id = 3;";

/* A copy, complete in itself, of a store that may be open, with changes by SQL. */
static struct store_template read_store(const char *path, const char *changes)
{
	struct store_template made;
	struct stat status;
	sqlite3 *database;
	char copy[128], sql[160];

	snprintf(copy, sizeof(copy), "%s.copy", path);
	snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", copy);
	if (sqlite3_open(path, &database) != SQLITE_OK ||
	    sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_close(database) != SQLITE_OK || sqlite3_open(copy, &database) != SQLITE_OK ||
	    sqlite3_exec(database, changes, NULL, NULL, NULL) != SQLITE_OK ||
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

/* The scenario's up to a frame, behind which more may wait. */
static struct store_template make_scenario(uint32_t part, uint32_t parts)
{
	struct store_template made;
	void *state = NULL;

	if (store_fixture_set_up(&state) != 0)
		abort();
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames * part / parts);
	store_fixture_commit();
	store_fixture_close_all();
	made = read_store(store_fixture.path, "");
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
		job_sample(process, i % HOST_SAMPLE_KINDS, "train.py:main;train.py:load", "futex",
			   9, start_ns + late_ns, 100000);
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
	made = read_store(job_path(), more_hosts);
	job_tear_down(&state);
	return made;
}

struct store_template store_template_make(uint32_t number)
{
	if (number == 2)
		return make_job();
	return make_scenario(number + 1, 2);
}
