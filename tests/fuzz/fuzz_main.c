/* Runs a fuzz target without libFuzzer: over the files given (a directory stands for its files),
 * each as it is and then damaged in ways that are the same in every run. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROUNDS 2000u /* of damage to each file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t random_state = 88172645463325252ull;

static size_t random_below(size_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state >> 16) % limit;
}

/* A copy of exactly size bytes, so that a sanitizer sees a read past them. */
static void run_copy(const uint8_t *data, size_t size, size_t nr_damages)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	for (size_t i = 0; i < nr_damages && size; i++)
		copy[random_below(size)] = (uint8_t)random_below(256);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	static uint8_t data[1u << 20];
	size_t size;

	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	run_copy(data, size, 0);
	for (size_t cut = 0; cut < size; cut++)
		run_copy(data, cut, 0);
	for (uint32_t i = 0; i < ROUNDS; i++)
		run_copy(data, size, 1 + i % 4);
	return 0;
}

static int run_directory(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	char name[4096];
	int failed = 0, nr_files = 0;

	if (!directory) {
		perror(path);
		return 1;
	}
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) >= (int)sizeof(name))
			failed = 1;
		else
			failed |= run_file(name);
		nr_files++;
	}
	closedir(directory);
	printf("%d files from %s\n", nr_files, path);
	return failed || nr_files == 0;
}

int main(int argc, char **argv)
{
	struct stat status;
	int failed = argc < 2;

	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode))
			failed |= run_directory(argv[i]);
		else
			failed |= run_file(argv[i]);
	}
	return failed;
}
