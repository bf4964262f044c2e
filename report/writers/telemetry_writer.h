/* Writes the telemetry of a GPU (gpu_telemetry.h), for tables and JSON. Any thread. */
#ifndef TELEMETRY_WRITER_H
#define TELEMETRY_WRITER_H

#include "row_text.h"
#include "text_table.h"

#include "proto/counter_sampling.h"
#include "proto/device_telemetry.h"

/* Add the columns, and a row's cells: mean clock, the share of its work in which something held it down and by what,
 * mean power, energy. */
void telemetry_writer_columns(struct text_table *table);
void telemetry_writer_cells(struct text_table *table, const struct device_telemetry *telemetry);

/* Writes the member "telemetry": an object, or null without a row of an agent. */
void telemetry_writer_json(struct row_text *out, const struct device_telemetry *telemetry);

/* Writes the member "counters": what became of their samples. begin_ns 0: null. */
void telemetry_writer_counters_json(struct row_text *out, const struct counter_state *counters);

#endif
