/* Marks of jobs that are not complete. What is read is the same when it is written and read again. What an agent
 * says of its job is a mark, too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/service/job_dir.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_message(const uint8_t *data, size_t size)
{
	const uint32_t key_size = (uint32_t)(size / 2);
	const struct message_job job = {
		.key = {(const char *)data, key_size},
		.user = {(const char *)data + key_size, (uint32_t)size - key_size},
		.nr_nodes = -1,
	};
	struct job_mark mark;

	if (job_mark_take(&mark, &job) == 0 &&
	    (strlen(mark.key) != key_size || strlen(mark.user) != size - key_size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_mark mark, again;
	char path[PATH_MAX], *error = NULL;
	enum job_dir_state state;

	take_message(data, size);
	fuzz_file_write_named(JOB_DIR_MARK, data, size);
	int r = job_dir_read(fuzz_file_directory(), &mark, &state, &error);

	if (job_dir_file(fuzz_file_directory(), JOB_DIR_MARK, path) || unlink(path))
		abort();
	if (r) {
		if (!error)
			abort();
		free(error);
		return 0;
	}
	if (job_dir_create(fuzz_file_directory(), &mark, path) != 0 ||
	    job_dir_read(path, &again, &state, &error) != 0)
		abort();
	job_dir_remove(path);
	if (strcmp(mark.key, again.key) != 0 || strcmp(mark.user, again.user) != 0 ||
	    state != JOB_DIR_IS_OPEN || mark.nr_nodes != again.nr_nodes ||
	    mark.world_size != again.world_size || mark.flags != again.flags)
		abort();
	return 0;
}
