/* What one process contributes to messages of counters (counter_reader.h): a state and samples of each GPU that does
 * work of it. Samples of a GPU that several processes use go with whichever is asked first. Part of a process's
 * placement; only the agent loop calls it. */
#ifndef COUNTER_USERS_H
#define COUNTER_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter_reader.h"

#include "proto/batch/message.h"

#define COUNTER_USERS_SAMPLES 16384u /* of a message; others go with the next one */

struct counter_users;

/* reader: borrowed until destroy. NULL: out of memory. All functions accept NULL as users, and then do nothing. */
struct counter_users *counter_users_create(struct counter_reader *reader);
void counter_users_destroy(struct counter_users *users);

/* The device with this CUDA ordinal, below RECORD_DEVICES_MAX, does work, and is at this PCI address. What was said of
 * it before is forgotten. */
void counter_users_use(struct counter_users *users, uint32_t device_id, uint32_t pci_domain,
		       uint32_t pci_bus, uint32_t pci_device);
void counter_users_leave(struct counter_users *users, uint32_t device_id);

/* Adds to a message what has come since the last one. Borrowed until the next call. Returns whether there is any. */
bool counter_users_list(struct counter_users *users, struct message_placement *message);

#endif
