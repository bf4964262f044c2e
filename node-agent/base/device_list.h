/* The GPUs of a node, in the order that gives [GPUn_Kernel] its n, and a text file that can define this order. Pure but
 * for device_list_read(). Single-threaded. */
#ifndef DEVICE_LIST_H
#define DEVICE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define DEVICE_LIST_MAX 4096u

struct device_list_entry {
	int32_t index;
	uint32_t pci_domain, pci_bus, pci_device;
	uint8_t uuid[WIRE_UUID_SIZE]; /* zero: not known */
};

struct device_list {
	struct device_list_entry *entries; /* owns */
	uint32_t count;
};

void device_list_fini(struct device_list *list); /* accepts zeroed memory */

/* Appends a copy. 0; -EEXIST: the list has that index or PCI address; -ENOSPC: DEVICE_LIST_MAX; -ENOMEM. */
int device_list_add(struct device_list *list, const struct device_list_entry *entry);

/* Reads lines `INDEX PCI_BUS_ID UUID NAME...`; '#' starts a comment line, empty lines are skipped.
 * A UUID is 32 hexadecimal digits, dashes anywhere, with or without "GPU-" or "MIG-" before it. 0;
 * -EINVAL: *error_line is the line at fault (from 1) and *problem a phrase (static storage);
 * -ENOMEM. */
int device_list_parse(const char *text, size_t size, struct device_list *list, uint32_t *error_line,
		      const char **problem);

/* Parses a file of at most 1 MiB. 0 or -errno; *error is then one line `devices: path:line: problem`, which the caller
 * owns (free()); it may be NULL for lack of memory. On error *list is empty. */
int device_list_read(const char *path, struct device_list *list, char **error);

/* Returns the entry with the PCI address, else the entry with the UUID; NULL: none. Borrowed until the list changes. */
const struct device_list_entry *device_list_find(const struct device_list *list,
						 uint32_t pci_domain, uint32_t pci_bus,
						 uint32_t pci_device,
						 const uint8_t uuid[WIRE_UUID_SIZE]);

#endif
