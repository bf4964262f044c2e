#include "shared_objects.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import_slots.h"
#include "shared_session.h"
#include "shared_subscriber.h"

#include "inject/base/definition_writer.h"
#include "proto/definition.h"
#include "proto/options/cuda_file.h"

#define SLOTS          (SHARED_SUBSCRIBER_SLOTS + SHARED_SESSION_SLOTS)
#define PENDING_ROUNDS 50u /* looks that the loading of an object may take */
#define NAME_SIZE      128u

struct look {
	struct import_slot slots[SLOTS];
	bool unbound; /* there is one libcupti, so slots that bind later will bind to it */
	uint32_t nr_objects, nr_libraries;
	struct import_slots_result result;
	char refused[NAME_SIZE]; /* the object whose slots could not be set */
};

/* One look at a time. */
static struct {
	_Atomic(const struct cupti_library *) library; /* NULL: not begun */
	atomic_flag busy;
	bool read, off;
	unsigned long long adds; /* the loader's, as of the last look */
	uint32_t nr_pending;     /* rounds in a row, 0: nothing is */
	bool looked, said, refusal_said;
	int error;
	char refused[NAME_SIZE];
} watch = {.busy = ATOMIC_FLAG_INIT};

static void copy_name(char name[static NAME_SIZE], const struct dl_phdr_info *info)
{
	char program[512] = "";
	const char *path = info->dlpi_name, *slash;

	if (*path == '\0' && readlink("/proc/self/exe", program, sizeof(program) - 1) > 0)
		path = program;
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	size_t size = strnlen(path, NAME_SIZE - 1);
	memcpy(name, path, size);
	name[size] = '\0';
}

static bool is_cupti(const struct dl_phdr_info *info)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	return strncmp(slash ? slash + 1 : info->dlpi_name, "libcupti.so", 11) == 0;
}

static int count_libraries(struct dl_phdr_info *info, size_t size, void *user)
{
	struct look *look = user;

	(void)size;
	if (look->nr_objects++ == 0) {
		if (watch.looked && watch.nr_pending == 0 && watch.adds == info->dlpi_adds)
			return 1;
		watch.nr_pending =
			watch.looked && watch.adds == info->dlpi_adds ? watch.nr_pending : 0;
		watch.adds = info->dlpi_adds;
	}
	look->nr_libraries += is_cupti(info);
	return 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
	struct look *look = user;
	int error = look->result.error;

	(void)size;
	if (cuda_file_flags(info->dlpi_name, strlen(info->dlpi_name)) & DEFINITION_MODULE_CUDA ||
	    !import_slots_needs(info, "libcupti.so"))
		return 0;
	import_slots_set(info, look->slots, SLOTS, look->unbound, &look->result);
	if (look->result.error != error)
		copy_name(look->refused, info);
	return 0;
}

static void look_through(void)
{
	const struct cupti_library *library = atomic_load(&watch.library);
	struct look look = {0};

	shared_subscriber_slots(library, look.slots);
	shared_session_slots(library, look.slots + SHARED_SUBSCRIBER_SLOTS);
	if (dl_iterate_phdr(count_libraries, &look) != 0)
		return;
	watch.looked = true;
	look.unbound = look.nr_libraries == 1;
	dl_iterate_phdr(visit, &look);
	watch.nr_pending = look.result.nr_pending && watch.nr_pending < PENDING_ROUNDS
				   ? watch.nr_pending + 1
				   : 0;
	if (look.result.error && !watch.error) {
		watch.error = look.result.error;
		memcpy(watch.refused, look.refused, sizeof(watch.refused));
	}
}

/* Begins a look. Returns false if there is nothing to look for. */
static bool begin_look(void)
{
	if (!atomic_load(&watch.library) || atomic_flag_test_and_set(&watch.busy))
		return false;
	if (!watch.read) {
		const char *text = getenv(SHARED_OBJECTS_ENV);

		watch.off = text && strcmp(text, "off") == 0;
		watch.read = true;
	}
	if (!watch.off)
		return true;
	atomic_flag_clear(&watch.busy);
	return false;
}

struct caller {
	uintptr_t address;
	char name[NAME_SIZE];
};

static int name_caller(struct dl_phdr_info *info, size_t size, void *user)
{
	struct caller *caller = user;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && caller->address - start < header->p_memsz) {
			copy_name(caller->name, info);
			return 1;
		}
	}
	return 0;
}

static void say(struct definition_writer *notices)
{
	struct caller caller = {.address = shared_subscriber_caller(),
				.name = "an unloaded object"};

	if (caller.address && !watch.said) {
		watch.said = true;
		dl_iterate_phdr(name_caller, &caller);
		definition_writer_notice(notices, NOTICE_SUBSCRIPTION_SHARED, 0,
					 "another profiler shares CUPTI in this process: %s",
					 caller.name);
	}
	if (watch.error && !watch.refusal_said) {
		watch.refusal_said = true;
		definition_writer_notice(notices, NOTICE_SUBSCRIPTION_SHARED, watch.error,
					 "%s cannot share CUPTI: its pages cannot be written (%s)",
					 watch.refused, strerror(-watch.error));
	}
}

void shared_objects_begin(const struct cupti_library *library)
{
	atomic_store(&watch.library, library);
	if (!begin_look())
		return;
	look_through();
	atomic_flag_clear(&watch.busy);
}

void shared_objects_look(struct definition_writer *notices)
{
	if (!begin_look())
		return;
	look_through();
	say(notices);
	atomic_flag_clear(&watch.busy);
}
