#include "kernel_map.h"

#include "tests/support/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#define FDS_MAX        1024
#define VALUE_SIZE_MAX 4096u

int kernel_map_find(const char *name)
{
	for (int fd = FDS_MAX; fd > 2; fd--) {
		struct bpf_map_info info = {0};
		uint32_t size = sizeof(info);

		if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && strcmp(info.name, name) == 0) {
			assert_true(info.value_size <= VALUE_SIZE_MAX);
			return fd;
		}
	}
	fail_msg("no map is called %s", name);
	abort();
}

bool kernel_map_has(int map, uint32_t key)
{
	uint8_t value[VALUE_SIZE_MAX];

	return bpf_map_lookup_elem(map, &key, value) == 0;
}
