#include "job_folder.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

char job_folder[64];

int job_folder_set_up(void **state)
{
	(void)state;
	strcpy(job_folder, "/tmp/job_folder.XXXXXX");
	return mkdtemp(job_folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat;
	(void)type;
	(void)ftw;
	return remove(path);
}

int job_folder_tear_down(void **state)
{
	(void)state;
	return nftw(job_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void job_folder_write(const char *path, const char *name, const void *bytes, size_t size)
{
	char file[PATH_MAX];

	assert_int_equal(job_dir_file(path, name, file), 0);
	FILE *out = fopen(file, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
}

void job_folder_make(const char *user, const char *key, enum job_dir_state state, const void *bytes,
		     size_t size, char path[static PATH_MAX])
{
	struct job_mark mark = {.nr_nodes = 4, .world_size = 32, .flags = 1};

	snprintf(mark.user, sizeof(mark.user), "%s", user);
	snprintf(mark.key, sizeof(mark.key), "%s", key);
	assert_int_equal(job_dir_create(job_folder, &mark, path), 0);
	job_folder_write(path, JOB_DIR_STORE, bytes, size);
	if (state != JOB_DIR_IS_OPEN)
		assert_int_equal(job_dir_close(path), 0);
	if (state == JOB_DIR_IS_COMPLETE)
		assert_int_equal(job_dir_finish(path), 0);
}
