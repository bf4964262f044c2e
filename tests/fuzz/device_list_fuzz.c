/* Lists of GPUs. Each entry that is read is found again by its own address; a file of the same text is read alike. */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz_file.h"
#include "node-agent/base/device_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_file(const uint8_t *data, size_t size, int wanted, uint32_t count)
{
	struct device_list list;
	char *error = NULL;

	if (device_list_read(fuzz_file_write(data, size), &list, &error) != wanted ||
	    (wanted == 0) != !error)
		abort();
	if (wanted == 0 && list.count != count)
		abort();
	device_list_fini(&list);
	free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t nowhere[WIRE_UUID_SIZE] = {1};
	struct device_list list = {0};
	const char *problem = NULL;
	uint32_t line = 0;

	int r = device_list_parse((const char *)data, size, &list, &line, &problem);

	read_file(data, size, r, list.count);
	device_list_find(&list, UINT32_MAX, 0, 0, nowhere);
	if (r != 0) {
		if (line == 0 || !problem)
			abort();
	} else {
		for (uint32_t i = 0; i < list.count; i++) {
			const struct device_list_entry *entry = &list.entries[i];

			if (device_list_find(&list, entry->pci_domain, entry->pci_bus,
					     entry->pci_device, entry->uuid) != entry)
				abort();
		}
	}
	device_list_fini(&list);
	return 0;
}
