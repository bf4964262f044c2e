/* Maps CPUs and PCI devices to this machine's NUMA nodes. Plain data; device_topology_map() makes it. */
#ifndef NUMA_MAP_H
#define NUMA_MAP_H

#include <stdint.h>

#define NUMA_MAP_CPUS    4096u
#define NUMA_MAP_DEVICES 64u
#define NUMA_MAP_LIST    256u /* bytes of a list of CPUs, with its NUL; a longer list is cut */
#define NUMA_NODE_NONE   UINT32_MAX

struct numa_map {
	uint32_t nr_nodes;                   /* 0: not known */
	uint32_t node_of_cpu[NUMA_MAP_CPUS]; /* the operating system's numbers; NUMA_NODE_NONE */
	uint32_t nr_devices;
	struct numa_map_device {
		uint32_t pci_domain, pci_bus, pci_device;
		uint32_t node;            /* NUMA_NODE_NONE: beside several nodes, or not known */
		char cpus[NUMA_MAP_LIST]; /* of that node: "0-15,32-47"; "" */
	} devices[NUMA_MAP_DEVICES];
};

#endif
