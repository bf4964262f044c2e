/* Names of the kinds of records and samples in reports. Constant; any thread. */
#ifndef KIND_NAME_H
#define KIND_NAME_H

#include <stdint.h>

/* Names of an enum report_kind in static storage: "Kernel", "Sync", as in "[GPU0_Kernel]", "CPU", as in "[CPU]"; and
 * "kernel", "sync", "cpu" for columns. An unknown kind is "Unknown" and "unknown". */
const char *kind_name_leaf(uint32_t kind);
const char *kind_name_column(uint32_t kind);

/* Returns, by gpu_record.copy_kind, the text that follows "[GPU0_Memcpy]": "HtoD", "stream", "lazy function
 * loading"; "" for kinds without such a text. Static storage. */
const char *kind_name_detail(uint32_t kind, uint32_t copy_kind);

#endif
