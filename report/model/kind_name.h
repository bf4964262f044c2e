/* Names of the kinds of records and samples in reports. Constant; any thread. */
#ifndef KIND_NAME_H
#define KIND_NAME_H

#include <stdint.h>

/* Returns the name of an enum report_kind, in static storage: for leaves "Kernel" as in "[GPU0_Kernel]" and "CPU" as in
 * "[CPU]"; for columns "kernel", "sync", "cpu". An unknown kind is "Unknown" and "unknown". */
const char *kind_name_leaf(uint32_t kind);
const char *kind_name_column(uint32_t kind);

/* Returns the text for gpu_record.copy_kind that follows "[GPU0_Memcpy]": "HtoD", "stream", "lazy function loading".
 * "": the kind has none. Static storage. */
const char *kind_name_detail(uint32_t kind, uint32_t copy_kind);

#endif
