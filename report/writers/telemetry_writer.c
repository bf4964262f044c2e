#include "telemetry_writer.h"

#include <inttypes.h>

#include "gpm_writer.h"

#include "report/telemetry/gpu_counters.h"
#include "report/telemetry/gpu_telemetry.h"

#define MJ_PER_J 1000.0

/* Rounds to the nearest. */
static int64_t whole(double number)
{
	return (int64_t)(number + 0.5);
}

void telemetry_writer_columns(struct text_table *table)
{
	text_table_column(table, &(struct text_column){"SM MHz", 6, 1, false, 4});
	text_table_column(table, &(struct text_column){"held down by", 12, 2, true, 5});
	text_table_column(table, &(struct text_column){"power", 6, 1, false, 6});
	text_table_column(table, &(struct text_column){"energy", 10, 1, false, 7});
}

static void write_held(struct text_table *table, const struct device_telemetry *telemetry)
{
	enum telemetry_reason longest;
	uint64_t held_ns = gpu_telemetry_held_ns(telemetry, &longest);
	uint64_t working_ns = gpu_telemetry_working_ns(telemetry);

	if (working_ns == 0)
		text_table_cell(table, "-");
	else if (held_ns == 0)
		text_table_cell(table, "nothing");
	else
		text_table_cell(table, "%s %.1f%%", gpu_telemetry_reason_words(longest),
				100.0 * (double)held_ns / (double)working_ns);
}

void telemetry_writer_cells(struct text_table *table, const struct device_telemetry *telemetry)
{
	if (telemetry->clock_ns)
		text_table_cell(table, "%" PRId64, whole(gpu_telemetry_sm_mhz(telemetry)));
	else
		text_table_cell(table, "-");
	write_held(table, telemetry);
	if (telemetry->power_ns)
		text_table_cell(table, "%" PRId64 " W", whole(gpu_telemetry_watts(telemetry)));
	else
		text_table_cell(table, "-");
	if (telemetry->energy_ns)
		text_table_cell(table, "%.1f J", (double)telemetry->energy_mj / MJ_PER_J);
	else
		text_table_cell(table, "-");
}

static void write_clocks(struct row_text *out, const struct device_telemetry *telemetry)
{
	bool known = telemetry->clock_ns > 0;

	row_text_count(out, "clock_ns", telemetry->clock_ns);
	row_text_number(out, "sm_mhz", known, whole(gpu_telemetry_sm_mhz(telemetry)));
	row_text_number(out, "sm_min_mhz", known, telemetry->sm_min_mhz);
	row_text_number(out, "sm_max_mhz", known, telemetry->sm_max_mhz);
	row_text_number(out, "memory_mhz", known, whole(gpu_telemetry_memory_mhz(telemetry)));
}

static void write_reasons(struct row_text *out, const struct device_telemetry *telemetry)
{
	const char *before = "";

	row_text_field(out, "reasons_ns");
	fputc('{', out->out);
	for (unsigned int i = 0; i < TELEMETRY_REASONS; i++) {
		fprintf(out->out, "%s\"%s\":%" PRIu64, before, gpu_telemetry_reason_name(i),
			telemetry->reason_ns[i]);
		before = ",";
	}
	fputc('}', out->out);
}

void telemetry_writer_json(struct row_text *out, const struct device_telemetry *telemetry)
{
	struct row_text row = {.out = out->out};

	row_text_field(out, "telemetry");
	if (telemetry->begin_ns == 0) {
		fputs("null", out->out);
		return;
	}
	fputc('{', out->out);
	row_text_string(&row, "refusal", gpu_telemetry_refusal_name(telemetry->refusal));
	row_text_count(&row, "readings", telemetry->readings);
	row_text_count(&row, "observed_ns", telemetry->observed_ns);
	write_clocks(&row, telemetry);
	write_reasons(&row, telemetry);
	row_text_count(&row, "power_ns", telemetry->power_ns);
	row_text_number(&row, "power_mw", telemetry->power_ns > 0,
			whole(gpu_telemetry_watts(telemetry) * MJ_PER_J));
	row_text_count(&row, "energy_ns", telemetry->energy_ns);
	row_text_number(&row, "energy_mj", telemetry->energy_ns > 0, (int64_t)telemetry->energy_mj);
	row_text_number(&row, "max_celsius", telemetry->max_celsius > 0, telemetry->max_celsius);
	row_text_number(&row, "ecc_corrected", telemetry->ecc_ns > 0,
			(int64_t)telemetry->ecc_corrected);
	row_text_number(&row, "ecc_uncorrected", telemetry->ecc_ns > 0,
			(int64_t)telemetry->ecc_uncorrected);
	gpm_writer_json(&row, telemetry);
	fputc('}', out->out);
}

void telemetry_writer_counters_json(struct row_text *out, const struct counter_state *counters)
{
	struct row_text row = {.out = out->out};

	row_text_field(out, "counters");
	if (counters->begin_ns == 0) {
		fputs("null", out->out);
		return;
	}
	fputc('{', out->out);
	row_text_string(&row, "refusal", gpu_counters_refusal_name(counters->refusal));
	row_text_count(&row, "interval_ns", counters->interval_ns);
	row_text_count(&row, "samples", counters->samples);
	row_text_count(&row, "kept", counters->kept);
	row_text_count(&row, "unsent", counters->unsent);
	row_text_count(&row, "dropped", counters->dropped);
	row_text_count(&row, "overflows", counters->overflows);
	row_text_count(&row, "asked_ns", counters->asked_ns);
	row_text_count(&row, "covered_ns", counters->covered_ns);
	row_text_count(&row, "invalid", counters->invalid);
	fputc('}', out->out);
}
