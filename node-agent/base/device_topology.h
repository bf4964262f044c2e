/* Finds the GPUs on the PCI buses of this node; CUDA_VISIBLE_DEVICES has no effect. Only device_topology.c includes
 * hwloc.h. Called once, at start; it changes the environment for a moment. */
#ifndef DEVICE_TOPOLOGY_H
#define DEVICE_TOPOLOGY_H

#include "device_list.h"
#include "numa_map.h"

/* Fills an empty list with NVIDIA's GPUs in the order of their PCI addresses. A node without GPUs is no error. UUIDs
 * stay zero. 0; -EIO: hwloc failed; -ENOMEM. On error the list is empty. */
int device_topology_read(struct device_list *list);

/* Maps CPUs and NVIDIA GPUs to NUMA nodes, by hwloc; nr_nodes is 0 if hwloc does not know. 0; -EIO: *map is empty. */
int device_topology_map(struct numa_map *map);

#endif
