#include "device_topology.h"

#include <errno.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PLUGINS_ENV   "HWLOC_PLUGINS_PATH"
#define VENDOR_NVIDIA 0x10de
#define CLASS_VGA     0x0300
#define CLASS_3D      0x0302

static int compare(const void *left, const void *right)
{
	const struct device_list_entry *a = left, *b = right;

	if (a->pci_domain != b->pci_domain)
		return a->pci_domain < b->pci_domain ? -1 : 1;
	if (a->pci_bus != b->pci_bus)
		return a->pci_bus < b->pci_bus ? -1 : 1;
	return a->pci_device < b->pci_device ? -1 : a->pci_device > b->pci_device;
}

static bool is_gpu(const struct hwloc_pcidev_attr_s *pci)
{
	return pci->vendor_id == VENDOR_NVIDIA &&
	       (pci->class_id == CLASS_VGA || pci->class_id == CLASS_3D);
}

static int add_devices(hwloc_topology_t topology, struct device_list *list)
{
	hwloc_obj_t object = NULL;

	while ((object = hwloc_get_next_pcidev(topology, object))) {
		const struct hwloc_pcidev_attr_s *pci = &object->attr->pcidev;
		struct device_list_entry entry = {
			.index = (int32_t)list->count,
			.pci_domain = pci->domain,
			.pci_bus = pci->bus,
			.pci_device = pci->dev,
		};

		if (!is_gpu(pci))
			continue;
		int r = device_list_add(list, &entry);
		if (r == -ENOMEM)
			return r;
	}
	if (list->count > 0)
		qsort(list->entries, list->count, sizeof(*list->entries), compare);
	for (uint32_t i = 0; i < list->count; i++)
		list->entries[i].index = (int32_t)i;
	return 0;
}

/* hwloc's plugins would load the vendors' libraries, which wake the GPUs, and libpciaccess. Its built-in reading of
 * sysfs is enough. Only the environment turns plugins off, so the variable is restored for the job afterwards. */
static int init_without_plugins(hwloc_topology_t *topology)
{
	const char *value = getenv(PLUGINS_ENV);
	char *before = value ? strdup(value) : NULL;

	setenv(PLUGINS_ENV, "/nonexistent", 1);
	int r = hwloc_topology_init(topology);
	if (before)
		setenv(PLUGINS_ENV, before, 1);
	else
		unsetenv(PLUGINS_ENV);
	free(before);
	return r;
}

int device_topology_read(struct device_list *list)
{
	hwloc_topology_t topology;

	memset(list, 0, sizeof(*list));
	if (init_without_plugins(&topology))
		return -EIO;
	hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE,
				       HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	int r = hwloc_topology_load(topology) ? -EIO : add_devices(topology, list);
	hwloc_topology_destroy(topology);
	if (r)
		device_list_fini(list);
	return r;
}

static void map_cpus(hwloc_topology_t topology, struct numa_map *map)
{
	hwloc_obj_t node = NULL;

	while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
		/* A node without CPUs, such as a GPU's memory, is no place for a thread. */
		if (!node->cpuset || hwloc_bitmap_iszero(node->cpuset))
			continue;
		map->nr_nodes++;
		for (int cpu = hwloc_bitmap_first(node->cpuset);
		     cpu >= 0 && cpu < (int)NUMA_MAP_CPUS;
		     cpu = hwloc_bitmap_next(node->cpuset, cpu))
			map->node_of_cpu[cpu] = node->os_index;
	}
}

/* Uses the node with CPUs beside the device, if exactly one is. */
static void place(hwloc_topology_t topology, hwloc_obj_t pcidev, struct numa_map_device *device)
{
	hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, pcidev), node = NULL,
		    only = NULL;

	device->node = NUMA_NODE_NONE;
	while (near && near->cpuset &&
	       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
		if (!node->cpuset || !hwloc_bitmap_intersects(node->cpuset, near->cpuset))
			continue;
		if (only)
			return;
		only = node;
	}
	if (!only)
		return;
	device->node = only->os_index;
	hwloc_bitmap_list_snprintf(device->cpus, sizeof(device->cpus), only->cpuset);
}

static void map_devices(hwloc_topology_t topology, struct numa_map *map)
{
	hwloc_obj_t object = NULL;

	while ((object = hwloc_get_next_pcidev(topology, object)) &&
	       map->nr_devices < NUMA_MAP_DEVICES) {
		const struct hwloc_pcidev_attr_s *pci = &object->attr->pcidev;
		struct numa_map_device *device = &map->devices[map->nr_devices];

		if (!is_gpu(pci))
			continue;
		*device = (struct numa_map_device){
			.pci_domain = pci->domain, .pci_bus = pci->bus, .pci_device = pci->dev};
		place(topology, object, device);
		map->nr_devices++;
	}
}

int device_topology_map(struct numa_map *map)
{
	hwloc_topology_t topology;

	memset(map, 0, sizeof(*map));
	for (uint32_t i = 0; i < NUMA_MAP_CPUS; i++)
		map->node_of_cpu[i] = NUMA_NODE_NONE;
	if (init_without_plugins(&topology))
		return -EIO;
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	int r = hwloc_topology_load(topology) ? -EIO : 0;
	if (r == 0) {
		map_cpus(topology, map);
		map_devices(topology, map);
	}
	hwloc_topology_destroy(topology);
	return r;
}
