/* Reads the links of GPUs by NVML (nvml_library.h) in a thread of its own, because that takes some 30 ms, and longer if
 * the driver is busy. Each GPU is read once. The thread begins with the first question and ends with the last answer.
 * NVML is open for that time alone, so it keeps no GPU awake. The agent loop asks; the thread touches nothing else. */
#ifndef LINK_READER_H
#define LINK_READER_H

#include <stdint.h>

#include "nvml_library.h"

#define LINK_READER_DEVICES 64u /* GPUs; further ones are not read */

struct link_reader;

/* NULL: out of memory. */
struct link_reader *link_reader_create(void);

/* Waits, at most wait_ms, until the thread has ended. A thread that the driver holds then ends when it can, and frees
 * the reader. Accepts NULL. */
void link_reader_destroy(struct link_reader *reader, uint32_t wait_ms);

/* Tells the link of the GPU at this PCI address. Never waits: the first question about a GPU has it read. Ask for a GPU
 * that is in use, because reading wakes it. 0; -EAGAIN: it is not read yet; -ENODATA: it cannot be known, or there is
 * no room or no thread to read it. On error *link is zero. */
int link_reader_find(struct link_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
		     uint32_t pci_device, struct nvml_link *link);

#endif
