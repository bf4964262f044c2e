#include "gpm_writer.h"

#include <inttypes.h>

#include "report/telemetry/gpm_use.h"
#include "report/telemetry/gpu_telemetry.h"

#define BYTES_PER_GB 1e9
#define RATE_SIZE    16u
#define NAME_SIZE    64u

static const struct {
	const char *heading, *name;
	uint32_t width, spare;
} uses[TELEMETRY_USES] = {
	[TELEMETRY_COMPUTING] = {"computing", "computing", 9, 8},
	[TELEMETRY_SM] = {"SM active", "sm", 9, 8},
	[TELEMETRY_OCCUPANCY] = {"occupancy", "occupancy", 9, 11},
	[TELEMETRY_TENSOR] = {"tensor", "tensor", 6, 10},
	[TELEMETRY_DRAM] = {"DRAM", "dram", 6, 9},
};

static const char *const traffics[TELEMETRY_TRAFFICS] = {
	[TELEMETRY_PCIE_SENT] = "pcie_sent",     [TELEMETRY_PCIE_RECEIVED] = "pcie_received",
	[TELEMETRY_NVLINK_SENT] = "nvlink_sent", [TELEMETRY_NVLINK_RECEIVED] = "nvlink_received",
	[TELEMETRY_DRAM_BYTES] = "dram",
};

void gpm_writer_columns(struct text_table *table, bool has_nvlink)
{
	for (unsigned int i = 0; i < TELEMETRY_USES; i++)
		text_table_column(table, &(struct text_column){uses[i].heading, uses[i].width, 1,
							       false, uses[i].spare});
	if (has_nvlink)
		text_table_column(table, &(struct text_column){"NVLink out/in", 16, 1, false, 12});
	text_table_column(table, &(struct text_column){"PCIe out/in", 14, 1, false, 13});
}

static const char *write_rate(char text[static RATE_SIZE], double bytes_per_second)
{
	if (bytes_per_second < 0)
		return "-";
	snprintf(text, RATE_SIZE, "%.1f", bytes_per_second / BYTES_PER_GB);
	return text;
}

static void write_link(struct text_table *table, double sent, double received)
{
	char out[RATE_SIZE], in[RATE_SIZE];

	if (sent < 0 && received < 0)
		text_table_cell(table, "-");
	else
		text_table_cell(table, "%s/%s GB/s", write_rate(out, sent),
				write_rate(in, received));
}

void gpm_writer_cells(struct text_table *table, const struct device_telemetry *telemetry,
		      bool has_nvlink)
{
	for (unsigned int i = 0; i < TELEMETRY_USES; i++) {
		const double mean = gpm_use_mean(telemetry, i);

		if (mean < 0)
			text_table_cell(table, "-");
		else
			text_table_cell(table, "%.1f%%", 100 * mean);
	}
	if (has_nvlink)
		write_link(table, gpm_use_rate(telemetry, TELEMETRY_NVLINK_SENT),
			   gpm_use_rate(telemetry, TELEMETRY_NVLINK_RECEIVED));
	write_link(table, gpm_use_rate(telemetry, TELEMETRY_PCIE_SENT),
		   gpm_use_rate(telemetry, TELEMETRY_PCIE_RECEIVED));
}

static void write_use(struct row_text *row, const struct device_telemetry *telemetry,
		      enum telemetry_use use)
{
	const double mean = gpm_use_mean(telemetry, use);
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "%s_ns", uses[use].name);
	row_text_number(row, name, mean >= 0, (int64_t)telemetry->use_ns[use]);
	if (mean < 0)
		row_text_number(row, uses[use].name, false, 0);
	else
		row_text_print(row, uses[use].name, "%.6f", mean);
}

static void write_traffic(struct row_text *row, const struct device_telemetry *telemetry,
			  enum telemetry_traffic traffic)
{
	const double rate = gpm_use_rate(telemetry, traffic);
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "%s_bytes", traffics[traffic]);
	row_text_number(row, name, rate >= 0, (int64_t)telemetry->traffic_bytes[traffic]);
	snprintf(name, sizeof(name), "%s_bytes_per_second", traffics[traffic]);
	row_text_number(row, name, rate >= 0, (int64_t)(rate + 0.5));
}

void gpm_writer_json(struct row_text *out, const struct device_telemetry *telemetry)
{
	struct row_text row = {.out = out->out};

	row_text_field(out, "gpm");
	if (gpm_use_known_ns(telemetry) == 0 && telemetry->gpm_refusal == TELEMETRY_ANSWERS) {
		fputs("null", out->out);
		return;
	}
	fputc('{', out->out);
	row_text_string(&row, "refusal", gpu_telemetry_refusal_name(telemetry->gpm_refusal));
	row_text_count(&row, "known_ns", gpm_use_known_ns(telemetry));
	row_text_string(&row, "of", gpm_use_is_of_work(telemetry) ? "computing" : "all");
	for (unsigned int i = 0; i < TELEMETRY_USES; i++)
		write_use(&row, telemetry, i);
	for (unsigned int i = 0; i < TELEMETRY_TRAFFICS; i++)
		write_traffic(&row, telemetry, i);
	fputc('}', out->out);
}
