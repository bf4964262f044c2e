/* The GPUs of this node as its PCI buses show them, whatever CUDA_VISIBLE_DEVICES says.
 * The only file that includes hwloc.h. Called once, at start; touches the environment for a moment.
 */
#ifndef DEVICE_TOPOLOGY_H
#define DEVICE_TOPOLOGY_H

#include "device_list.h"
#include "numa_map.h"

/* Fills an empty list with NVIDIA's GPUs in the order of their PCI addresses; none is not an error,
 * UUIDs stay zero. 0; -EIO: hwloc failed; -ENOMEM. On error the list is empty. */
int device_topology_read(struct device_list *list);

/* Which CPUs and NVIDIA GPUs belong to which NUMA node, by hwloc; nr_nodes 0 where it does not tell. 0 or -EIO: *map
 * knows nothing. */
int device_topology_map(struct numa_map *map);

#endif
