/* Arguments: two libraries of one build id, built from different sources. */
#include "unwind/eh_frame_identity.h"

#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loaded_segments.h"

#define SPREAD (64u * EH_FRAME_IDENTITY_PIECE) /* a file of which not all counts */

static const char *paths[2];

/* The segment of the library's function. The library stays loaded. */
static struct unwind_module load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct unwind_module module;

	if (!library)
		fail_msg("%s", dlerror());
	const void *function = dlsym(library, "rebuilt_call");
	assert_non_null(function);
	assert_true(loaded_segment_at(function, &module));
	return module;
}

/* Copies the file to another path. */
static void copy(const char *path, char *to, size_t size)
{
	FILE *source = fopen(path, "rb");
	static char bytes[1 << 20];

	snprintf(to, size, "/tmp/flamegrid-rebuilt.XXXXXX");
	int fd = mkstemp(to);
	assert_non_null(source);
	size_t length = fread(bytes, 1, sizeof(bytes), source);
	assert_in_range(length, 1, sizeof(bytes) - 1);
	assert_int_equal(write(fd, bytes, length), length);
	fclose(source);
	close(fd);
}

static void a_file_that_was_built_again_has_another_table(void **state)
{
	const struct unwind_module one = load(paths[0]), other = load(paths[1]);
	char path[64];

	(void)state;
	/* Without the content they would be the same. */
	assert_int_equal(one.end - one.start, other.end - other.start);
	assert_int_equal(one.eh_frame_hdr - one.start, other.eh_frame_hdr - other.start);
	assert_int_equal(one.eh_frame_hdr_size, other.eh_frame_hdr_size);
	assert_int_not_equal(one.tag, 0);
	assert_int_not_equal(one.tag, other.tag);

	copy(paths[0], path, sizeof(path));
	const struct unwind_module again = load(path);
	unlink(path);
	assert_int_not_equal(again.start, one.start);
	assert_int_equal(again.tag, one.tag);
}

/* A file in memory: a header of call frame information that names no table, and what is behind it. */
static uint64_t identity_of(uint8_t *bytes, uint64_t size, uint32_t flags)
{
	const ElfW(Phdr) headers[] = {
		{.p_type = PT_LOAD, .p_flags = flags, .p_filesz = size, .p_memsz = size},
		{.p_type = PT_GNU_EH_FRAME, .p_memsz = 8},
	};
	const struct dl_phdr_info info = {
		.dlpi_addr = (ElfW(Addr))(uintptr_t)bytes, .dlpi_phdr = headers, .dlpi_phnum = 2};

	return eh_frame_identity(&info);
}

static void each_byte_counts_and_of_much_a_spread_sample(void **state)
{
	uint8_t *bytes =
		mmap(NULL, SPREAD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t all = (uint64_t)EH_FRAME_IDENTITY_PIECES * EH_FRAME_IDENTITY_PIECE;

	(void)state;
	assert_ptr_not_equal(bytes, MAP_FAILED);
	uint64_t before = identity_of(bytes, all, PF_R);
	assert_int_not_equal(before, 0);
	for (uint64_t at = 0; at < all; at += at < 64 || at > all - 64 ? 1 : 613) {
		bytes[at] = 1;
		assert_int_not_equal(identity_of(bytes, all, PF_R), before);
		bytes[at] = 0;
	}
	before = identity_of(bytes, SPREAD, PF_R);
	for (int end = 0; end < 2; end++) {
		bytes[end ? SPREAD - 1 : 0] = 1;
		assert_int_not_equal(identity_of(bytes, SPREAD, PF_R), before);
		bytes[end ? SPREAD - 1 : 0] = 0;
	}
	/* A function that has moved changes all places behind it. */
	memset(bytes + SPREAD / 2, 1, SPREAD / 2);
	assert_int_not_equal(identity_of(bytes, SPREAD, PF_R), before);
	assert_int_equal(identity_of(bytes, SPREAD, PF_R | PF_W), 0);
	assert_int_equal(identity_of(bytes, 0, PF_R), 0);
	munmap(bytes, SPREAD);
	/* The memory is gone. */
	identity_of(bytes, SPREAD, PF_R);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_was_built_again_has_another_table),
		cmocka_unit_test(each_byte_counts_and_of_much_a_spread_sample),
	};

	if (argc != 3)
		return 2;
	paths[0] = argv[1];
	paths[1] = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
