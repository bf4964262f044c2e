/* Samples of running kernels change no report but their own: those of a job with and without them are equal, byte for
 * byte. Argument: the flamegrid program. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/host_sample.h"
#include "tests/report/straggler/straggler_fixture.h"

#define MS      1000000ull
#define RANKS   3u
#define WINDOWS 12u
#define THREAD  9u
#define KERNEL  "train.py:main;train.py:forward;cudaLaunchKernel"

static const char *flamegrid;
static char folder[64], paths[2][96]; /* of stores: without samples of kernels, and with them */

static void add_work(uint32_t process, uint32_t rank, uint32_t step)
{
	static uint32_t correlation_id;
	const uint64_t start_ns = (100 + step * 100ull) * MS;
	const uint32_t late_ms = rank == 1 ? 20 : 5;
	const struct collective call = job_all_reduce(1, step + 1, 0, start_ns + 50 * MS, 20 * MS);

	job_call(process, &call);
	for (uint32_t i = 0; i < 4; i++)
		job_kernel(process, &(struct job_kernel){
					    .name = i % 2 ? "gemm" : "copy_kernel",
					    .stack = i < 3 ? KERNEL : "train.py:main;train.py:loss",
					    .correlation_id = ++correlation_id,
					    .tid = THREAD,
					    .start_ns = start_ns + i * 10 * MS + MS,
					    .ns = 3 * MS + rank + i,
					    .delay_ns = 1000});
	for (uint32_t i = 1; i <= late_ms; i++)
		job_sample(process, HOST_SAMPLE_CPU, "train.py:main;train.py:load", "", THREAD,
			   start_ns + i * MS, MS);
	job_sample(process, HOST_SAMPLE_OFF_CPU, "train.py:main;train.py:read", "futex", THREAD,
		   start_ns + 40 * MS, 9 * MS);
}

static void add_kernel_samples(uint32_t process, uint32_t step)
{
	const uint64_t look_ns = (150 + step * 100ull) * MS;

	job_sample(process, HOST_SAMPLE_KERNEL, "gemm;hot.cu:leaf", "wait", 0, look_ns, 40 + step);
	job_sample(process, HOST_SAMPLE_KERNEL, "gemm;+0x1a0", "long scoreboard", 0, look_ns, 300);
	job_sample(process, HOST_SAMPLE_KERNEL, "copy_kernel", "selected", 0, look_ns, 7);
	job_sample(process, HOST_SAMPLE_KERNEL, "gone", "selected", 1, look_ns, 5);
	job_sample(process, HOST_SAMPLE_KERNEL, "gone;+0x40", "wait", 1, look_ns, 1);
}

/* Makes one of the stores. */
static void make(uint32_t which, void **state)
{
	uint32_t processes[RANKS];

	job_set_up(state);
	job_world(RANKS);
	job_keep_samples();
	for (uint32_t i = 0; i < RANKS; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 7, i, RANKS);
		for (uint32_t step = 0; step < WINDOWS; step++) {
			add_work(processes[i], i, step);
			if (which == 1)
				add_kernel_samples(processes[i], step);
		}
		job_end_at(processes[i], JOB_DIES, 2000000 * MS);
	}
	job_commit();
	job_keep(paths[which]);
	job_tear_down(state);
}

static int set_up(void **state)
{
	strcpy(folder, "/tmp/flamegrid_stalls_XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (uint32_t which = 0; which < 2; which++) {
		snprintf(paths[which], sizeof(paths[which]), "%s/%u", folder, which);
		assert_int_equal(mkdir(paths[which], 0700), 0);
		strcat(paths[which], "/profile.db");
		make(which, state);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (uint32_t which = 0; which < 2; which++) {
		unlink(paths[which]);
		*strrchr(paths[which], '/') = '\0';
		rmdir(paths[which]);
	}
	rmdir(folder);
	return 0;
}

/* Runs `flamegrid ARGUMENTS` beside a store. The caller owns the text: free(). */
static char *output(uint32_t which, const char *arguments)
{
	char command[512], *text;
	size_t size, got;
	FILE *copy = open_memstream(&text, &size);

	snprintf(command, sizeof(command), "cd %s/%u && TZ=UTC %s %s 2>&1", folder, which,
		 flamegrid, arguments);
	FILE *out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(copy);
	for (char bytes[4096]; (got = fread(bytes, 1, sizeof(bytes), out)) > 0;)
		fwrite(bytes, 1, got, copy);
	fprintf(copy, "exit status %d\n", WEXITSTATUS(pclose(out)));
	fclose(copy);
	return text;
}

/* Removes the line about the plane of samples behind a report. */
static void without_their_total(char *text)
{
	char *line = strstr(text, "stalls in kernels: ");

	while (line && line > text && line[-1] != '\n')
		line--;
	if (line)
		memmove(line, strchr(line, '\n') + 1, strlen(strchr(line, '\n')));
}

static void no_other_report_changes(void **state)
{
	static const char *const commands[] = {
		"report profile.db",
		"report profile.db --format folded --unit ns",
		"report profile.db --format csv",
		"report profile.db --format folded --planes cpu --unit ns",
		"report profile.db --format folded --planes offcpu --weight count",
		"report profile.db --format folded --planes idle --unit ns --by rank,thread",
		"report profile.db --format folded --planes calls,sync,um --unit ns",
		"report profile.db --planes idle",
		"report profile.db --planes cpu,offcpu --format csv",
		"report profile.db --ranks",
		"report profile.db --ranks --format csv",
		"report profile.db --straggler",
		"report profile.db --straggler --format json",
		"report profile.db --format samples",
		"report profile.db --format samples --planes cpu",
		"diff profile.db ../0/profile.db",
		"diff ../0/profile.db profile.db",
		"diff profile.db --rank 1",
		"check ../0/profile.db profile.db",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char *before = output(0, commands[i]), *after = output(1, commands[i]);

		without_their_total(after);
		assert_string_equal(before, after);
		assert_null(strstr(after, "long scoreboard"));
		free(before);
		free(after);
	}
}

static void the_plane_has_the_kernels_time_again(void **state)
{
	char *text = output(1, "report profile.db --planes stalls --format folded --unit ns"
			       " --by rank");

	(void)state;
	assert_non_null(strstr(text, "rank1;train.py:main;train.py:forward;cudaLaunchKernel;"
				     "[GPU2_Kernel]copy_kernel;[stall]selected 72000048\n"));
	assert_non_null(strstr(text, ";train.py:loss;[GPU1_Kernel]gemm;hot.cu:leaf;"
				     "[stall]\u2248wait "));
	free(text);
}

static void json_has_the_kernels_with_reason_and_line(void **state)
{
	char *text = output(1, "report profile.db --format json --planes stalls"),
	     *without = output(0, "report profile.db --format json --planes stalls"),
	     *other = output(1, "report profile.db --format json --planes gpu");

	(void)state;
	assert_non_null(strstr(
		text, "\"sampled_kernels\":[\n"
		      "{\"kernel\":\"gemm\",\"ns\":216000216,\"samples\":12438,"
		      "\"reason\":\"long scoreboard\",\"reason_share\":0.868307,"
		      "\"line\":\"hot.cu:leaf\",\"line_share\":0.131693},\n"
		      "{\"kernel\":\"copy_kernel\",\"ns\":216000144,\"samples\":252,"
		      "\"reason\":null,\"reason_share\":null,\"line\":null,\"line_share\":null},\n"
		      "{\"kernel\":\"gone\",\"ns\":0,\"samples\":216,"
		      "\"reason\":\"wait\",\"reason_share\":0.166667,"
		      "\"line\":\"+0x40\",\"line_share\":0.166667}"));
	assert_null(strstr(without, "sampled_kernels"));
	assert_null(strstr(other, "sampled_kernels"));
	free(text);
	free(without);
	free(other);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_other_report_changes),
		cmocka_unit_test(the_plane_has_the_kernels_time_again),
		cmocka_unit_test(json_has_the_kernels_with_reason_and_line),
	};

	if (argc != 2)
		return 2;
	flamegrid = argv[1];
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
