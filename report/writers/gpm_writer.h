/* What GPM tells of GPUs (gpm_use.h), in the table and in JSON. Used by one thread. */
#ifndef GPM_WRITER_H
#define GPM_WRITER_H

#include <stdbool.h>

#include "row_text.h"
#include "text_table.h"

#include "proto/device_telemetry.h"

/* Add columns to the table of GPUs, and the cells of one GPU. */
void gpm_writer_columns(struct text_table *table, bool has_nvlink);
void gpm_writer_cells(struct text_table *table, const struct device_telemetry *telemetry,
		      bool has_nvlink);

/* Writes "gpm": an object, or null if nothing was asked. */
void gpm_writer_json(struct row_text *out, const struct device_telemetry *telemetry);

#endif
