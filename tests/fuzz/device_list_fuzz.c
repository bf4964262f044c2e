/* Lists of GPUs. Each entry that is read is found again by its own address. */
#include <stdint.h>
#include <stdlib.h>

#include "node-agent/device_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct device_list list = {0};
	const char *problem = NULL;
	uint32_t line = 0;

	if (device_list_parse((const char *)data, size, &list, &line, &problem) != 0) {
		if (line == 0 || !problem)
			abort();
	} else {
		for (uint32_t i = 0; i < list.count; i++) {
			const struct device_list_entry *entry = &list.entries[i];

			if (device_list_find(&list, entry->pci_domain, entry->pci_bus, entry->pci_device,
					     entry->uuid) != entry)
				abort();
		}
	}
	device_list_fini(&list);
	return 0;
}
