/* Maps code addresses of one process to (module, virtual address in the ELF file). Intervals never overlap. A newer
 * interval cuts the older ones that it covers, as a newly loaded file takes the place of an unloaded one.
 * Single-threaded: only the agent loop calls it. */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_MAPS_MAX 16384u /* intervals of one process */

struct process_maps;

/* Creates an empty map; NULL: out of memory. process_maps_destroy() accepts NULL. */
struct process_maps *process_maps_create(void);
void process_maps_destroy(struct process_maps *maps);

/* Assigns the addresses from start up to end (exclusive) to module_id; address - bias is the virtual address in its
 * file. 0; -EINVAL: start >= end; -ENOSPC: PROCESS_MAPS_MAX reached; -ENOMEM. On error nothing changes. */
int process_maps_add(struct process_maps *maps, uint64_t start, uint64_t end, uint64_t bias,
		     uint32_t module_id);

/* Removes the addresses from start up to end (exclusive) from the map. 0; -ENOSPC; -ENOMEM. */
int process_maps_remove(struct process_maps *maps, uint64_t start, uint64_t end);

/* Finds the module of an address. false: the address is in no interval, and the outputs are 0. */
bool process_maps_find(const struct process_maps *maps, uint64_t address, uint32_t *module_id,
		       uint64_t *vaddr);

#endif
