#include "meter.h"

#include "proto/ledger.h"

static const struct {
	const char *name, *member, *label;
	enum meter_unit unit;
	uint64_t little;
} meters[METERS] = {
	[METER_ENERGY] = {"energy", "energy_mj", "energy", METER_MJ, 0},
	[METER_SM] = {"sm", "sm_ns", "SM active", METER_NS, 50000000},
	[METER_OCCUPANCY] = {"occupancy", "occupancy_ns", "occupancy", METER_NS, 50000000},
	[METER_TENSOR] = {"tensor", "tensor_ns", "tensor cores", METER_NS, 50000000},
	[METER_DRAM] = {"dram", "dram_bytes", "DRAM", METER_BYTES, 100000000000},
	[METER_NVLINK] = {"nvlink", "nvlink_bytes", "NVLink", METER_BYTES, 5000000000},
	[METER_PCIE] = {"pcie", "pcie_bytes", "PCIe", METER_BYTES, 1000000000},
};

const char *meter_name(enum meter meter)
{
	return meters[meter].name;
}

const char *meter_member(enum meter meter)
{
	return meters[meter].member;
}

const char *meter_label(enum meter meter)
{
	return meters[meter].label;
}

enum meter_unit meter_unit(enum meter meter)
{
	return meters[meter].unit;
}

uint64_t meter_little(enum meter meter)
{
	return meters[meter].little;
}

bool meter_has_base(enum meter meter)
{
	return meter == METER_ENERGY;
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

void meter_of_row(enum meter meter, const struct device_telemetry *row, uint64_t *known_ns,
		  uint64_t *amount)
{
	*known_ns = *amount = 0;
	switch (meter) {
	case METER_ENERGY:
		*known_ns = row->energy_ns;
		*amount = row->energy_mj;
		break;
	case METER_SM:
		of_use(row, TELEMETRY_SM, known_ns, amount);
		break;
	case METER_OCCUPANCY:
		of_use(row, TELEMETRY_OCCUPANCY, known_ns, amount);
		break;
	case METER_TENSOR:
		of_use(row, TELEMETRY_TENSOR, known_ns, amount);
		break;
	case METER_DRAM:
		*known_ns = row->traffic_known_ns[TELEMETRY_DRAM_BYTES];
		*amount = row->traffic_bytes[TELEMETRY_DRAM_BYTES];
		break;
	case METER_NVLINK:
		of_traffic(row, TELEMETRY_NVLINK_SENT, TELEMETRY_NVLINK_RECEIVED, known_ns, amount);
		break;
	case METER_PCIE:
		of_traffic(row, TELEMETRY_PCIE_SENT, TELEMETRY_PCIE_RECEIVED, known_ns, amount);
		break;
	case METERS:
		break;
	}
}
