/* Arguments: the paths of fake_launches, of the fake_injection module, of fake-cuda-devices
 * and of fake_graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "listener.h"

static const char *launches_path, *injection_path, *devices_path, *graphs_path;

static void visible_devices_reorder_ordinals_and_keep_uuids(void **state)
{
	char line[256], uuid_text[64] = "", pci[32], found_pci[32] = "";
	CUuuid uuid;
	int count;

	(void)state;
	assert_int_equal(cuDeviceGetCount(&count), CUDA_SUCCESS);
	assert_int_equal(count, 2);
	assert_int_equal(cuDeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
	assert_int_equal(cuDeviceGetPCIBusId(pci, sizeof(pci), 0), CUDA_SUCCESS);
	FILE *list = popen(devices_path, "r");
	assert_non_null(list);
	while (fgets(line, sizeof(line), list)) {
		if (line[0] == '2')
			assert_int_equal(sscanf(line, "2 %31s %63s", found_pci, uuid_text), 2);
	}
	assert_int_equal(pclose(list), 0);
	char expected[16];
	snprintf(expected, sizeof(expected), "GPU-%02x%02x%02x%02x-", (uint8_t)uuid.bytes[0],
		 (uint8_t)uuid.bytes[1], (uint8_t)uuid.bytes[2], (uint8_t)uuid.bytes[3]);
	assert_memory_equal(uuid_text, expected, strlen(expected));
	assert_string_equal(found_pci, pci);
}

static void the_driver_finds_functions_by_unversioned_name(void **state)
{
	CUdriverProcAddressQueryResult status;
	void *function;

	(void)state;
	assert_int_equal(cuGetProcAddress("cuMemAlloc", &function, 13000, 0, &status),
			 CUDA_SUCCESS);
	assert_ptr_equal(function, &cuMemAlloc);
	assert_int_equal(cuGetProcAddress("cuLaunchKernel", &function, 13000, 0, &status),
			 CUDA_SUCCESS);
	assert_ptr_equal(function, &cuLaunchKernel);
	assert_int_equal(cuGetProcAddress("cuNothing", &function, 13000, 0, &status),
			 CUDA_ERROR_NOT_FOUND);
}

struct truth {
	unsigned long long ran_count, ran_ns, valid_count, valid_ns, dropped_count, zeroed_count,
		running_count;
	unsigned long long calls, failed;
};

static struct truth read_truth(const char *path)
{
	struct truth sum = {0};
	char line[1024];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_int_equal(strncmp(line, "#device\t", 8), 0);
	while (fgets(line, sizeof(line), file)) {
		unsigned long long ran, ran_ns, bytes, valid, valid_ns, lost, zeroed, running;

		if (sscanf(line, "#launch\t%llu\t%llu", &sum.calls, &sum.failed) == 2)
			continue;
		if (!strstr(line, "\tkernel\t"))
			continue;
		assert_int_equal(sscanf(line,
					"%*s %*u %*u %*u %*u kernel %*s %llu %llu %llu %llu %llu "
					"%llu %llu %llu",
					&ran, &ran_ns, &bytes, &valid, &valid_ns, &lost, &zeroed,
					&running),
				 8);
		sum.ran_count += ran;
		sum.ran_ns += ran_ns;
		sum.valid_count += valid;
		sum.valid_ns += valid_ns;
		sum.dropped_count += lost;
		sum.zeroed_count += zeroed;
		sum.running_count += running;
	}
	fclose(file);
	return sum;
}

static void run_injected(const char *truth_path, const char *counts_path)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		setenv("CUDA_INJECTION64_PATH", injection_path, 1);
		setenv("FAKE_CUDA_TRUTH", truth_path, 1);
		setenv("FAKE_INJECTION_OUT", counts_path, 1);
		setenv("FAKE_CUDA_FAIL_LAUNCH", "1000", 1);
		setenv("FAKE_CUPTI_DROP", "777", 1);
		setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3", 1);
		if (!freopen("/dev/null", "w", stdout))
			_exit(126);
		execl(launches_path, launches_path, "--devices", "4", "--streams", "8", "--threads",
		      "4", "--launches", "20000", "--kernels", "16", "--mangled", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* What an injection library is told, and what the truth says, are equal to the nanosecond. */
static void an_injected_process_sees_exactly_the_truth(void **state)
{
	char directory[] = "/tmp/fake_cuda_test.XXXXXX", truth_path[64], counts_path[64];
	unsigned long long not_ready, enters, exits, init_finished, contexts, kernels, kernel_ns,
		unmatched;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(truth_path, sizeof(truth_path), "%s/truth", directory);
	snprintf(counts_path, sizeof(counts_path), "%s/counts", directory);
	run_injected(truth_path, counts_path);

	struct truth truth = read_truth(truth_path);
	FILE *file = fopen(counts_path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu %llu %llu %llu %llu %llu %llu %llu", &not_ready,
				&enters, &exits, &init_finished, &contexts, &kernels, &kernel_ns,
				&unmatched),
			 8);
	fclose(file);
	unlink(truth_path);
	unlink(counts_path);
	rmdir(directory);

	assert_int_equal(not_ready, 1);
	assert_int_equal(init_finished, 1);
	assert_int_equal(contexts, 4);
	assert_int_equal(enters, 80000);
	assert_int_equal(exits, 80000);
	assert_int_equal(unmatched, 0);
	assert_int_equal(truth.calls, 80000);
	assert_int_equal(truth.failed, 80);
	assert_int_equal(truth.ran_count, 80000 - 80);
	assert_int_equal(truth.dropped_count, (80000 - 80) / 777);
	assert_int_equal(truth.valid_count, truth.ran_count - truth.dropped_count);
	assert_int_equal(kernels, truth.valid_count);
	assert_int_equal(kernel_ns, truth.valid_ns);
}

/* Two threads, two rounds of a captured graph with four kernels, launched five times; of its clone,
 * launched six times; and of a graph of three kernels with it as a child, launched five times. */
static void every_run_of_a_node_has_a_record_and_is_in_the_truth(void **state)
{
	char directory[] = "/tmp/fake_cuda_test.XXXXXX", truth_path[64], counts_path[64],
	     command[1024], line[256];
	unsigned long long kernels, kernel_ns, printed = 0, count, launches = 0, captured = 0;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(truth_path, sizeof(truth_path), "%s/truth", directory);
	snprintf(counts_path, sizeof(counts_path), "%s/counts", directory);
	snprintf(command, sizeof(command),
		 "CUDA_INJECTION64_PATH=%s FAKE_CUDA_TRUTH=%s FAKE_INJECTION_OUT=%s %s --threads 2 "
		 "--rounds 2 --kernels 4 --replays 5 --explicit 3 --eager 7",
		 injection_path, truth_path, counts_path, graphs_path);
	FILE *output = popen(command, "r");
	assert_non_null(output);
	while (fgets(line, sizeof(line), output)) {
		if (sscanf(line, "launched %*d %*s %llu", &count) == 1)
			printed += count;
		sscanf(line, "graphs %llu", &launches);
		sscanf(line, "captured %llu", &captured);
	}
	assert_int_equal(pclose(output), 0);
	assert_int_equal(launches, 2 * 2 * (5 + 6 + 5));
	assert_int_equal(captured, 2 * 2 * 6);
	assert_int_equal(printed, 2 * 2 * ((5 + 6 + 5) * 4 + 5 * 3 + 7));

	struct truth truth = read_truth(truth_path);
	FILE *file = fopen(counts_path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*u %*u %*u %*u %*u %llu %llu", &kernels, &kernel_ns), 2);
	fclose(file);
	unlink(truth_path);
	unlink(counts_path);
	rmdir(directory);
	assert_int_equal(truth.ran_count, printed);
	assert_int_equal(truth.valid_count, printed);
	assert_int_equal(kernels, truth.valid_count);
	assert_int_equal(kernel_ns, truth.valid_ns);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(visible_devices_reorder_ordinals_and_keep_uuids),
		cmocka_unit_test(the_driver_finds_functions_by_unversioned_name),
		cmocka_unit_test(an_injected_process_sees_exactly_the_truth),
		cmocka_unit_test(every_run_of_a_node_has_a_record_and_is_in_the_truth),
	};

	if (argc != 5)
		return 2;
	launches_path = argv[1];
	injection_path = argv[2];
	devices_path = argv[3];
	graphs_path = argv[4];
	return cmocka_run_group_tests(tests, listener_open_devices, NULL);
}
