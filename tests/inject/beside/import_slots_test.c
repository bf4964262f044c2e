/* Import slots of libraries that are loaded here, bound at once and bound at the first call; and of objects that are
 * made up. */
#include "inject/beside/import_slots.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define ANSWER 4711

static bool refuse_protection;

int __real_mprotect(void *address, size_t size, int protection);
int __wrap_mprotect(void *address, size_t size, int protection);

int __wrap_mprotect(void *address, size_t size, int protection)
{
	if (refuse_protection) {
		errno = EACCES;
		return -1;
	}
	return __real_mprotect(address, size, protection);
}

static int other(int number)
{
	(void)number;
	return ANSWER;
}

struct library {
	void *handle;
	int (*call)(int number);
	int (*(*pointer)(void))(int number);
	void *target;
};

struct job {
	const char *name;
	struct import_slot slot;
	bool unbound, needs, found;
	struct import_slots_result result;
};

static void open_library(struct library *library, const char *path)
{
	library->handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	assert_non_null(library->handle);
	*(void **)&library->call = dlsym(library->handle, "slot_library_call");
	*(void **)&library->pointer = dlsym(library->handle, "slot_library_pointer");
	library->target = dlsym(library->handle, "slot_target");
	assert_non_null(library->target);
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
	struct job *job = user;

	(void)size;
	if (!strstr(info->dlpi_name, job->name))
		return 0;
	job->found = true;
	job->needs = import_slots_needs(info, "libslot_target");
	import_slots_set(info, &job->slot, 1, job->unbound, &job->result);
	return 1;
}

static struct import_slots_result set(const char *name, void *from, void *to, bool unbound)
{
	struct job job = {.name = name, .slot = {"slot_target", from, to}, .unbound = unbound};

	dl_iterate_phdr(visit, &job);
	assert_true(job.found);
	assert_true(job.needs);
	return job.result;
}

/* The protection of the page, as four letters. */
static void read_protection(uintptr_t address, char letters[static 5])
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];

	assert_non_null(file);
	letters[0] = '\0';
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx %4s", &start, &end, letters) == 3 && address >= start &&
		    address < end)
			break;
	fclose(file);
}

static uintptr_t relro_of(const char *path)
{
	struct link_map *map;
	void *handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);

	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	dlclose(handle);
	return (uintptr_t)map->l_ld; /* the dynamic section is within */
}

static void slots_that_are_read_only_are_set_and_read_only_again(void **state)
{
	struct library library;
	char letters[5];

	(void)state;
	open_library(&library, SLOT_NOW);
	assert_int_equal(library.call(1), 2);
	struct import_slots_result result =
		set("libslot_now", library.target, (void *)other, false);
	assert_int_equal(result.error, 0);
	assert_int_equal(result.nr_pending, 0);
	assert_true(result.nr_set >= 1);
	assert_int_equal(library.call(1), ANSWER);
	assert_int_equal(library.pointer()(1), ANSWER);
	read_protection(relro_of(SLOT_NOW), letters);
	assert_string_equal(letters, "r--p");

	/* Once more changes nothing; and back. */
	assert_int_equal(set("libslot_now", library.target, (void *)other, true).nr_set,
			 result.nr_set);
	set("libslot_now", (void *)other, library.target, false);
	assert_int_equal(library.call(1), 2);
	dlclose(library.handle);
}

static void slots_that_are_not_bound_yet_are_set_on_request_alone(void **state)
{
	struct library library;

	(void)state;
	open_library(&library, SLOT_LAZY);
	set("libslot_lazy", library.target, (void *)other, true);
	assert_int_equal(library.call(1), ANSWER);
	assert_null(library.pointer);
	dlclose(library.handle);

	open_library(&library, SLOT_LAZY);
	set("libslot_lazy", library.target, (void *)other, false);
	assert_int_equal(library.call(1), getenv("LD_BIND_NOW") ? ANSWER : 2);
	/* Bound by that call. */
	set("libslot_lazy", library.target, (void *)other, false);
	assert_int_equal(library.call(1), ANSWER);
	dlclose(library.handle);
}

static void slots_that_somebody_else_has_set_are_left_alone(void **state)
{
	struct library library;

	(void)state;
	open_library(&library, SLOT_NOW);
	struct import_slots_result result = set("libslot_now", (void *)other, (void *)abort, true);
	assert_int_equal(result.nr_set, 0);
	assert_int_equal(library.call(1), 2);
	result = set("libslot_now", NULL, (void *)abort, true);
	assert_int_equal(result.nr_set, 0);
	assert_int_equal(library.call(1), 2);
	dlclose(library.handle);
}

static void refusal_to_write_is_told_and_harmless(void **state)
{
	struct library library;

	(void)state;
	open_library(&library, SLOT_NOW);
	refuse_protection = true;
	struct import_slots_result result = set("libslot_now", library.target, (void *)other, true);
	refuse_protection = false;
	assert_int_equal(result.error, -EACCES);
	assert_int_equal(result.nr_set, 0);
	assert_int_equal(library.call(1), 2);
	dlclose(library.handle);
}

/* ---- made-up objects, in memory of exactly their size */

struct made {
	ElfW(Dyn) dynamic[10];
	ElfW(Sym) symbols[2];
	ElfW(Rela) relocation;
	void *slot;
	char strings[32];
};

#if defined(__x86_64__)
#define JUMP R_X86_64_JUMP_SLOT
#else
#define JUMP R_AARCH64_JUMP_SLOT
#endif

/* Addresses as in the file, which the object's base is to be added to. */
static struct made *make(void)
{
	static const char strings[] = "\0slot_target\0libslot_target.so";
	struct made *made = calloc(1, sizeof(*made));
	const ElfW(Dyn) dynamic[] = {
		{DT_NEEDED, {13}},
		{DT_STRTAB, {offsetof(struct made, strings)}},
		{DT_STRSZ, {sizeof(made->strings)}},
		{DT_SYMTAB, {offsetof(struct made, symbols)}},
		{DT_JMPREL, {offsetof(struct made, relocation)}},
		{DT_PLTRELSZ, {sizeof(made->relocation)}},
		{DT_PLTREL, {DT_RELA}},
		{DT_RELA, {offsetof(struct made, relocation)}},
		{DT_RELASZ, {sizeof(made->relocation)}},
		{DT_NULL, {0}},
	};

	assert_non_null(made);
	memcpy(made->dynamic, dynamic, sizeof(dynamic));
	memcpy(made->strings, strings, sizeof(strings));
	made->symbols[1].st_name = 1;
	made->relocation.r_offset = offsetof(struct made, slot);
	made->relocation.r_info = ELF64_R_INFO(1, JUMP);
	made->slot = (void *)abort;
	return made;
}

static struct import_slots_result set_made(struct made *made, bool *needs)
{
	const ElfW(Phdr) headers[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_memsz = sizeof(*made)},
		{.p_type = PT_DYNAMIC, .p_memsz = sizeof(made->dynamic)},
	};
	const struct dl_phdr_info info = {
		.dlpi_addr = (uintptr_t)made,
		.dlpi_name = "",
		.dlpi_phdr = headers,
		.dlpi_phnum = 2,
	};
	const struct import_slot slot = {"slot_target", (void *)abort, (void *)other};
	struct import_slots_result result = {0};

	*needs = import_slots_needs(&info, "libslot_target.so");
	import_slots_set(&info, &slot, 1, true, &result);
	return result;
}

static void made_object_is_understood(void **state)
{
	struct made *made = make();
	bool needs;

	(void)state;
	assert_true(set_made(made, &needs).nr_set > 0);
	assert_true(needs);
	assert_ptr_equal(made->slot, other);
	free(made);
}

static void wrong_addresses_and_counts_are_not_followed(void **state)
{
	static const uint64_t wrong[] = {
		0,
		1,
		7,
		sizeof(struct made) - 1,
		sizeof(struct made),
		0x7fffffffffffffff,
		0x8000000000000000,
		UINT64_MAX - 7,
		UINT64_MAX,
	};
	uint32_t nr_tried = 0;
	bool needs;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		for (size_t field = 0; field < 9; field++, nr_tried++) {
			struct made *made = make();

			made->dynamic[field].d_un.d_val = wrong[i];
			assert_int_equal(set_made(made, &needs).error, 0);
			free(made);
		}
		for (size_t field = 0; field < 3; field++, nr_tried++) {
			struct made *made = make();

			if (field == 0)
				made->relocation.r_offset = wrong[i];
			else if (field == 1)
				made->relocation.r_info = wrong[i] << 32 | JUMP;
			else
				made->symbols[1].st_name = (ElfW(Word))wrong[i];
			if (wrong[i] != 1)
				assert_int_equal(set_made(made, &needs).nr_set, 0);
			free(made);
		}
	}
	assert_int_equal(nr_tried, 9 * 12);
}

static void what_is_not_relocated_yet_is_to_be_looked_at_again(void **state)
{
	struct made *made = make();
	bool needs;

	(void)state;
	made->slot = (void *)0x1036; /* as the linker left it: an address within the file */
	struct import_slots_result result = set_made(made, &needs);
	assert_int_equal(result.nr_set, 0);
	assert_true(result.nr_pending > 0);
	assert_ptr_equal(made->slot, (void *)0x1036);
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_that_are_read_only_are_set_and_read_only_again),
		cmocka_unit_test(slots_that_are_not_bound_yet_are_set_on_request_alone),
		cmocka_unit_test(slots_that_somebody_else_has_set_are_left_alone),
		cmocka_unit_test(refusal_to_write_is_told_and_harmless),
		cmocka_unit_test(made_object_is_understood),
		cmocka_unit_test(wrong_addresses_and_counts_are_not_followed),
		cmocka_unit_test(what_is_not_relocated_yet_is_to_be_looked_at_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
