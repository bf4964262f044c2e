#include "loaded_fixture.h"

#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/files/elf_file.h"

static uint64_t bias_of(void *library)
{
	struct link_map *map;

	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	return map->l_addr;
}

static void *find(const char *path, const char *symbol, void **library)
{
	*library = dlopen(path, RTLD_NOW);
	assert_non_null(*library);
	void *address = dlsym(*library, symbol);
	assert_non_null(address);
	return address;
}

uint64_t loaded_fixture_vaddr(const char *path, const char *symbol)
{
	void *library, *address = find(path, symbol, &library);
	uint64_t vaddr = (uint64_t)(uintptr_t)address - bias_of(library);

	dlclose(library);
	return vaddr;
}

struct wanted {
	const char *symbol;
	uint64_t vaddr;
};

static int compare_function(void *context, const struct elf_file_function *function)
{
	struct wanted *wanted = context;

	if (strcmp(function->name, wanted->symbol) == 0)
		wanted->vaddr = function->start;
	return wanted->vaddr != 0;
}

uint64_t loaded_fixture_function(const char *path, const char *symbol)
{
	struct elf_file *file = loaded_fixture_open(path);
	struct wanted wanted = {.symbol = symbol};

	assert_int_equal(elf_file_each_function(file, compare_function, &wanted), 1);
	elf_file_close(file);
	return wanted.vaddr;
}

int loaded_fixture_int(const char *path, const char *symbol)
{
	void *library, *address = find(path, symbol, &library);
	int value = *(const int *)address;

	dlclose(library);
	return value;
}

void loaded_fixture_directory(char *directory, size_t max)
{
	snprintf(directory, max, "/tmp/flamegrid_test.XXXXXX");
	assert_non_null(mkdtemp(directory));
}

void loaded_fixture_copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	struct stat status;

	assert_true(in >= 0);
	assert_int_equal(fstat(in, &status), 0);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	assert_true(out >= 0);
	assert_int_equal(sendfile(out, in, NULL, (size_t)status.st_size), status.st_size);
	close(in);
	close(out);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
	(void)status;
	(void)flag;
	(void)walk;
	return remove(path);
}

void loaded_fixture_remove(const char *directory)
{
	assert_int_equal(nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void loaded_fixture_run(const char *program, const char *const arguments[static 5])
{
	char *argv[6] = {(char *)program};
	int status;
	pid_t pid;

	for (int i = 0; i < 4 && arguments[i]; i++)
		argv[i + 1] = (char *)arguments[i];
	assert_int_equal(posix_spawnp(&pid, program, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

struct elf_file *loaded_fixture_open(const char *path)
{
	struct elf_file *file;

	assert_int_equal(elf_file_open(path, &file), 0);
	return file;
}
