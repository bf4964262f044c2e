#include "resource.h"

#include "proto/ledger.h"

static const struct {
	const char *name, *member, *label;
	enum resource_unit unit;
	uint64_t little;
} resources[RESOURCES] = {
	[RESOURCE_ENERGY] = {"energy", "energy_mj", "energy", RESOURCE_MJ, 0},
	[RESOURCE_SM] = {"sm", "sm_ns", "SM active", RESOURCE_NS, 50000000},
	[RESOURCE_OCCUPANCY] = {"occupancy", "occupancy_ns", "occupancy", RESOURCE_NS, 50000000},
	[RESOURCE_TENSOR] = {"tensor", "tensor_ns", "tensor cores", RESOURCE_NS, 50000000},
	[RESOURCE_DRAM] = {"dram", "dram_bytes", "DRAM", RESOURCE_BYTES, 100000000000},
	[RESOURCE_NVLINK] = {"nvlink", "nvlink_bytes", "NVLink", RESOURCE_BYTES, 5000000000},
	[RESOURCE_PCIE] = {"pcie", "pcie_bytes", "PCIe", RESOURCE_BYTES, 1000000000},
};

const char *resource_name(enum resource resource)
{
	return resources[resource].name;
}

const char *resource_member(enum resource resource)
{
	return resources[resource].member;
}

const char *resource_label(enum resource resource)
{
	return resources[resource].label;
}

enum resource_unit resource_unit(enum resource resource)
{
	return resources[resource].unit;
}

uint64_t resource_little(enum resource resource)
{
	return resources[resource].little;
}

bool resource_has_base(enum resource resource)
{
	return resource == RESOURCE_ENERGY;
}

static void of_use(const struct device_telemetry *row, enum telemetry_use use, uint64_t *known_ns,
		   uint64_t *amount)
{
	*known_ns = row->use_known_ns[use];
	*amount = row->use_ns[use];
}

/* Both directions are known for the same time. */
static void of_traffic(const struct device_telemetry *row, enum telemetry_traffic sent,
		       enum telemetry_traffic received, uint64_t *known_ns, uint64_t *amount)
{
	if (row->traffic_known_ns[sent] != row->traffic_known_ns[received])
		return;
	*known_ns = row->traffic_known_ns[sent];
	*amount = ledger_add_saturating(row->traffic_bytes[sent], row->traffic_bytes[received]);
}

void resource_of_row(enum resource resource, const struct device_telemetry *row, uint64_t *known_ns,
		     uint64_t *amount)
{
	*known_ns = *amount = 0;
	switch (resource) {
	case RESOURCE_ENERGY:
		*known_ns = row->energy_ns;
		*amount = row->energy_mj;
		break;
	case RESOURCE_SM:
		of_use(row, TELEMETRY_SM, known_ns, amount);
		break;
	case RESOURCE_OCCUPANCY:
		of_use(row, TELEMETRY_OCCUPANCY, known_ns, amount);
		break;
	case RESOURCE_TENSOR:
		of_use(row, TELEMETRY_TENSOR, known_ns, amount);
		break;
	case RESOURCE_DRAM:
		*known_ns = row->traffic_known_ns[TELEMETRY_DRAM_BYTES];
		*amount = row->traffic_bytes[TELEMETRY_DRAM_BYTES];
		break;
	case RESOURCE_NVLINK:
		of_traffic(row, TELEMETRY_NVLINK_SENT, TELEMETRY_NVLINK_RECEIVED, known_ns, amount);
		break;
	case RESOURCE_PCIE:
		of_traffic(row, TELEMETRY_PCIE_SENT, TELEMETRY_PCIE_RECEIVED, known_ns, amount);
		break;
	case RESOURCES:
		break;
	}
}
